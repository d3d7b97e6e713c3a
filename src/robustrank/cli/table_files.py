"""Tables in files: text, which may be compressed, or Parquet, Feather and Arrow.

Text is read by the module csv. The parser of pandas in C reads a row that is too short as one with
empty cells, and cuts a cell like "sensor #3" if it skips comments. With that in Python, a reader
that tells the line of what is wrong has as many statements as this one, and takes twice the time
and more memory.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import math
import re
import sys
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
Row = tuple[int, list[str]]

_FRAME_SUFFIXES = (".parquet", ".feather", ".arrow")
_WORDS = {"true": 1.0, "false": 0.0} | dict.fromkeys(["", "na", "n/a", "null", "none"], math.nan)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?")
_SHOWN = 10  # columns that a message lists


class NotANumber(ValueError):  # noqa: N818
    """A cell that should have a number has text."""


@dataclass(eq=False)
class Table:
    """A table in a file: the rows of a text, with the number of their line, or a data frame.

    ``header`` has the names of the columns; None if the first row of a text has numbers only,
    except for the first cell, which may be the name of a row. Numbers may have decimal commas where
    semicolons separate the cells. The rows of a text are read once.
    """

    path: Path
    header: list[str] | None
    width: int
    first: Sequence[Row] = ()  # of a text: the row that is the header, unless that is None
    rows: Iterable[Row] = ()  # the others
    delimiter: str = ""
    frame: Any = None
    index: Any = None  # of the data frame, if it has names, which are its first columns then
    named: bool = False  # whether the first column of a data frame has the names of the rows
    _point: str = field(default="", init=False)  # how the first fraction was written

    def place(self, column: str, *, numeric: bool = True) -> int:
        """The place of a column that is given by its name, or by its number counted from 1.

        Unless it has names, the column is ``numeric``: the first row is then not a header if it has
        a number in this column.
        """
        if self.header is not None and column in self.header:
            return self.header.index(column)
        if not (column.isascii() and column.isdigit() and 1 <= int(column) <= self.width):
            raise ValueError(f"{self.path} has no column {column!r}; it has {self.listed()}")
        place = int(column) - 1
        if numeric and self.first and self.header and self.header[place]:
            self.header = None if self.is_number(self.header[place]) else self.header
        return place

    def columns(
        self, labels: Sequence[int], numbers: Sequence[int], *, gaps: bool = False
    ) -> tuple[list[list[str]], Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns).

        With ``gaps``, numbers may be missing, and names where they are.
        """
        lines, texts, values = self._loaded(labels, numbers)
        missing = np.isnan(values)
        for k, j in [] if gaps else np.argwhere(missing)[:1]:
            raise ValueError(
                f"{self._cell(lines[k], numbers[j])}: the number is missing; write it, or remove "
                "this measurement from A and y"
            )
        present = ~missing.any(axis=1)
        for text, place in zip(texts, labels, strict=True):
            for k in np.flatnonzero(present & np.asarray([not name for name in text], bool))[:1]:
                where = self._cell(lines[k], place)
                raise ValueError(f"{where}: the name is missing; write it, or remove this row")
        return texts, values

    def matrix(self) -> tuple[list[str] | None, list[str] | None, Matrix]:
        """The names of the rows and of the columns, if there are any, and the numbers."""
        if self.frame is not None and not self.named:
            return None, self.header, self._loaded([], range(self.width))[2]
        lines, (names,), values = self._loaded([0], range(1, self.width))
        header = self.header
        # Numbers are names below an empty corner.
        corner = header is not None and not header[0]
        if self.named or corner or not all(map(self.is_number, names)):
            return names, header and header[1:], values
        own = [self._number(name, line, 0) for name, line in zip(names, lines, strict=True)]
        return None, header, np.column_stack([own, values])

    def cells(self) -> tuple[Sequence[int], list[list[str]]]:
        """The number of each line or row, and all columns as text."""
        lines, texts, _ = self._loaded(range(self.width), [])
        return lines, texts

    def numbers(self, texts: Sequence[str], lines: Sequence[int], place: int) -> Matrix | None:
        """The numbers of a column, NaN where they are missing; None if most cells are text."""
        words = sum(not self.is_number(text) for text in texts)
        if 2 * words >= max(sum(map(bool, texts)), 1):
            return None
        cells = zip(texts, lines, strict=True)
        return np.asarray([self._number(text, line, place) for text, line in cells])

    @property
    def point(self) -> str:
        """How fractions are written, as far as they were read."""
        return self._point or "."

    def name(self, place: int) -> str:
        """The name of a column, or its number counted from 1."""
        return (self.header[place] if self.header else "") or f"column {place + 1}"

    def name_of_row(self, line: int) -> str:
        """The number of a line, or that of a row of a data frame, in words."""
        return f"{'line' if self.frame is None else 'row'} {line}"

    def listed(self) -> str:
        """The columns in words."""
        if self.header is None:
            return f"{self.width} columns without names"
        names = ", ".join(self.header[:_SHOWN]) + (", …" if self.width > _SHOWN else "")
        return f"{self.width} columns: {names}"

    def _loaded(
        self, labels: Sequence[int], numbers: Sequence[int]
    ) -> tuple[Sequence[int], list[list[str]], Matrix]:
        """The number of each line or row, columns as text, and columns as numbers or NaN."""
        if self.frame is not None:
            columns = [self._column(place) for place in numbers]
            chosen = [self.frame.iloc[:, place] for place in labels]
            texts = [cells.astype(str).where(cells.notna(), "").tolist() for cells in chosen]
            count = len(self.frame)
            return range(1, count + 1), texts, np.reshape(columns, (len(columns), count)).T
        lines, texts, values = array("q"), [[] for _ in labels], array("d")
        for line, row in self.rows if self.header else chain(self.first, self.rows):
            if len(row) != self.width:
                raise ValueError(
                    f"{self.path}, line {line}: {len(row)} values; expected {self.width}"
                )
            lines.append(line)
            values.extend([self._number(row[place], line, place) for place in numbers])
            for text, place in zip(texts, labels, strict=True):
                text.append(sys.intern(row[place].strip()))  # one that is repeated is kept once
        return lines, texts, np.reshape(np.asarray(values), (len(lines), len(numbers)))

    def _column(self, place: int) -> Any:
        column = self.frame.iloc[:, place]
        if not _is_numeric(column):
            raise NotANumber(
                f"{self.path}: the column {str(column.name)!r} has values of type {column.dtype}; "
                "expected numbers"
            )
        return column.to_numpy(dtype=float, na_value=np.nan)

    def _cell(self, line: int, place: int) -> str:
        """Where a cell is, in words."""
        name = self.header[place] if self.header else ""
        return f"{self.path}, {self.name_of_row(line)}, column {repr(name) if name else place + 1}"

    def _number(self, text: str, line: int, place: int) -> float:
        value = _value(text, self.delimiter)
        if value is None:
            raise NotANumber(f"{self._cell(line, place)}: {text.strip()!r} is not a number")
        if self.delimiter != ";":
            return value
        used = "," if "," in text else "." if "." in text else ""
        self._point = self._point or used
        if used and used != self._point:
            raise ValueError(
                f"{self._cell(line, place)}: {text.strip()!r} is written with {used!r}, and "
                f"other numbers with {self._point!r}; expected the same in the whole file"
            )
        return value

    def is_number(self, text: str) -> bool:
        """Whether a cell has a number, or marks a missing one."""
        return _value(text, self.delimiter) is not None


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """The table in a file; raises if it is empty."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.suffix.lower() in _FRAME_SUFFIXES:
        yield _frame_table(path)
        return
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:  # Excel writes a byte order mark
        with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield _text_table(path, text)
    except (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError, csv.Error) as error:
        raise ValueError(f"{path} is not a table in a text file: {error}") from error


def _text_table(path: Path, text: TextIO) -> Table:
    number = [0]  # of the line that was read last
    content = _content(text, number)
    line = next(content, None)
    if line is None:
        raise ValueError(f"{path} is empty; expected a table")
    delimiter, content = _delimiter(line), chain([line], content)
    split = (
        map(str.split, content) if delimiter == " " else csv.reader(content, delimiter=delimiter)
    )
    rows = ((number[0], row) for row in split)
    first = next(rows)
    table = Table(path, None, len(first[1]), [first], rows, delimiter)
    if not all(map(table.is_number, first[1][1:] or first[1])):
        table.header = [name.strip() for name in first[1]]
    return table


def _content(text: TextIO, number: list[int]) -> Iterator[str]:
    """The lines of a text without comments and empty lines."""
    for number[0], line in enumerate(text, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


def _delimiter(line: str) -> str:
    """The delimiter of a table, from its first line; commas beside semicolons are decimal."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    spaces = all(_value(cell, " ") is not None for cell in line.split())
    return next((one for one in ";\t," if one in unquoted), " " if spaces else ",")


