"""Blocks of rows, read in the background while the previous block is used, and products by them."""

from __future__ import annotations

import collections
import itertools
import mmap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import WORTH_COMPILING
from robustrank.operators.kernels import Kernels, compiled_kernels
from robustrank.outofcore.sources import Matrix, RowSource, is_in_memory

# Two blocks fit in the processor's cache. Blocks of 8 MiB were about as fast, larger ones slower.
BLOCK_BYTES = 4 * 2**20


def block_rows(source: RowSource, block_bytes: int = BLOCK_BYTES) -> int:
    """The number of rows of a block, which depends only on the size and dtype of a row.

    Sums over blocks therefore have the same bits wherever the rows are stored.
    """
    return max(1, block_bytes // max(1, source.size * source.dtype.itemsize))


def blocks(
    source: RowSource, block_bytes: int = BLOCK_BYTES, ahead: int = 1
) -> Iterator[tuple[slice, Matrix]]:
    """Every row once, in order, as pairs of a slice and the C-contiguous block of its rows.

    While a block is used, a thread reads the next ``ahead`` blocks. A block is valid until the
    next one is requested, because its memory is used again. An error of the source is raised when
    its block is requested. The thread ends with the iteration, also if that is left early.

    Rows of an array in memory are not copied, and no thread is started for them, for a single
    block, or with ``ahead=0``.
    """
    height = block_rows(source, block_bytes)
    parts = [slice(k, min(k + height, source.rows)) for k in range(0, source.rows, height)]
    if is_in_memory(source):
        for rows in parts:
            yield rows, source.read(rows.start, rows.stop)
        return
    count = min(ahead + 1, len(parts))
    shape = (min(height, source.rows), source.size)
    ring = [_page_aligned(shape, source.dtype) for _ in range(count)]
    if count <= 1:
        for rows in parts:
            yield rows, source.read(rows.start, rows.stop, ring[0][: rows.stop - rows.start])
        return
    reader = ThreadPoolExecutor(1, thread_name_prefix="robustrank-reader")
    pending: collections.deque[tuple[slice, Future[Matrix]]] = collections.deque()
    try:
        for rows, buffer in zip(parts, itertools.cycle(ring), strict=False):
            out = buffer[: rows.stop - rows.start]
            pending.append((rows, reader.submit(source.read, rows.start, rows.stop, out)))
            if len(pending) == count:
                ready, future = pending.popleft()
                yield ready, future.result()
        for ready, future in pending:
            yield ready, future.result()
    finally:
        reader.shutdown(wait=True, cancel_futures=True)


def _page_aligned(shape: tuple[int, int], dtype: np.dtype[Any]) -> Matrix:
    """An array that begins at a page of memory.

    Reading a file into memory that begins a few bytes after a page takes up to twice as long.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    memory = np.empty(size + mmap.PAGESIZE, np.uint8)
    skipped = -memory.__array_interface__["data"][0] % mmap.PAGESIZE
    return memory[skipped : skipped + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class BlockProducts:
    """Products with a tall matrix; each reads every row once.

    They have the same bits for every number of threads: compiled loops add in a fixed order and,
    without them, so does ``einsum``, while BLAS does not. The dtype of the vectors is used.
    """

    source: RowSource
    block_bytes: int = BLOCK_BYTES

    def matvec(self, x: Matrix) -> Matrix:
        """The product with a vector of ``size`` entries: (rows,)."""
        kernels, result = self.kernels(), np.empty(self.source.rows, x.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            if kernels is None:
                np.einsum("ij,j->i", block, x, out=result[rows])
            else:
                result[rows] = kernels.matvec(block, x)
        return result

    def vecmat(self, w: Matrix) -> Matrix:
        """The product of a vector of ``rows`` entries with the rows: (size,)."""
        kernels, total = self.kernels(), np.zeros(self.source.size, w.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            total += (
                np.einsum("i,ij->j", w[rows], block)
                if kernels is None
                else kernels.vecmat(block, w[rows])
            )
        return total

    def gram(self, weights: Matrix, x: Matrix) -> Matrix:
        """Jᵀ diag(weights) J x for the matrix J of all rows."""
        kernels, total = self.kernels(), np.zeros(self.source.size, x.dtype)
        for rows, block in blocks(self.source, self.block_bytes):
            if kernels is None:
                along = weights[rows] * np.einsum("ij,j->i", block, x)
                total += np.einsum("i,ij->j", along, block)
            else:
                total += kernels.gram(block, weights[rows], x)
        return total

    def kernels(self) -> Kernels | None:
        """The compiled loops if there are many rows and numba is installed."""
        many = self.source.rows * self.source.size >= WORTH_COMPILING
        return compiled_kernels() if many else None
