"""Sensing matrices that are generated on a device, a block at a time, whenever they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from robustrank.backend import Array, like, namespace
from robustrank.operators.array_backed import ArrayBackedOperator
from robustrank.operators.device_rows import DeviceRows
from robustrank.operators.kernels import tangent_rows
from robustrank.operators.row_norms import row_norms
from robustrank.operators.tangent import StoredTangent

_BLOCK_ENTRIES = 2**24


class GeneratedOperator(ArrayBackedOperator):
    """Measurements whose A_i are the rows of a random source, generated in every pass."""

    def __init__(
        self,
        rows: DeviceRows,
        matrix_shape: tuple[int, int],
        *,
        block_entries: int = _BLOCK_ENTRIES,
    ) -> None:
        self._rows = rows
        self._matrix_shape = matrix_shape
        self._block_entries = block_entries
        self._xp = namespace(rows.example)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self._rows.source.rows, self._matrix_shape

    @property
    def dtype(self) -> Any:
        return getattr(self._xp, self._rows.source.precision.name)

    def asarray(self, values: Any) -> Array:
        return self._xp.asarray(values, device=like(self._rows.example)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        x = self._xp.reshape(U @ self._xp.matrix_transpose(V), (-1,))
        return self._xp.concat([block @ x for _, block in self._blocks(U.dtype)], axis=0)

    def adjoint(self, w: Array) -> Array:
        total: Array = 0
        for part, block in self._blocks(w.dtype):
            total = total + w[part] @ block
        return self._xp.reshape(total, self._matrix_shape)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        rows = [
            tangent_rows(self._xp.reshape(block, (-1, *self._matrix_shape)), U, V).rows
            for _, block in self._blocks(U.dtype)
        ]
        return StoredTangent(self._xp.concat(rows, axis=0), U, V)

    def _row_norms(self) -> Array:
        each = self._blocks(self.dtype)
        return self._xp.concat([row_norms(block, part.start) for part, block in each], axis=0)

    def _blocks(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """The numbers of some consecutive rows, and these rows in a dtype."""
        m, group = self._rows.source.rows, self._rows.source.group_rows
        height = group * max(1, self._block_entries // (group * self._rows.source.size))
        for first in range(0, m, height):
            last = min(first + height, m)
            block = self._xp.astype(self._rows.read(first, last), dtype, copy=False)
            yield slice(first, last), block
