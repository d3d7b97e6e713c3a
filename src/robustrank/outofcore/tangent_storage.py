"""Where a tangent map is stored: in memory, in a temporary file, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.backend import available_memory, resident_memory
from robustrank.outofcore.sources import Matrix

# A least-squares solve takes about so many products; a map is used for one or two solves.
_PRODUCTS = 30
# What a process needs besides tangent maps: buffers, and vectors of m numbers.
_BUFFERS, _VECTORS = 96 * 2**20, 20
_PROBE_BYTES = 32 * 2**20
_LEAST_FREE = 1.2  # of the size of a map must be free on the disk


class Place(Enum):
    """Where a tangent map is."""

    MEMORY = "in memory"
    WORKERS = "in the memory of the workers"
    DISK = "in a temporary file"
    NOWHERE = "not stored, products take passes over the sensing data"


@dataclass
class TangentStorage:
    """Chooses the place of tangent maps, within a limit, by what is fastest.

    Parameters
    ----------
    budget
        The bytes that one map may have in memory.
    folder
        Where temporary files are written; None for the system's folder.
    pass_seconds
        The measured time of a pass over the sensing data.
    """

    budget: int
    folder: str | None = None
    pass_seconds: float = 0.0
    used: dict[Place, int] = field(default_factory=dict)  # the largest map in each place

    def place(self, size: int) -> Place:
        """The place for a map of this many bytes."""
        if size <= self.budget:
            return self.record(Place.MEMORY, size)
        return self.record(Place.DISK if self._disk_is_faster(size) else Place.NOWHERE, size)

    def record(self, place: Place, size: int) -> Place:
        """Remember that a map of this many bytes is in a place."""
        self.used[place] = max(size, self.used.get(place, 0))
        return place

    def _disk_is_faster(self, size: int) -> bool:
        """Whether writing and reading the map takes less time than passes over the data."""
        if shutil.disk_usage(self._folder).free < _LEAST_FREE * 2 * size:
            return False
        written, read = self._speeds
        return size / written + _PRODUCTS * size / read < 2 * _PRODUCTS * self.pass_seconds

    @property
    def _folder(self) -> str:
        return self.folder or tempfile.gettempdir()

    @cached_property
    def _speeds(self) -> tuple[float, float]:
        """Measured bytes per second of writing to and reading from a temporary file."""
        data = bytearray(_PROBE_BYTES)
        try:
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as stream:
                began = time.perf_counter()
                stream.write(data)
                os.fsync(stream.fileno())
                written = time.perf_counter()
                stream.seek(0)
                stream.readinto(data)
                ended = time.perf_counter()
        except OSError:
            return 1.0, 1.0
        return _PROBE_BYTES / (written - began), _PROBE_BYTES / (ended - written)

    def __str__(self) -> str:
        """The places that were used, in words."""
        return "; ".join(
            f"tangent map of {size / 1e9:.2g} GB {place.value}" for place, size in self.used.items()
        )


def default_storage(
    measurements: int, folder: str | None, memory_limit: int | None
) -> TangentStorage:
    """Storage that keeps the process within a limit, with temporary files in a folder.

    There is room for two maps, that of the last step and that of the next one.
    """
    resident = resident_memory()
    limit = resident + available_memory() // 2 if memory_limit is None else memory_limit
    budget = limit - resident - _BUFFERS - 8 * _VECTORS * measurements
    return TangentStorage(budget=max(budget, 0) // 2, folder=folder)


def folder_beside(path: str | None) -> str | None:
    """The folder of a file if it can be written to, else None for the system's folder."""
    if path is None:
        return None
    folder = Path(path).resolve().parent
    return str(folder) if os.access(folder, os.W_OK) else None


class SpillFile:
    """Rows of numbers in a temporary file; a ``RowSource`` that can be written.

    The file has no name and disappears with the process, however that ends.
    """

    def __init__(self, rows: int, size: int, dtype: Any, folder: str | None) -> None:
        self.rows, self.size, self.dtype = rows, size, np.dtype(dtype)
        self.precision = self.dtype
        self.stored_bytes = size * self.dtype.itemsize
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        # Reading at a position without moving to it is not possible on every system.
        self._lock = threading.Lock()
        weakref.finalize(self, self._file.close)  # it is open as long as any tangent map uses it

    def write(self, first: int, values: Matrix) -> None:
        """Store rows, beginning with number ``first``."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        with self._lock:
            self._file.seek(first * self.stored_bytes)
            while len(data):
                data = data[self._file.write(data) :]

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        data = result.data.cast("B")
        with self._lock:
            self._file.seek(first * self.stored_bytes)
            while len(data):
                count = self._file.readinto(data)
                if not count:
                    raise OSError("the temporary file with the tangent map was truncated")
                data = data[count:]
        return result