def _value(text: str, delimiter: str) -> float | None:
    """The value of a cell, NaN if it is missing; None if it is not a number."""
    try:
        return None if "_" in text else float(text)  # Python takes 1_000 for a number
    except ValueError:
        cell = text.strip().lower()
    if delimiter == ";" and _DECIMAL_COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    return _WORDS.get(cell)


def _frame_table(path: Path) -> Table:
    try:
        import pandas as pd

        read = pd.read_parquet if path.suffix.lower() == ".parquet" else pd.read_feather
        frame = read(path)
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pandas and pyarrow: pip install 'robustrank[files]'"
        ) from error
    except (OSError, ValueError) as error:  # those of pyarrow are among them
        raise ValueError(f"{path} cannot be read: {error}") from error
    if frame.empty:
        raise ValueError(f"{path} is empty; expected a table")
    indexed = not isinstance(frame.index, pd.RangeIndex)
    index, frame = frame.index, frame.reset_index() if indexed else frame
    named = indexed or not _is_numeric(frame.iloc[:, 0])
    header = [str(name) for name in frame.columns]
    return Table(
        path, header, len(header), frame=frame, index=index if indexed else None, named=named
    )


def require_frame_libraries(path: Path) -> None:
    """Raise ImportError unless a data frame can be written to the file."""
    if not all(map(importlib.util.find_spec, ("pandas", "pyarrow"))):
        raise ImportError(
            f"writing {path} needs pandas and pyarrow: pip install 'robustrank[files]'"
        )


def new_frame(columns: Sequence[tuple[str, Any, str]], index: Any = None) -> Any:
    """A data frame of columns with a name, values and the dtype of pandas for them."""
    import pandas as pd

    series = {name: pd.Series(values, dtype=dtype) for name, values, dtype in columns}
    return pd.DataFrame(series) if index is None else pd.DataFrame(series).set_axis(index)


def _is_numeric(column: Any) -> bool:
    """Whether a column of a data frame has numbers: not dates, and not text of digits."""
    return getattr(column.dtype, "kind", "O") in "biuf"
