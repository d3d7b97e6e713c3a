"""Products with a tall array that is read in blocks of a few megabytes."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

BLOCK_BYTES = 32 * 2**20


class BlockReader:
    """An array as a (rows, size) matrix, read in blocks of rows along its first axis.

    Only one block is in memory at a time. Pages of a memory map are released as soon as they have
    been used, so that resident memory does not grow with the file. Blocks are converted to
    ``dtype``, by default that of the array.
    """

    def __init__(
        self, source: Matrix, block_bytes: int = BLOCK_BYTES, dtype: str | None = None
    ) -> None:
        self.source = source
        self.rows = int(source.shape[0])
        self.size = int(source[0].size)
        self.dtype = np.dtype(dtype or source.dtype.newbyteorder("="))
        self._block_bytes = block_bytes
        self._release = _page_releaser(source)

    def matvec(self, x: Matrix) -> Matrix:
        """The product with a vector of ``size`` entries: (rows,)."""
        result = np.empty(self.rows, self.dtype)
        for rows, block in self.blocks():
            result[rows] = block @ x
        return result

    def vecmat(self, w: Matrix) -> Matrix:
        """The product of a vector of ``rows`` entries with the array: (size,)."""
        total = np.zeros(self.size, self.dtype)
        for rows, block in self.blocks():
            total += w[rows] @ block
        return total

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Every row once, in order, as contiguous (rows, size) blocks in native byte order."""
        height = max(1, self._block_bytes // (self.size * self.dtype.itemsize))
        for first in range(0, self.rows, height):
            rows = slice(first, min(first + height, self.rows))
            part = self.source[rows]
            yield rows, np.ascontiguousarray(part, self.dtype).reshape(len(part), self.size)
            self._release(part)


def _page_releaser(source: Matrix) -> Callable[[Matrix], None]:
    """The function that releases a part of the array after use."""
    mapping = getattr(source, "_mmap", None)
    # The pages of a copy-on-write map ("c") hold the user's changes.
    releasable = getattr(source, "mode", None) in ("r", "r+", "w+")
    if mapping is None or not releasable or not hasattr(mmap, "MADV_DONTNEED"):
        return lambda _part: None
    base = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]

    def release(part: Matrix) -> None:
        low, high = np.lib.array_utils.byte_bounds(part)
        start = (low - base) // mmap.PAGESIZE * mmap.PAGESIZE
        mapping.madvise(mmap.MADV_DONTNEED, start, high - base - start)

    return release
