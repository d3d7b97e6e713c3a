"""Tables in text files: comments, delimiters, headers, decimal commas, gzip."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

Matrix = np.ndarray[Any, Any]
Labels = list[list[str]]

_MISSING = {"", "na", "n/a", "nan", "null", "none"}
_BOOLEANS = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_COMMENT = "#"


class NotANumber(ValueError):  # noqa: N818
    """A cell that should have a number has text."""


def missing_number(cell: str) -> ValueError:
    """The error of a cell that has no number but needs one."""
    return ValueError(
        f"{cell}: the number is missing; write it, or remove this measurement from A and y"
    )


def missing_name(cell: str) -> ValueError:
    """The error of a cell that has no name, in a row that has numbers."""
    return ValueError(f"{cell}: the name is missing; write it, or remove this row")


@dataclass(eq=False)
class TextTable:
    """The rows of a table with the number of their line, and how its numbers are written.

    ``header`` has the names of the columns; None if the first row has numbers only, except for the
    first cell, which may be the name of a row. Numbers may have decimal commas where semicolons
    separate the cells. The rows are read once.
    """

    path: Path
    delimiter: str
    _rows: Iterator[tuple[int, list[str]]]
    header: list[str] | None = field(default=None, init=False)
    width: int = field(init=False)
    _first: tuple[int, list[str]] = field(init=False)
    _point: str = field(default="", init=False)  # how the first fraction was written

    def __post_init__(self) -> None:
        self._first = next(self._rows)
        _, cells = self._first
        self.width = len(cells)
        if not all(map(self._is_number, cells[1:] or cells)):
            self.header = [name.strip() for name in cells]

    def expect_numbers_in(self, place: int) -> None:
        """The first row is not a header if it has a number in this column."""
        if self.header is not None and self.header[place] and self._is_number(self.header[place]):
            self.header = None

    def columns(
        self, labels: Sequence[int], numbers: Sequence[int], *, gaps: bool = False
    ) -> tuple[Labels, Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns).

        With ``gaps``, numbers may be missing, and names where they are.
        """
        texts: Labels = [[] for _ in labels]
        values, known = array("d"), dict[str, str]()
        for line, row in self._checked_rows():
            found = [self._number(row, line, place, gaps=gaps) for place in numbers]
            values.extend(found)
            for column, place in zip(texts, labels, strict=True):
                text = row[place].strip()
                if not text and not any(map(math.isnan, found)):
                    raise missing_name(self._cell(line, place))
                column.append(known.setdefault(text, text))  # a name that is repeated is kept once
        return texts, np.asarray(values).reshape(-1, len(numbers))

    def matrix(self) -> tuple[list[str] | None, list[str] | None, Matrix]:
        """The names of the rows and of the columns, if there are any, and the numbers."""
        rows = list(self._checked_rows())
        named = not all(self._is_number(row[0]) for _, row in rows)
        if self.header is not None:  # numbers are names below an empty corner
            named = named or not self.header[0]
        first = 1 if named else 0
        places = range(first, self.width)
        values = [[self._number(row, line, k, gaps=True) for k in places] for line, row in rows]
        return (
            [row[0].strip() for _, row in rows] if named else None,
            self.header and self.header[first:],
            np.reshape(values, (len(rows), self.width - first)),
        )

    def _checked_rows(self) -> Iterator[tuple[int, list[str]]]:
        for line, row in self._rows if self.header else chain([self._first], self._rows):
            if len(row) != self.width:
                raise ValueError(
                    f"{self.path}, line {line}: {len(row)} values; expected {self.width}"
                )
            yield line, row

    def _is_number(self, text: str) -> bool:
        """Whether a cell has a number, or marks a missing one."""
        return self._value(text.strip()) is not None

    def _number(self, row: Sequence[str], line: int, place: int, *, gaps: bool) -> float:
        """The number in a cell; NaN if it is missing, which raises unless there may be gaps."""
        text = row[place].strip()
        value = self._value(text)
        if value is None:
            raise NotANumber(f"{self._cell(line, place)}: {text!r} is not a number")
        if not gaps and math.isnan(value):
            raise missing_number(self._cell(line, place))
        used = "," if "," in text else "." if "." in text else ""
        self._point = self._point or used
        if used and used != self._point:
            raise ValueError(
                f"{self._cell(line, place)}: {text!r} is written with {used!r}, and numbers "
                f"before it with {self._point!r}; expected the same in the whole file"
            )
        return value

    def _cell(self, line: int, place: int) -> str:
        """Where a cell is, in words."""
        name = self.header[place] if self.header else ""
        return f"{self.path}, line {line}, column {repr(name) if name else place + 1}"

    def _value(self, text: str) -> float | None:
        if self.delimiter == ";" and _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        return _as_number(text)


@contextmanager
def opened_table(path: Path) -> Iterator[TextTable]:
    """A table in a text file, which may be compressed; raises if it is empty."""
    try:
        with _opened(path) as text:
            yield _table(path, text)
    except (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError, csv.Error) as error:
        raise ValueError(f"{path} is not a table in a text file: {error}") from error


def _table(path: Path, text: TextIO) -> TextTable:
    lines = _Lines(text)
    first = next(lines, None)
    if first is None:
        raise ValueError(f"{path} is empty; expected a table")
    delimiter, rest = _delimiter(first), chain([first], lines)
    if delimiter == " ":
        reader: Iterator[list[str]] = (line.split() for line in rest)
    else:
        reader = csv.reader(rest, delimiter=delimiter)
    return TextTable(path, delimiter, ((lines.number, row) for row in reader))


class _Lines:
    """The lines of a text without comments and empty lines, and the number of the last one."""

    def __init__(self, text: Iterable[str]) -> None:
        self._lines = enumerate(text, start=1)
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for number, line in self._lines:
            content = line.strip()
            if content and not content.startswith(_COMMENT):
                self.number = number
                return line
        raise StopIteration


def _delimiter(line: str) -> str:
    """The delimiter of a table, from its first line; commas beside semicolons are decimal."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    for delimiter in (";", "\t", ","):
        if delimiter in unquoted:
            return delimiter
    return " " if all(_as_number(cell) is not None for cell in line.split()) else ","


def _as_number(text: str) -> float | None:
    """The value of a cell without spaces around it; None if it is not a number."""
    lower = text.lower()
    if lower in _MISSING:
        return float("nan")
    if lower in _BOOLEANS:
        return _BOOLEANS[lower]
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield text
    else:
        with open(path, encoding="utf-8-sig", newline="") as text:  # Excel writes a byte order mark
            yield text
