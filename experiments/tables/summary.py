"""Errors relative to the best single peer, as geometric means over draws and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.definition import Study
from experiments.rows import Row, Table
from experiments.tables.draws import TableCell
from experiments.tables.methods import OURS, SKETCH


@dataclass(frozen=True)
class Comparison:
    """A method and the peers on all tables with one family of corruptions.

    ``errors`` has the geometric mean over draws for each method and table; a failure counts as an
    infinite error. The best peer is the one with the smallest geometric mean over all tables.
    """

    family: str
    errors: Mapping[str, Mapping[str, float]]  # by method and table
    draws: int  # of each table and method
    failures: Mapping[str, int]

    @property
    def peers(self) -> list[str]:
        """The methods that others have written."""
        return [name for name in self.errors if name not in (OURS, SKETCH)]

    @property
    def best_peer(self) -> str:
        """The single peer with the smallest geometric mean over all tables."""
        if not self.peers:
            raise ValueError(f"no peer has results for the corruption {self.family!r}")
        return min(self.peers, key=self.mean)

    def mean(self, method: str) -> float:
        """The geometric mean of the errors of a method over all tables."""
        return geometric_mean([*self.errors[method].values()])

    def ratios(self, method: str = OURS) -> dict[str, float]:
        """The error of a method relative to that of the best peer, for each table."""
        best = self.errors[self.best_peer]
        return {table: error / best[table] for table, error in self.errors[method].items()}

    def ratio(self, method: str = OURS) -> float:
        """The geometric mean of the ratios over all tables."""
        return geometric_mean([*self.ratios(method).values()])


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of numbers that may be zero or infinite."""
    if any(math.isinf(value) for value in values):
        return math.inf
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(values))))


def error_of(row: Row) -> float:
    """The error of a trial; infinite if the method failed."""
    return math.inf if "failure" in row else float(row["error"])


def compared(study: Study[TableCell], table: Table, family: str) -> Comparison | None:
    """The comparison for a family: the tables and draws that all methods have, if there are any.

    A method without any row is left out.
    """
    cells = [cell for cell in study.cells if cell.family == family]
    names = [m.name for m in study.methods if any(table.of(c.key, m.name) for c in cells)]
    rows = {
        (cell.table, name): {row["trial"]: row for row in table.of(cell.key, name)}
        for cell in cells
        for name in names
    }
    common = {
        cell.table: set.intersection(*({*rows[cell.table, name]} for name in names))
        for cell in cells
        if names
    }
    tables = [name for name, trials in common.items() if trials]
    if not tables:
        return None

    def errors(name: str, where: str) -> list[float]:
        return [error_of(rows[where, name][trial]) for trial in sorted(common[where])]

    return Comparison(
        family,
        {name: {where: geometric_mean(errors(name, where)) for where in tables} for name in names},
        min(len(common[where]) for where in tables),
        {
            name: sum(math.isinf(e) for where in tables for e in errors(name, where))
            for name in names
        },
    )
