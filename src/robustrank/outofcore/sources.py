"""Where the rows of the sensing data come from; parts and sequences of sources."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from robustrank.backend import check_exact, floating_dtype

Matrix = np.ndarray[Any, Any]


class RowSource(Protocol):
    """Sensing data as a matrix with one row for each measurement, of which any rows can be read.

    A source can be pickled. One that reads a file is pickled as a description of where the data
    are, without the data, and the file is opened again when rows are read.
    """

    @property
    def rows(self) -> int:
        """The number of measurements m."""

    @property
    def size(self) -> int:
        """The number of entries of a row, n1·n2."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of what ``read`` returns: float32 or float64 in native byte order."""

    @property
    def precision(self) -> np.dtype[Any]:
        """The dtype whose rounding errors the rows have; float64 for integers."""

    @property
    def stored_bytes(self) -> int:
        """The size of one row as it is stored, before conversion."""

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        """The rows from ``first`` up to, but not including, ``last``.

        The result is C-contiguous and aligned, of shape (last − first, size). It is ``out``, if
        that is given; otherwise it may be a view of data in memory and must not be changed.
        """


def used_dtype(stored: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which stored numbers are used; raises if they are not real numbers.

    Half-precision numbers and integers of one byte (int8, uint8 and bool) are converted to float32,
    which represents them exactly and needs half the memory of float64; other integers to float64.
    """
    used = floating_dtype(np.empty(0, stored), "A")
    return np.dtype("float32" if stored.itemsize == 1 else used)


def precision_of(stored: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype whose rounding errors stored numbers have."""
    return np.dtype("float64") if stored.kind in "biu" else used_dtype(stored)


def convert(stored: Matrix, out: Matrix) -> None:
    """Copy numbers to an array of their ``used_dtype``; raise if integers may have been rounded."""
    out[...] = stored
    if stored.dtype.kind in "iu" and stored.dtype.itemsize == 8:
        check_exact(out, "A")


def is_in_memory(source: RowSource) -> bool:
    """Whether ``read`` without ``out`` returns a view of an array in memory, at no cost."""
    return bool(getattr(source, "in_memory", False))


@dataclass(frozen=True)
class Slice:
    """The rows of a source from ``first`` up to, but not including, ``last``."""

    source: RowSource
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last <= self.source.rows:
            raise ValueError(
                f"the rows {self.first}:{self.last} do not exist; the source has "
                f"{self.source.rows} rows"
            )

    @property
    def rows(self) -> int:
        return self.last - self.first

    @property
    def size(self) -> int:
        return self.source.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def precision(self) -> np.dtype[Any]:
        return self.source.precision

    @property
    def stored_bytes(self) -> int:
        return self.source.stored_bytes

    @property
    def in_memory(self) -> bool:
        return is_in_memory(self.source)

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        return self.source.read(self.first + first, self.first + last, out)


@dataclass(frozen=True)
class Concatenated:
    """Several sources with rows of the same size, one after another.

    If some of them are float32 and some float64, all rows are read as float64.
    """

    sources: tuple[RowSource, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError("there are no sources; expected at least one")
        for k, source in enumerate(self.sources):
            if source.size != self.size:
                raise ValueError(
                    f"the rows of source {k} have {source.size} entries and those of source 0 have "
                    f"{self.size}; expected the same number"
                )

    @property
    def rows(self) -> int:
        return self._starts[-1]

    @property
    def size(self) -> int:
        return self.sources[0].size

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*{source.dtype for source in self.sources})

    @property
    def precision(self) -> np.dtype[Any]:
        """That of the least precise source."""
        return min((source.precision for source in self.sources), key=lambda dtype: dtype.itemsize)

    @property
    def stored_bytes(self) -> int:
        """That of the source with the largest rows."""
        return max(source.stored_bytes for source in self.sources)

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        k = bisect.bisect_right(self._starts, first) - 1
        position = first
        while position < last:
            source, start = self.sources[k], self._starts[k]
            stop = min(last, start + source.rows)
            part = result[position - first : stop - first]
            if source.dtype == self.dtype:
                source.read(position - start, stop - start, part)
            else:
                part[...] = source.read(position - start, stop - start)
            position, k = stop, k + 1
        return result

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each source, and the number of all rows."""
        return list(itertools.accumulate((source.rows for source in self.sources), initial=0))
