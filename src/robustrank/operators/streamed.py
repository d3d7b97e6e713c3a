"""Sensing matrices read block by block: files larger than memory, arrays BLAS cannot take whole."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from robustrank.backend import Array, leading_svd
from robustrank.operators.base import Operator, PassCounter

_BLOCK_BYTES = 32 * 2**20


class StreamedOperator(Operator):
    """Measurements whose A_i are read a few megabytes at a time from a NumPy array.

    ``sensing`` is (m, n1, n2) or (m, n1·n2), of any strides and byte order, memory-mapped or not.
    No more than one block is held at a time, and the pages of a memory map are given back to the
    system as soon as they are used, so that resident memory does not grow with the file.
    """

    def __init__(
        self,
        sensing: np.ndarray[Any, Any],
        matrix_shape: tuple[int, int],
        counter: PassCounter | None = None,
        block_bytes: int = _BLOCK_BYTES,
    ) -> None:
        self._sensing = sensing
        self._matrix_shape = matrix_shape
        self._counter = counter or PassCounter()
        self._block_bytes = block_bytes
        self._dtype = sensing.dtype.newbyteorder("=")
        self._give_back = _page_releaser(sensing)

    @property
    def measurements(self) -> int:
        return int(self._sensing.shape[0])

    @property
    def matrix_shape(self) -> tuple[int, int]:
        return self._matrix_shape

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def passes(self) -> float:
        return self._counter.rows_read / self.measurements

    def asarray(self, values: Any) -> Array:
        return np.asarray(values)

    def measure(self, U: Array, V: Array) -> Array:
        x = (U @ V.T).reshape(-1).astype(self._dtype, copy=False)
        result = np.empty(self.measurements, self._dtype)
        for rows, block in self._blocks():
            result[rows] = block @ x
        return result

    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        G = self._adjoint(w).astype(U.dtype, copy=False)
        return G @ V, G.T @ U

    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        return leading_svd(self._adjoint(w).astype(w.dtype, copy=False), rank, rng)

    def rows(self, index: slice) -> StreamedOperator:
        subset = self._sensing[index]
        return StreamedOperator(subset, self._matrix_shape, self._counter, self._block_bytes)

    def _adjoint(self, w: Array) -> Array:
        stored = w.astype(self._dtype, copy=False)
        total = np.zeros(self._matrix_shape[0] * self._matrix_shape[1], self._dtype)
        for rows, block in self._blocks():
            total += stored[rows] @ block
        return total.reshape(self._matrix_shape)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Every row once, in order, as contiguous (rows, n1·n2) blocks in native byte order."""
        m = self.measurements
        n1, n2 = self._matrix_shape
        height = max(1, self._block_bytes // (n1 * n2 * self._dtype.itemsize))
        for first in range(0, m, height):
            rows = slice(first, min(first + height, m))
            part = self._sensing[rows]
            yield rows, np.ascontiguousarray(part, self._dtype).reshape(part.shape[0], n1 * n2)
            self._give_back(part)
        self._counter.add(m)

    def __repr__(self) -> str:
        n1, n2 = self._matrix_shape
        return (
            f"StreamedOperator({self.measurements} measurements of a {n1} × {n2} matrix, "
            f"{self._dtype}, in blocks)"
        )


class _KeepPages:
    """For arrays in memory there is nothing to give back."""

    def __call__(self, part: np.ndarray[Any, Any]) -> None:
        pass


class _DropPages:
    """Tells the system that the pages under a part of a memory map are not needed for now."""

    def __init__(self, mapping: mmap.mmap) -> None:
        self._mapping = mapping
        self._base = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]

    def __call__(self, part: np.ndarray[Any, Any]) -> None:
        low, high = np.lib.array_utils.byte_bounds(part)
        start = (low - self._base) // mmap.PAGESIZE * mmap.PAGESIZE
        self._mapping.madvise(mmap.MADV_DONTNEED, start, high - self._base - start)


def _page_releaser(sensing: np.ndarray[Any, Any]) -> _KeepPages | _DropPages:
    mapping = getattr(sensing, "_mmap", None)
    # A copy-on-write map ("c") keeps the user's changes in those very pages.
    droppable = getattr(sensing, "mode", None) in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED")
    return _DropPages(mapping) if mapping is not None and droppable else _KeepPages()
