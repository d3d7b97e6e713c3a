"""How fast rows are read in blocks, compared with a plain loop over the same file.

Both read what is in the page cache, in turn, in the same run. The consumer of the blocks computes
one product, as a solver does; the plain loop only reads. Where reading is faster than memory can be
used by a product, the ratio shows the speed of the product, so the blocks are also read without it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zarr

from benchmarks.progress import doing
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.blocks import BLOCK_BYTES, BlockProducts, block_rows, blocks
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.sources import RowSource

ROUNDS = 5


@dataclass(frozen=True)
class Reading:
    """Speeds of ``blocks``, with one product for each and without, relative to plain reading.

    ``rate`` is that of plain reading in bytes per second.
    """

    with_product: float
    alone: float
    rate: float


def of_npy(path: Path) -> Reading:
    """An ``.npy`` file, relative to reading it into one buffer."""
    source = FileRows.from_npy(path)
    buffer = np.empty(BLOCK_BYTES, np.uint8).data

    def raw() -> None:
        with path.open("rb", buffering=0) as stream:
            # From the first row on, as the blocks are read. From the beginning of the file it takes
            # twice as long, because NumPy's buffers begin 16 bytes after the beginning of a page.
            stream.seek(source.offset)
            while stream.readinto(buffer):
                pass

    return _compare(path.name, source, raw, path.stat().st_size)


def of_hdf5(path: Path, folder: Path) -> Reading:
    """A dataset of h5py with chunks of 64 rows, relative to slicing it."""
    array = np.load(path, mmap_mode="r")
    target = folder / "A.h5"
    with h5py.File(target, "w") as file:
        stored = file.create_dataset("A", array.shape, array.dtype, chunks=(64, *array.shape[1:]))
        _copy(array, stored)
    with h5py.File(target, "r") as file:
        return _compare(target.name, ArrayRows(file["A"]), _slicing(file["A"]), array.nbytes)


def of_zarr(path: Path, folder: Path) -> Reading:
    """An array of zarr with chunks of 64 rows and its default compression, relative to slicing."""
    array = np.load(path, mmap_mode="r")
    target = folder / "A.zarr"
    chunks = (64, *array.shape[1:])
    stored = zarr.create_array(target, shape=array.shape, dtype=array.dtype, chunks=chunks)
    _copy(array, stored)
    return _compare(target.name, ArrayRows(stored), _slicing(stored), array.nbytes)


def _copy(array: Any, stored: Any) -> None:
    for first in range(0, len(array), 64):
        stored[first : first + 64] = array[first : first + 64]


def _slicing(array: Any) -> Callable[[], None]:
    """A loop over slices of whole chunks, about as large as the blocks."""
    height = -(-block_rows(ArrayRows(array)) // 64) * 64

    def read() -> None:
        for first in range(0, array.shape[0], height):
            array[first : first + height]

    return read


def _compare(name: str, source: RowSource, plain: Callable[[], None], size: int) -> Reading:
    x = np.ones(source.size)

    def alone() -> None:
        for _ in blocks(source):
            pass

    def with_product() -> None:
        BlockProducts(source).matvec(x)

    for work in (plain, alone, with_product):
        work()  # from now on, the file is in the page cache
    found = []
    for turn in range(ROUNDS):
        doing(f"reading {name}, {turn + 1} of {ROUNDS}")
        seconds = _seconds(plain)
        ratios = seconds / _seconds(with_product), seconds / _seconds(alone)
        found.append((*ratios, size / seconds))
    return Reading(*map(statistics.median, zip(*found, strict=True)))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
