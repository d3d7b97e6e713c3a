"""Measurements of Mᵀ as measurements of M."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array
from robustrank.linalg import Factors, TangentView, Triplets
from robustrank.operators.views.delegating import DelegatingOperator


@dataclass(frozen=True, eq=False)
class TransposedOperator(DelegatingOperator):
    """Exchanges the roles of the two factors of another operator; costs nothing."""

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        m, (n2, n1) = self.inner.shape
        return m, (n1, n2)

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(V, U)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        GtU, GV = self.inner.backproject(w, V, U)
        return GV, GtU

    def leading_svd(
        self,
        w: Array,
        rank: int,
        rng: np.random.Generator,
        plus: Factors | None = None,
        *,
        approximate: bool = False,
    ) -> Triplets:
        swapped = None if plus is None else (plus[1], plus[0])
        right, values, left = self.inner.leading_svd(w, rank, rng, swapped, approximate=approximate)
        return left, values, right

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> TangentView:
        return TangentView(self.inner.tangent(V, U, precise=precise), transposed=True)
