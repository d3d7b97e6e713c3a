"""A temporary file for a tangent map that does not fit in memory."""

from __future__ import annotations

import tempfile
import threading
import weakref
from typing import Any

import numpy as np

from robustrank.operators.sources import Matrix


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
