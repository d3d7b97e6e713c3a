"""Measurements and sensing data in the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.cli.table_files import NotANumber, Table, opened

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Choice:
    """Which columns of a table have what, by name or by number from 1."""

    measurements: str | None = None
    group: str | None = None  # names the sensor, or another group, of each measurement
    ignored: tuple[str, ...] = ()  # neither part of A nor of y


ALL_COLUMNS = Choice()


def read_columns(path: Path, wanted: Sequence[str], chosen: Choice = ALL_COLUMNS) -> dict[str, Any]:
    """A, y or both from a table, and the names of the groups if a column has them.

    Columns that are not those of the measurements and the groups, and not ignored, are A.
    """
    with opened(path) as table:
        if "y" not in wanted:
            return {"A": table.columns([], range(table.width))[1]}
        if "A" not in wanted and chosen.measurements is None:
            return {"y": _only_vector(table, chosen)}
        name = chosen.measurements or "y"
        if chosen.measurements is None and name not in (table.header or ()):
            raise _undecided(table)
        own = table.place(name)
        group = [] if chosen.group is None else [table.place(chosen.group, numeric=False)]
        if "A" not in wanted:
            names, values = table.columns(group, [own])
            return {"y": values[:, 0]} | ({"groups": names[0]} if names else {})
        ignored = [table.place(one, numeric=False) for one in chosen.ignored]
        others = [k for k in range(table.width) if k not in {own, *group, *ignored}]
        if not others:
            raise ValueError(f"{path} has no columns left for A; it has {table.listed()}")
        try:
            names, values = table.columns(group, [own, *others])
        except NotANumber as error:
            raise ValueError(
                f"{error}; leave out a column that is not part of A with --ignore, or pass the "
                "column that names the sensors with --group"
            ) from error
    return {"A": values[:, 1:], "y": values[:, 0]} | ({"groups": names[0]} if names else {})


def _only_vector(table: Table, chosen: Choice) -> Matrix:
    """The numbers of a table of one column or one row."""
    if not (table.header is not None and table.width > 1) and chosen.group is None:
        values = table.columns([], range(table.width))[1]
        if 1 in values.shape:
            return values.ravel()
    raise _undecided(table)


def _undecided(table: Table) -> ValueError:
    return ValueError(
        f"{table.path} has {table.listed()}; choose that of the measurements with --column"
    )
