"""Tables in files: text, which may be compressed, or Parquet, Feather and Arrow.

Text is read by the module csv. pandas would read a row that is too short as one with missing
values, cut a cell like "sensor #3", and not tell the line of what is wrong.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

Matrix = np.ndarray[Any, Any]

_FRAME_SUFFIXES = (".parquet", ".feather", ".arrow")
_WORDS = {"true": 1.0, "false": 0.0} | dict.fromkeys(["", "na", "n/a", "null", "none"], math.nan)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?")
_BLOCK = 2**12  # cells that are kept as text at a time
_SHOWN = 10  # columns that a message lists


class NotANumber(ValueError):  # noqa: N818
    """A cell that should have a number has text."""


class Block(NamedTuple):
    """Some rows of a table."""

    lines: Sequence[int]  # or numbers of rows in a data frame, from 1
    columns: Sequence[Any]  # the cells of each column: a tuple of texts, or that of a data frame


@dataclass(eq=False)
class Table:
    """A table in a file, which is read once, in blocks of rows.

    ``header`` has the names of the columns; None if the first row of a text has numbers only,
    except for the first cell, which may be the name of a row. Numbers may have decimal commas where
    semicolons separate the cells.
    """

    path: Path
    header: list[str] | None
    width: int
    blocks: Callable[[bool], Iterator[Block]]  # with the first row of a text, or without
    delimiter: str = ""  # of a text; empty for a data frame
    named: bool = False  # whether the first column has the names of the rows for certain
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
        if numeric and self.delimiter and self.header and self.header[place]:
            self.header = None if self._is_number(self.header[place]) else self.header
        return place

    def columns(
        self, labels: Sequence[int], numbers: Sequence[int], *, gaps: bool = False
    ) -> tuple[list[list[str]], Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns).

        With ``gaps``, numbers may be missing, and names where they are.
        """
        texts: list[list[str]] = [[] for _ in labels]
        parts = [np.empty((0, len(numbers)))]
        for block in self.blocks(self.header is None):
            values = self._numbers(block, numbers)
            missing = np.isnan(values)
            if not gaps:
                remedy = "write it, or remove this measurement from A and y"
                self._refuse(missing, block, numbers, f"the number is missing; {remedy}")
            for text, place in zip(texts, labels, strict=True):
                names = _names(block.columns[place])
                nameless = np.asarray([not name for name in names]) & ~missing.any(axis=1)
                remedy = "write it, or remove this row"
                self._refuse(nameless[:, None], block, [place], f"the name is missing; {remedy}")
                text.extend(names)
            parts.append(values)
        return texts, np.concatenate(parts)

    def matrix(self) -> tuple[list[str] | None, list[str] | None, Matrix]:
        """The names of the rows and of the columns, if there are any, and the numbers."""
        first, parts = list[Block](), [np.empty((0, self.width - 1))]
        for block in self.blocks(self.header is None):
            first.append(Block(block.lines, block.columns[:1]))
            parts.append(self._numbers(block, range(1, self.width)))
        values, header = np.concatenate(parts), self.header
        names = [name for block in first for name in _names(block.columns[0])]
        # Numbers are names below an empty corner of a text.
        corner = bool(self.delimiter and header and not header[0])
        if self.named or corner or (self.delimiter and not all(map(self._is_number, names))):
            return names, header and header[1:], values
        own = [np.empty((0, 1)), *(self._numbers(block, [0]) for block in first)]
        return None, header, np.hstack([np.concatenate(own), values])

    def listed(self) -> str:
        """The columns in words."""
        if self.header is None:
            return f"{self.width} columns without names"
        names = ", ".join(self.header[:_SHOWN]) + (", …" if self.width > _SHOWN else "")
        return f"{self.width} columns: {names}"

    def _cell(self, line: int, place: int) -> str:
        """Where a cell is, in words."""
        name = self.header[place] if self.header else ""
        unit = "line" if self.delimiter else "row"
        return f"{self.path}, {unit} {line}, column {repr(name) if name else place + 1}"

    def _refuse(self, which: Matrix, block: Block, places: Sequence[int], message: str) -> None:
        """Raise if there are any such cells, and say where the first one is."""
        for k, j in np.argwhere(which)[:1]:
            raise ValueError(f"{self._cell(block.lines[k], places[j])}: {message}")

    def _numbers(self, block: Block, places: Sequence[int]) -> Matrix:
        """Some columns of a block as numbers, NaN where they are missing: (rows, columns)."""
        columns = [block.columns[place] for place in places]
        if self.delimiter:
            rows = zip(block.lines, zip(*columns, strict=True), strict=False)
            cells = chain.from_iterable(
                map(self._number, row, repeat(k), places) for k, row in rows
            )
            return np.fromiter(cells, float).reshape(len(block.lines), len(places))
        for column in columns:
            if not _is_numeric(column):
                raise NotANumber(
                    f"{self.path}: the column {str(column.name)!r} has values of type "
                    f"{column.dtype}; expected numbers"
                )
        values = [column.to_numpy(dtype=float, na_value=np.nan) for column in columns]
        return np.reshape(values, (len(places), len(block.lines))).T

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
                f"numbers before it with {self._point!r}; expected the same in the whole file"
            )
        return value

    def _is_number(self, text: str) -> bool:
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
    width = len(first[1])

    def blocks(with_first: bool) -> Iterator[Block]:
        every = chain([first] if with_first else [], rows)
        while block := list(islice(every, max(1, _BLOCK // width))):
            for line, row in block:
                if len(row) != width:
                    raise ValueError(f"{path}, line {line}: {len(row)} values; expected {width}")
            lines, cells = zip(*block, strict=True)
            yield Block(lines, list(zip(*cells, strict=True)))

    table = Table(path, None, width, blocks, delimiter)
    if not all(map(table._is_number, first[1][1:] or first[1])):
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
    frame = frame.reset_index() if indexed else frame
    columns = [frame.iloc[:, k] for k in range(frame.shape[1])]
    block, header = Block(range(1, len(frame) + 1), columns), [str(name) for name in frame.columns]
    named = indexed or not _is_numeric(columns[0])
    return Table(path, header, len(columns), lambda _: iter([block]), named=named)


def _is_numeric(column: Any) -> bool:
    """Whether a column of a data frame has numbers: not dates, and not text of digits."""
    return getattr(column.dtype, "kind", "O") in "biuf"


def _names(cells: Any) -> list[str]:
    """The cells of a column as text; a text that is repeated is kept once."""
    if isinstance(cells, tuple):
        return [sys.intern(text.strip()) for text in cells]
    texts: list[str] = cells.astype(str).where(cells.notna(), "").tolist()
    return texts
