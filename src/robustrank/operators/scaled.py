"""Sensing data in another unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array
from robustrank.operators.base import Factors
from robustrank.operators.tangent import Tangent
from robustrank.operators.wrapper import Wrapper


@dataclass(frozen=True)
class ScaledOperator(Wrapper):
    """Every A_i of another operator times a number; the sensing data itself is not touched."""

    factor: float

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return self.inner.matrix_shape

    @property
    def gain(self) -> float:
        return self.factor * self.inner.gain

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(U * self.factor, V)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(w * self.factor, U, V)

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> tuple[Array, Array, Array]:
        return self.inner.leading_svd(w * self.factor, rank, rng, plus)

    def tangent(self, U: Array, V: Array) -> Tangent:
        return Tangent(self.factor * self.inner.tangent(U, V).rows)

    def rows(self, index: slice) -> ScaledOperator:
        return ScaledOperator(self.inner.rows(index), self.factor)
