"""Measurements of Mᵀ seen as measurements of M."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.operators.base import Factors
from robustrank.operators.tangent import Tangent
from robustrank.operators.wrapper import Wrapper


@dataclass(frozen=True)
class TransposedOperator(Wrapper):
    """Swaps the roles of the two factors of another operator; costs nothing."""

    @property
    def matrix_shape(self) -> tuple[int, int]:
        n2, n1 = self.inner.matrix_shape
        return n1, n2

    @property
    def gain(self) -> float:
        return self.inner.gain

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(V, U)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        GtU, GV = self.inner.backproject(w, V, U)
        return GV, GtU

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> tuple[Array, Array, Array]:
        swapped = None if plus is None else (plus[1], plus[0])
        right, values, left = self.inner.leading_svd(w, rank, rng, swapped)
        return left, values, right

    def tangent(self, U: Array, V: Array) -> Tangent:
        rows = self.inner.tangent(V, U).rows
        n2 = self.inner.matrix_shape[0]
        return Tangent(namespace(rows).concat([rows[:, :, n2:], rows[:, :, :n2]], axis=2))

    def rows(self, index: slice) -> TransposedOperator:
        return TransposedOperator(self.inner.rows(index))
