"""Sensing matrices held in memory as one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, leading_svd, like, namespace
from robustrank.operators.base import Factors, Operator, PassCounter, sampled_gain
from robustrank.operators.fused import tangent_rows
from robustrank.operators.tangent import Tangent


class DenseOperator(Operator):
    """Measurements whose A_i are the rows of an array: one matrix–vector product is one pass.

    ``flat`` is (m, n1·n2), row i being A_i read row by row. It is used as it is, never copied.
    """

    def __init__(
        self, flat: Array, matrix_shape: tuple[int, int], counter: PassCounter | None = None
    ) -> None:
        self.flat = flat
        self._matrix_shape = matrix_shape
        self._counter = counter or PassCounter()
        self._xp = namespace(flat)
        self._gain = sampled_gain(flat)

    @property
    def measurements(self) -> int:
        return int(self.flat.shape[0])

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self.flat.dtype

    @property
    def gain(self) -> float:
        return self._gain

    @property
    def passes(self) -> float:
        return self._counter.rows_read / self.measurements

    def add_passes(self, passes: float) -> None:
        self._counter.add(round(passes * self.measurements))

    @property
    def in_memory(self) -> bool:
        return True

    def asarray(self, values: Any) -> Array:
        return self._xp.asarray(values, device=like(self.flat)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        self._counter.add(self.measurements)
        matrix = U @ self._xp.matrix_transpose(V)
        return self.flat @ self._stored(self._xp.reshape(matrix, (-1,)))

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        G = self._xp.astype(self._adjoint(w), U.dtype, copy=False)
        return G @ V, self._xp.matrix_transpose(G) @ U

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> tuple[Array, Array, Array]:
        G = self._xp.astype(self._adjoint(w), w.dtype, copy=False)
        return leading_svd(G, rank, rng, plus)

    def tangent(self, U: Array, V: Array) -> Tangent:
        sensing = self._xp.reshape(self.flat, (self.measurements, *self._matrix_shape))
        stored, reads = tangent_rows(sensing, U, V)
        self._counter.add(reads * self.measurements)
        return Tangent(stored)

    def rows(self, index: slice) -> DenseOperator:
        return DenseOperator(self.flat[index, :], self._matrix_shape, self._counter)

    def _adjoint(self, w: Array) -> Array:
        """A*(w) as an n1 × n2 array. Written ``w @ A``: the transposed form is slower."""
        self._counter.add(self.measurements)
        return self._xp.reshape(self._stored(w) @ self.flat, self._matrix_shape)

    def _stored(self, array: Array) -> Array:
        return self._xp.astype(array, self.dtype, copy=False)

    def __repr__(self) -> str:
        n1, n2 = self._matrix_shape
        return (
            f"DenseOperator({self.measurements} measurements of a {n1} × {n2} matrix, {self.dtype})"
        )
