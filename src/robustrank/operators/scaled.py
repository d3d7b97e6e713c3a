"""Sensing data in another unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array
from robustrank.operators.base import Operator
from robustrank.operators.tangent import Tangent


@dataclass(frozen=True)
class ScaledOperator(Operator):
    """Every A_i of another operator times a number; the sensing data itself is not touched."""

    inner: Operator
    factor: float

    @property
    def measurements(self) -> int:
        return self.inner.measurements

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return self.inner.matrix_shape

    @property
    def dtype(self) -> Any:
        return self.inner.dtype

    @property
    def gain(self) -> float:
        return self.factor * self.inner.gain

    @property
    def passes(self) -> float:
        return self.inner.passes

    @property
    def in_memory(self) -> bool:
        return self.inner.in_memory

    def asarray(self, values: Any) -> Array:
        return self.inner.asarray(values)

    def measure(self, U: Array, V: Array) -> Array:
        return self.inner.measure(U * self.factor, V)

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        return self.inner.backproject(w * self.factor, U, V)

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        return self.inner.leading_svd(w * self.factor, rank, rng)

    def tangent(self, U: Array, V: Array) -> Tangent:
        return Tangent(self.factor * self.inner.tangent(U, V).rows)

    def rows(self, index: slice) -> ScaledOperator:
        return ScaledOperator(self.inner.rows(index), self.factor)
