"""Sensing matrices read in blocks: files larger than memory, arrays that BLAS cannot use whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array
from robustrank.operators.array_backed import ArrayBackedOperator
from robustrank.operators.blocks import BLOCK_BYTES, BlockReader
from robustrank.operators.kernels import stored_dtype, tangent_rows
from robustrank.operators.row_norms import row_norms
from robustrank.operators.tangent import StoredTangent


class StreamedOperator(ArrayBackedOperator):
    """Measurements whose A_i are read from a NumPy array a few megabytes at a time.

    ``sensing`` is (m, n1, n2) or (m, n1·n2), of any strides and byte order, memory-mapped or not.
    Each block is converted to ``dtype`` when it is read; by default to the dtype of ``sensing``.
    A block consists of whole A_i or, with ``by_columns``, of whole columns of a two-dimensional
    array, so that a file in Fortran order is also read from front to back.
    """

    def __init__(
        self,
        sensing: np.ndarray[Any, Any],
        matrix_shape: tuple[int, int],
        *,
        by_columns: bool = False,
        block_bytes: int = BLOCK_BYTES,
        dtype: str | None = None,
    ) -> None:
        self._reader = BlockReader(sensing.T if by_columns else sensing, block_bytes, dtype)
        self._matrix_shape = matrix_shape
        self._sensing = sensing
        self._by_columns = by_columns

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return int(self._sensing.shape[0]), self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self._reader.dtype

    @property
    def in_memory(self) -> bool:
        return not isinstance(self._sensing, np.memmap)

    def measure(self, U: Array, V: Array) -> Array:
        x = (U @ V.T).reshape(-1).astype(self.dtype, copy=False)
        return self._reader.vecmat(x) if self._by_columns else self._reader.matvec(x)

    def adjoint(self, w: Array) -> Array:
        stored = w.astype(self.dtype, copy=False)
        read = self._reader
        G = read.matvec(stored) if self._by_columns else read.vecmat(stored)
        return G.reshape(self._matrix_shape)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        if self._by_columns:
            return StoredTangent(self._tangent_rows_by_columns(U, V), U, V)
        n1, n2 = self._matrix_shape
        m, r = self.measurements, U.shape[1]
        precise = precise or not self._suits_single_precision
        rows = np.empty((m, r, n1 + n2), stored_dtype((m, n1, n2), U, precise=precise))
        core = np.empty((m, r), U.dtype)
        for block_rows, block in self._reader.blocks():
            part = tangent_rows(block.reshape(-1, n1, n2), U, V, precise=True).rows
            rows[block_rows] = part
            core[block_rows] = np.einsum("mka,ak->mk", part[:, :, :n1], U)
        return StoredTangent(rows, U, V, core=core)

    def _row_norms(self) -> Array:
        if self._by_columns:
            return self._row_norms_by_columns()
        return np.concatenate(
            [row_norms(block, rows.start) for rows, block in self._reader.blocks()]
        )

    def _row_norms_by_columns(self) -> Array:
        """The same from columns: blocks are combined by the hypotenuse, which does not overflow."""
        norms = np.zeros(self.measurements, self.dtype)
        for _, block in self._reader.blocks():
            norms = np.hypot(norms, row_norms(block.T))
        return norms

    def _tangent_rows_by_columns(self, U: Array, V: Array) -> Array:
        """The same from columns (a, b): each adds to row a of A_i V and to row b of A_iᵀ U."""
        n1, n2 = self._matrix_shape
        rows = np.zeros((self.measurements, U.shape[1], n1 + n2), U.dtype)
        for columns, block in self._reader.blocks():
            for column, entries in zip(range(columns.start, columns.stop), block, strict=True):
                a, b = divmod(column, n2)
                rows[:, :, a] += entries[:, None] * V[b]
                rows[:, :, n1 + b] += entries[:, None] * U[a]
        return rows
