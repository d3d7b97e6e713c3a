"""A temporary file for a tangent map that does not fit in memory."""

from __future__ import annotations

import os
import tempfile
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
        weakref.finalize(self, self._file.close)  # it is open as long as any tangent map uses it

    def write(self, first: int, values: Matrix) -> None:
        """Store rows, beginning with number ``first``."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        position = first * self.stored_bytes
        while len(data):
            count = os.pwrite(self._file.fileno(), data, position)
            data, position = data[count:], position + count

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        data = result.data.cast("B")
        position = first * self.stored_bytes
        while len(data):
            count = os.preadv(self._file.fileno(), [data], position)
            if count == 0:
                raise OSError("the temporary file with the tangent map was truncated")
            data, position = data[count:], position + count
        return result
