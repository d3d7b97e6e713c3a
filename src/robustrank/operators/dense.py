"""Sensing matrices held in memory as one array."""

from __future__ import annotations

from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators.base import PassCounter, sampled_gain
from robustrank.operators.fused import tangent_rows
from robustrank.operators.stored import StoredOperator
from robustrank.operators.tangent import Tangent


class DenseOperator(StoredOperator):
    """Measurements whose A_i are the rows of an array: one matrix–vector product is one pass.

    ``flat`` is (m, n1·n2), row i being A_i read row by row. It is used as it is, never copied.
    """

    def __init__(
        self, flat: Array, matrix_shape: tuple[int, int], counter: PassCounter | None = None
    ) -> None:
        super().__init__(matrix_shape, sampled_gain(flat), counter)
        self.flat = flat
        self._xp = namespace(flat)

    @property
    def measurements(self) -> int:
        return int(self.flat.shape[0])

    @property
    def dtype(self) -> Any:
        return self.flat.dtype

    @property
    def in_memory(self) -> bool:
        return True

    def asarray(self, values: Any) -> Array:
        return self._xp.asarray(values, device=like(self.flat)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        self._counter.add(self.measurements)
        matrix = U @ self._xp.matrix_transpose(V)
        return self.flat @ self._stored(self._xp.reshape(matrix, (-1,)))

    def tangent(self, U: Array, V: Array) -> Tangent:
        sensing = self._xp.reshape(self.flat, (self.measurements, *self._matrix_shape))
        stored, reads = tangent_rows(sensing, U, V)
        self._counter.add(reads * self.measurements)
        return Tangent(stored)

    def rows(self, index: slice) -> DenseOperator:
        return DenseOperator(self.flat[index, :], self._matrix_shape, self._counter)

    def adjoint(self, w: Array) -> Array:
        self._counter.add(self.measurements)
        # Written so: the transposed form is slower.
        return self._xp.reshape(self._stored(w) @ self.flat, self._matrix_shape)

    def _stored(self, array: Array) -> Array:
        return self._xp.astype(array, self.dtype, copy=False)

    def __repr__(self) -> str:
        n1, n2 = self._matrix_shape
        return (
            f"DenseOperator({self.measurements} measurements of a {n1} × {n2} matrix, {self.dtype})"
        )
