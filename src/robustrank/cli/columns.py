"""Measurements and sensing data in the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from robustrank.cli.frames import FRAME_SUFFIXES, read_frame
from robustrank.cli.text_tables import opened_table

Matrix = np.ndarray[Any, Any]
_SHOWN = 10  # columns that a message lists


class Table(Protocol):
    """A table in a file; what is read is not kept, so each table is read once."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def header(self) -> list[str] | None:
        """The names of the columns, if there are any."""

    @property
    def width(self) -> int:
        """The number of columns."""

    def expect_numbers_in(self, place: int) -> None:
        """The first row is not a header if it has a number in this column."""

    def columns(
        self, labels: Sequence[int], numbers: Sequence[int]
    ) -> tuple[list[list[str]], Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns)."""

    def matrix(self) -> tuple[list[str] | None, list[str] | None, Matrix]:
        """The names of the rows and of the columns, if there are any, and the numbers."""


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """The table in a file."""
    if path.suffix.lower() in FRAME_SUFFIXES:
        yield read_frame(path)
    else:
        with opened_table(path) as table:
            yield table


def place_of(table: Table, column: str, *, numeric: bool = True) -> int:
    """The place of a column that is given by its name, or by its number counted from 1.

    Unless it has names, the column is ``numeric``.
    """
    if table.header is not None and column in table.header:
        return table.header.index(column)
    if column.isascii() and column.isdigit() and 1 <= int(column) <= table.width:
        place = int(column) - 1
        if numeric:
            table.expect_numbers_in(place)
        return place
    raise ValueError(f"{table.path} has no column {column!r}; it has {_listed(table)}")


def read_vector(path: Path, column: str | None) -> Matrix:
    """The numbers in a column of a table, or in a table of one column or one row."""
    with opened(path) as table:
        if column is not None:
            return table.columns([], [place_of(table, column)])[1][:, 0]
        if table.header is not None and table.width > 1:
            raise _undecided(table)
        values = table.columns([], range(table.width))[1]
        if 1 not in values.shape:
            raise _undecided(table)
        return values.ravel()


def read_rows(path: Path) -> Matrix:
    """All numbers of a table, (rows, columns)."""
    with opened(path) as table:
        return table.columns([], range(table.width))[1]


def read_both(path: Path, column: str | None) -> tuple[Matrix, Matrix]:
    """The other columns of a table, (rows, columns), and the numbers in a column of it."""
    with opened(path) as table:
        if column is None and "y" not in (table.header or ()):
            raise _undecided(table)
        own = place_of(table, "y" if column is None else column)
        values = table.columns([], range(table.width))[1]
    return np.delete(values, own, axis=1), values[:, own]


def _undecided(table: Table) -> ValueError:
    return ValueError(
        f"{table.path} has {_listed(table)}; choose that of the measurements with --column"
    )


def _listed(table: Table) -> str:
    if table.header is None:
        return f"{table.width} columns without names"
    names = ", ".join(table.header[:_SHOWN]) + (", …" if table.width > _SHOWN else "")
    return f"{table.width} columns: {names}"
