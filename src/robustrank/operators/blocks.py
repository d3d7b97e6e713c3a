"""A tall array read a few megabytes at a time, and the two products with it."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from robustrank.operators.base import sampled_gain

Matrix = np.ndarray[Any, Any]

BLOCK_BYTES = 32 * 2**20


class BlockReader:
    """An array seen as (rows, size), read in blocks of rows along its first axis.

    No more than one block is held at a time, and the pages of a memory map are given back to the
    system as soon as they are used, so that resident memory does not grow with the file.
    """

    def __init__(self, source: Matrix, block_bytes: int = BLOCK_BYTES) -> None:
        self.source = source
        self.rows = int(source.shape[0])
        self.size = int(source[0].size)
        self.dtype = source.dtype.newbyteorder("=")
        self._block_bytes = block_bytes
        self._give_back = _page_releaser(source)

    def times(self, x: Matrix) -> Matrix:
        """The product with a vector of ``size`` entries: (rows,)."""
        result = np.empty(self.rows, self.dtype)
        for rows, block in self.blocks():
            result[rows] = block @ x
        return result

    def left_times(self, w: Matrix) -> Matrix:
        """The product of a vector of ``rows`` entries with the array: (size,)."""
        total = np.zeros(self.size, self.dtype)
        for rows, block in self.blocks():
            total += w[rows] @ block
        return total

    def gain(self) -> float:
        """The root mean square entry, from a few rows spread over the array."""
        found = sampled_gain(self.source)
        self._give_back(self.source)  # a page may bring megabytes of neighbours with it
        return found

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Every row once, in order, as contiguous (rows, size) blocks in native byte order."""
        height = max(1, self._block_bytes // (self.size * self.dtype.itemsize))
        for first in range(0, self.rows, height):
            rows = slice(first, min(first + height, self.rows))
            part = self.source[rows]
            yield rows, np.ascontiguousarray(part, self.dtype).reshape(len(part), self.size)
            self._give_back(part)


def _page_releaser(source: Matrix) -> Callable[[Matrix], None]:
    """What to do with a part of the array when it is done with."""
    mapping = getattr(source, "_mmap", None)
    # A copy-on-write map ("c") keeps the user's changes in those very pages.
    droppable = getattr(source, "mode", None) in ("r", "r+", "w+")
    if mapping is None or not droppable or not hasattr(mmap, "MADV_DONTNEED"):
        return lambda _part: None
    base = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]

    def drop(part: Matrix) -> None:
        low, high = np.lib.array_utils.byte_bounds(part)
        start = (low - base) // mmap.PAGESIZE * mmap.PAGESIZE
        mapping.madvise(mmap.MADV_DONTNEED, start, high - base - start)

    return drop
