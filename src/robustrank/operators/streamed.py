"""Sensing matrices read block by block: files larger than memory, arrays BLAS cannot take whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array
from robustrank.operators.base import PassCounter
from robustrank.operators.blocks import BLOCK_BYTES, BlockReader
from robustrank.operators.fused import tangent_rows
from robustrank.operators.stored import StoredOperator
from robustrank.operators.tangent import Tangent


class StreamedOperator(StoredOperator):
    """Measurements whose A_i are read a few megabytes at a time from a NumPy array.

    ``sensing`` is (m, n1, n2) or (m, n1·n2), of any strides and byte order, memory-mapped or not.
    Blocks are of whole A_i, or with ``by_columns`` of whole columns of a two-dimensional array, so
    that a file in Fortran order is read from front to back as well.
    """

    def __init__(
        self,
        sensing: np.ndarray[Any, Any],
        matrix_shape: tuple[int, int],
        *,
        by_columns: bool = False,
        counter: PassCounter | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._reader = BlockReader(sensing.T if by_columns else sensing, block_bytes)
        super().__init__(matrix_shape, self._reader.gain(), counter)
        self._sensing = sensing
        self._by_columns = by_columns
        self._block_bytes = block_bytes

    @property
    def measurements(self) -> int:
        return int(self._sensing.shape[0])

    @property
    def dtype(self) -> Any:
        return self._reader.dtype

    @property
    def in_memory(self) -> bool:
        return not isinstance(self._sensing, np.memmap)

    def asarray(self, values: Any) -> Array:
        return np.asarray(values)

    def measure(self, U: Array, V: Array) -> Array:
        self._counter.add(self.measurements)
        x = (U @ V.T).reshape(-1).astype(self.dtype, copy=False)
        return self._reader.left_times(x) if self._by_columns else self._reader.times(x)

    def tangent(self, U: Array, V: Array) -> Tangent:
        self._counter.add(self.measurements)
        if self._by_columns:
            return Tangent(self._tangent_by_columns(U, V))
        n1, n2 = self._matrix_shape
        stored = np.empty((self.measurements, U.shape[1], n1 + n2), U.dtype)
        for rows, block in self._reader.blocks():
            stored[rows], _ = tangent_rows(block.reshape(-1, n1, n2), U, V)
        return Tangent(stored)

    def _tangent_by_columns(self, U: Array, V: Array) -> Array:
        """The same from columns (a, b): each adds to row a of A_i V and to row b of A_iᵀ U."""
        n1, n2 = self._matrix_shape
        stored = np.zeros((self.measurements, U.shape[1], n1 + n2), U.dtype)
        for columns, block in self._reader.blocks():
            for column, entries in zip(range(columns.start, columns.stop), block, strict=True):
                a, b = divmod(column, n2)
                stored[:, :, a] += entries[:, None] * V[b]
                stored[:, :, n1 + b] += entries[:, None] * U[a]
        return stored

    def rows(self, index: slice) -> StreamedOperator:
        return StreamedOperator(
            self._sensing[index],
            self._matrix_shape,
            by_columns=self._by_columns,
            counter=self._counter,
            block_bytes=self._block_bytes,
        )

    def adjoint(self, w: Array) -> Array:
        self._counter.add(self.measurements)
        stored = w.astype(self.dtype, copy=False)
        read = self._reader
        G = read.times(stored) if self._by_columns else read.left_times(stored)
        return G.reshape(self._matrix_shape)

    def __repr__(self) -> str:
        n1, n2 = self._matrix_shape
        return (
            f"StreamedOperator({self.measurements} measurements of a {n1} × {n2} matrix, "
            f"{self.dtype}, in blocks)"
        )
