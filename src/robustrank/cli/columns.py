"""Measurements and sensing data in the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from robustrank.cli.frames import FRAME_SUFFIXES, read_frame
from robustrank.cli.text_tables import NotANumber, opened_table

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
        self, labels: Sequence[int], numbers: Sequence[int], *, gaps: bool = False
    ) -> tuple[list[list[str]], Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns).

        With ``gaps``, numbers may be missing, and names where they are.
        """

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


@dataclass(frozen=True)
class Choice:
    """Which columns of a table have what, by name or by number from 1."""

    measurements: str | None = None
    group: str | None = None  # names the sensor, or another group, of each measurement
    ignored: tuple[str, ...] = ()  # neither part of A nor of y


ALL_COLUMNS = Choice()


@dataclass(frozen=True, eq=False)
class Columns:
    """What was read from a table."""

    y: Matrix
    A: Matrix | None = None
    groups: list[str] | None = None


def read_vector(path: Path, chosen: Choice) -> Columns:
    """The numbers in a column of a table, or in a table of one column or one row."""
    with opened(path) as table:
        if chosen.measurements is not None:
            own = place_of(table, chosen.measurements)
            texts, values = table.columns(_group_place(table, chosen), [own])
            return Columns(values[:, 0], groups=texts[0] if texts else None)
        if (table.header is not None and table.width > 1) or chosen.group is not None:
            raise _undecided(table)
        values = table.columns([], range(table.width))[1]
        if 1 not in values.shape:
            raise _undecided(table)
        return Columns(values.ravel())


def read_rows(path: Path) -> Matrix:
    """All numbers of a table, (rows, columns)."""
    with opened(path) as table:
        return table.columns([], range(table.width))[1]


def read_both(path: Path, chosen: Choice) -> Columns:
    """The numbers in a column of a table, and the other columns, (rows, columns), as A."""
    with opened(path) as table:
        if chosen.measurements is None and "y" not in (table.header or ()):
            raise _undecided(table)
        own = place_of(table, chosen.measurements or "y")
        group = _group_place(table, chosen)
        ignored = [place_of(table, name, numeric=False) for name in chosen.ignored]
        others = [k for k in range(table.width) if k not in {own, *group, *ignored}]
        if not others:
            raise ValueError(f"{path} has no columns left for A; it has {_listed(table)}")
        try:
            texts, values = table.columns(group, [own, *others])
        except NotANumber as error:
            raise ValueError(
                f"{error}; leave out a column that is not part of A with --ignore, or pass the "
                "column that names the sensors with --group"
            ) from error
    return Columns(values[:, 0], values[:, 1:], texts[0] if texts else None)


def _group_place(table: Table, chosen: Choice) -> list[int]:
    return [] if chosen.group is None else [place_of(table, chosen.group, numeric=False)]


def _undecided(table: Table) -> ValueError:
    return ValueError(
        f"{table.path} has {_listed(table)}; choose that of the measurements with --column"
    )


def _listed(table: Table) -> str:
    if table.header is None:
        return f"{table.width} columns without names"
    names = ", ".join(table.header[:_SHOWN]) + (", …" if table.width > _SHOWN else "")
    return f"{table.width} columns: {names}"
