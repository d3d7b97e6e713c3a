"""Some of the measurements of another operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.linalg import Factors, TangentView, Triplets, scattered
from robustrank.operators.views.delegating import DelegatingOperator


@dataclass(frozen=True, eq=False)
class SubsetOperator(DelegatingOperator):
    """The measurements with these numbers, without copying them: a pass reads all of the data."""

    rows: Array  # (k,) integers, increasing

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self.rows.shape[0]), self.inner.matrix_shape

    def measure(self, U: Array, V: Array) -> Array:
        return namespace(U).take(self.inner.measure(U, V), self.rows)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(self._scattered(w), U, V)

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        return self.inner.leading_svd(self._scattered(w), rank, rng, plus, approximate=approximate)

    def row_norms(self, probes: int = 32, rng: int = 0) -> Array:
        norms = self.inner.row_norms(probes, rng)
        return namespace(norms).take(norms, self.rows)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(U, V, precise=precise), chosen=self.rows)

    def _scattered(self, w: Array) -> Array:
        return scattered(w, self.rows, self.inner.measurements)
