"""Rows of sensing data in a file, such as an ``.npy`` file."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from functools import cached_property
from io import FileIO
from typing import Any

import numpy as np

from robustrank.files import PathLike, map_npy
from robustrank.outofcore.sources import Matrix, convert, precision_of, used_dtype

_CONVERTED_BYTES = 2**18  # read and converted at a time, so that they stay in the cache


@dataclass(frozen=True)
class FileRows:
    """Rows of numbers in C order that begin at byte ``offset`` of a file.

    ``shape`` is (m, n1·n2) or (m, n1, n2), and ``stored`` is the dtype in the file, of any byte
    order; ``used_dtype`` says how it is converted. The file is read into buffers and not mapped:
    memory does not grow with it, and a file that is truncated meanwhile raises an error.
    """

    path: str
    offset: int
    shape: tuple[int, ...]
    stored: np.dtype[Any]

    @classmethod
    def from_npy(cls, path: PathLike) -> FileRows:
        """The rows of an ``.npy`` file in C order."""
        array = map_npy(path)
        if array.ndim not in (2, 3):
            raise ValueError(f"{path} has shape {array.shape}; expected (m, n1, n2) or (m, n1*n2)")
        rows = cls.from_memmap(array)
        if rows is None:
            raise ValueError(
                f"{path} is in Fortran order; pass numpy.load(path, mmap_mode='r'), or save it "
                "again with numpy.save(path, numpy.ascontiguousarray(A))"
            )
        return rows

    @classmethod
    def from_memmap(cls, array: Any) -> FileRows | None:
        """The rows of a memory map, or None if only the map itself can be used.

        That is so if the map is not C-contiguous or is copy-on-write, when the user's changes are
        not in the file, or if its file was renamed, removed or replaced.
        """
        offset = file_offset(array)
        if offset is None or not array.flags.c_contiguous:
            return None
        rows = cls(str(array.filename), offset, array.shape, array.dtype)
        return rows if rows._agrees_with(array) else None

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape[1:])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return used_dtype(self.stored)

    @property
    def precision(self) -> np.dtype[Any]:
        return precision_of(self.stored)

    @property
    def stored_bytes(self) -> int:
        return self.size * self.stored.itemsize

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        flat = result.reshape(-1)
        # Opening the file for each block is as fast as keeping it open, and leaves nothing to close
        # or to reopen in another process.
        with open(self.path, "rb", buffering=0) as stream:
            stream.seek(self.offset + first * self.stored_bytes)
            if self.stored == self.dtype:
                self._fill(flat, stream)
            else:
                self._fill_converted(flat, stream)
        return result

    def _fill(self, flat: Matrix, stream: FileIO) -> None:
        view = flat.view(np.uint8).data
        filled = 0
        while filled < len(view):  # the system reads at most 2 GiB at a time
            count = stream.readinto(view[filled:])
            if not count:
                end = self.offset + self.rows * self.stored_bytes
                raise OSError(
                    f"{self.path} ends after {stream.tell()} bytes; expected {end}: it was "
                    "truncated or replaced after it was opened"
                )
            filled += count

    def _fill_converted(self, flat: Matrix, stream: FileIO) -> None:
        length = max(1, _CONVERTED_BYTES // self.stored.itemsize)
        buffer = np.empty(min(length, flat.size), self.stored)
        for start in range(0, flat.size, length):
            part = flat[start : start + length]
            self._fill(buffer[: part.size], stream)
            convert(buffer[: part.size], part)

    def _agrees_with(self, array: Matrix) -> bool:
        """Whether the first and the last row in the file have the bytes of the array."""
        stored = np.empty(self.size, self.stored)
        try:
            with open(self.path, "rb", buffering=0) as stream:
                for row in {0, self.rows - 1} if self.rows else ():
                    stream.seek(self.offset + row * self.stored_bytes)
                    self._fill(stored, stream)
                    if stored.tobytes() != array[row].tobytes():
                        return False
        except OSError:
            return False
        return True


def file_offset(array: Any) -> int | None:
    """The position of a memory map's first element in its file.

    None for other arrays, and for a copy-on-write map, which may differ from its file.
    """
    mapping = getattr(array, "_mmap", None)
    if mapping is None or array.filename is None or array.mode == "c":
        return None
    # The attribute ``offset`` of a slice is still that of the whole map, which begins at a page.
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    base = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    return int(array.__array_interface__["data"][0] - base + begin)
