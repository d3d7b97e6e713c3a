"""Sensing matrices that are read in blocks of rows: from files, or arrays with any strides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array
from robustrank.operators.dense import ArrayBackedOperator, row_norms
from robustrank.operators.kernels import stored_dtype, tangent_rows
from robustrank.operators.tangent import StoredTangent
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.blocks import BLOCK_BYTES, BlockProducts, blocks
from robustrank.outofcore.sources import RowSource, Slice
from robustrank.outofcore.tangent_storage import SpillFile


@dataclass(frozen=True, eq=False)
class LinearizedRows:
    """The rows of a tangent map in memory or in a file, which are read in blocks."""

    rows: RowSource  # (m, r (n1 + n2))
    core: Array  # u_kᵀ A_i v_k, (m, r)


class StreamedOperator(ArrayBackedOperator):
    """Measurements whose A_i are the rows of a source, read a few megabytes at a time.

    ``first`` is the number of the first measurement among those of which this is a part.
    """

    def __init__(
        self,
        source: RowSource,
        matrix_shape: tuple[int, int],
        *,
        first: int = 0,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.source = source
        self._matrix_shape = matrix_shape
        self._first = first
        self._products = BlockProducts(source, block_bytes)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self.source.rows, self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self.source.precision

    def measure(self, U: Array, V: Array) -> Array:
        return self._products.matvec((U @ V.T).reshape(-1))

    def adjoint(self, w: Array) -> Array:
        return self._products.vecmat(w).reshape(self._matrix_shape)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        precise = precise or not self._suits_single_precision
        m, r, size = self.source.rows, U.shape[1], sum(self._matrix_shape)
        dtype = stored_dtype((m, *self._matrix_shape), U, precise=precise)
        in_blocks = self.tangent_rows(U, V, dtype)
        rows = in_blocks.rows.read(0, m).reshape(m, r, size)
        return StoredTangent(rows, U, V, core=in_blocks.core)

    def tangent_rows(
        self, U: Array, V: Array, dtype: Any, spill: SpillFile | None = None
    ) -> LinearizedRows:
        """The linearized measurements, in memory or in a part of a temporary file.

        Products with them are added block by block in both places, so they have the same bits.
        """
        m, r, size = self.source.rows, U.shape[1], sum(self._matrix_shape)
        stored = np.empty((0 if spill else m, r * size), dtype)
        core = np.empty((m, r), U.dtype)
        for part, rows, own in self._tangent_blocks(U, V, dtype):
            core[part] = own
            if spill is None:
                stored[part] = rows.reshape(len(rows), -1)
            else:
                spill.write(self._first + part.start, rows.reshape(len(rows), -1))
        place = Slice(spill, self._first, self._first + m) if spill else ArrayRows(stored)
        return LinearizedRows(place, core)

    def _tangent_blocks(self, U: Array, V: Array, dtype: Any) -> Any:
        """The rows of the tangent map and of its core, block by block."""
        kernels = self._products.kernels()
        for part, block in blocks(self.source, self._products.block_bytes):
            sensing = block.reshape(-1, *self._matrix_shape)
            if kernels is not None:
                computed = kernels.tangent_rows(sensing, U, V, dtype)
                yield part, computed.rows, computed.core
                continue
            # Integers of one byte are read as float32, but the products with them are precise.
            wide = sensing.astype(np.result_type(sensing, U), copy=False)
            rows = tangent_rows(wide, U, V).rows
            yield part, rows, np.einsum("mka,ak->mk", rows[:, :, : len(U)], U)

    def _row_norms(self) -> Array:
        each = blocks(self.source, self._products.block_bytes)
        return np.concatenate([row_norms(block, self._first + part.start) for part, block in each])


class ColumnStreamedOperator(ArrayBackedOperator):
    """The same for a file in Fortran order, whose columns are read from front to back.

    ``columns`` is a source whose rows are the columns of the (m, n1·n2) array. The tangent map is
    always in memory.
    """

    def __init__(
        self,
        columns: RowSource,
        matrix_shape: tuple[int, int],
        *,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self.columns = columns
        self._matrix_shape = matrix_shape
        self._products = BlockProducts(columns, block_bytes)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self.columns.size, self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self.columns.precision

    def measure(self, U: Array, V: Array) -> Array:
        return self._products.vecmat((U @ V.T).reshape(-1))

    def adjoint(self, w: Array) -> Array:
        return self._products.matvec(w).reshape(self._matrix_shape)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        """Column (a, b) adds to row a of A_i V and to row b of A_iᵀ U."""
        n1, n2 = self._matrix_shape
        rows = np.zeros((self.measurements, U.shape[1], n1 + n2), U.dtype)
        for part, block in blocks(self.columns, self._products.block_bytes):
            for column, entries in zip(range(part.start, part.stop), block, strict=True):
                a, b = divmod(column, n2)
                rows[:, :, a] += entries[:, None] * V[b]
                rows[:, :, n1 + b] += entries[:, None] * U[a]
        return StoredTangent(rows, U, V)

    def _row_norms(self) -> Array:
        """Blocks of columns are combined by the hypotenuse, which does not overflow."""
        norms = np.zeros(self.measurements, self.dtype)
        for _, block in blocks(self.columns, self._products.block_bytes):
            norms = np.hypot(norms, row_norms(block.T))
        return norms
