"""How fast rows are read in blocks, compared with a plain loop over the same file.

Both read what is in the page cache, in turn, in the same run. The consumer of the blocks computes
one product, as a solver does; the plain loop only reads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zarr
from progress import doing

from robustrank.operators.array_rows import ArrayRows
from robustrank.operators.block_products import BlockProducts
from robustrank.operators.file_rows import FileRows
from robustrank.operators.prefetching import BLOCK_BYTES, block_rows
from robustrank.operators.sources import RowSource

ROUNDS = 5


def npy_ratio(path: Path) -> tuple[float, float]:
    """The speed of ``blocks`` relative to a raw read, and the bytes per second of the latter."""
    source = FileRows.from_npy(path)

    def raw() -> None:
        buffer = bytearray(BLOCK_BYTES)
        with path.open("rb", buffering=0) as stream:
            while stream.readinto(buffer):
                pass

    return _compare(path.name, source, raw, path.stat().st_size)


def hdf5_ratio(path: Path, folder: Path) -> tuple[float, float]:
    """The same for a dataset of h5py with chunks of 64 rows, relative to slicing it."""
    array = np.load(path, mmap_mode="r")
    target = folder / "A.h5"
    with h5py.File(target, "w") as file:
        stored = file.create_dataset("A", array.shape, array.dtype, chunks=(64, *array.shape[1:]))
        _copy(array, stored)
    with h5py.File(target, "r") as file:
        return _compare(target.name, ArrayRows(file["A"]), _slicing(file["A"]), array.nbytes)


def zarr_ratio(path: Path, folder: Path) -> tuple[float, float]:
    """The same for an array of zarr with chunks of 64 rows and its default compression."""
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


def _compare(
    name: str, source: RowSource, raw: Callable[[], None], size: int
) -> tuple[float, float]:
    x = np.ones(source.size)
    products = BlockProducts(source)
    raw()
    products.matvec(x)
    ratios, rates = [], []
    for turn in range(ROUNDS):
        doing(f"reading {name}, {turn + 1} of {ROUNDS}")
        plain = _seconds(raw)
        ratios.append(plain / _seconds(lambda: products.matvec(x)))
        rates.append(size / plain)
    return statistics.median(ratios), statistics.median(rates)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
