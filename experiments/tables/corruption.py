"""What is made wrong in a table: single cells, far away or within range, or whole rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.tables.hiding import Mask, Random
from experiments.tables.sources import Matrix


@dataclass(frozen=True, eq=False)
class Corrupted:
    """A table with wrong cells or rows, and which these are."""

    table: Matrix
    cells: Mask
    rows: Mask  # one value for each row


@dataclass(frozen=True, eq=False)
class Original:
    """A table before it is corrupted, and the random numbers for that."""

    table: Matrix
    wrong_rows: Mask
    rng: Random

    @property
    def mean(self) -> Matrix:
        """The mean of each column."""
        return np.asarray(self.table.mean(axis=0))

    @property
    def spread(self) -> Matrix:
        """The standard deviation of each column."""
        return np.asarray(self.table.std(axis=0))

    def signs(self) -> Matrix:
        """A random sign for each cell."""
        return np.asarray(self.rng.choice([-1.0, 1.0], self.table.shape))

    def within_range(self, values: Matrix) -> Matrix:
        """Values limited to the range of their column."""
        return np.clip(values, self.table.min(axis=0), self.table.max(axis=0))


Change = Callable[[Original], Matrix]  # the values that every cell would have if it were wrong


def shifted(original: Original) -> Matrix:
    """The values after a shift by 5 to 20 standard deviations of the column, up or down."""
    sizes = original.rng.uniform(5, 20, original.table.shape) * original.spread
    return np.asarray(original.table + original.signs() * sizes)


def tenfold(original: Original) -> Matrix:
    """The values times ten, as by a decimal point in the wrong place."""
    return 10 * original.table


def by_ten(original: Original) -> Matrix:
    """The values after a shift by exactly ten standard deviations of the column, up or down."""
    return np.asarray(original.table + 10 * original.signs() * original.spread)


def drawn(original: Original) -> Matrix:
    """The value that the same column has in a random row."""
    table = original.table
    rows = original.rng.integers(len(table), size=table.shape)
    return np.asarray(table[rows, np.arange(table.shape[1])])


def exchanged(original: Original) -> Matrix:
    """The value of the column's partner in the same row, in the units of this column."""
    standardized = (original.table - original.mean) / original.spread
    there = standardized[:, partners(original.table.shape[1])]
    return original.within_range(original.mean + original.spread * there)


def flipped(original: Original) -> Matrix:
    """The value mirrored at the median of the column."""
    return original.within_range(2 * np.median(original.table, axis=0) - original.table)


def cluster(original: Original) -> Matrix:
    """Rows close to one point that is five standard deviations from the mean in every column."""
    shape = original.table.shape
    center = original.mean + 5 * original.spread * original.rng.choice([-1.0, 1.0], shape[1])
    return np.asarray(center + 0.1 * original.spread * original.rng.standard_normal(shape))


def scattered(original: Original) -> Matrix:
    """Rows of independent normal values, with three times the spread of each column."""
    noise = original.rng.standard_normal(original.table.shape)
    return np.asarray(original.mean + 3 * original.spread * noise)


def copies(original: Original) -> Matrix:
    """Copies of one correct row, chosen at random."""
    chosen = original.rng.choice(np.flatnonzero(~original.wrong_rows))
    return np.broadcast_to(original.table[chosen], original.table.shape)


NONE, EXCHANGED = "none", "exchanged"
CELLS: dict[str, dict[str, Change]] = {
    "far cells": {"shifted": shifted, "tenfold": tenfold},
    "cells in range": {"drawn": drawn, EXCHANGED: exchanged, "flipped": flipped},
    "ten sigma": {"by ten": by_ten},
}
ROWS: dict[str, dict[str, Change]] = {
    "rows": {"cluster": cluster, "scattered": scattered, "copies": copies},
}
KINDS = {NONE: (NONE,)} | {name: (*kinds,) for name, kinds in (CELLS | ROWS).items()}


def corrupt(table: Matrix, family: str, kind: str, share: float, rng: Random) -> Corrupted:
    """A table in which a share of the cells or rows is wrong."""
    cells, rows = np.zeros(table.shape, bool), np.zeros(len(table), bool)
    if family == NONE:
        return Corrupted(table, cells, rows)
    if family in CELLS:
        cells = _pairs(table, share, rng) if kind == EXCHANGED else _cells(table, share, rng)
    else:
        rows[rng.choice(len(rows), round(share * len(rows)), replace=False)] = True
    values = (CELLS | ROWS)[family][kind](Original(table, rows, rng))
    changed = np.where(cells | rows[:, None], values, table)
    return Corrupted(changed, cells & (changed != table), rows)


def partners(columns: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The column with which each column is exchanged; the last of an odd number is its own."""
    half, order = columns // 2, np.arange(columns)
    order[: 2 * half] = (order[: 2 * half] + half) % max(2 * half, 1)
    return order


def _cells(table: Matrix, share: float, rng: Random) -> Mask:
    chosen = np.zeros(table.shape, bool)
    chosen.flat[rng.choice(chosen.size, round(share * chosen.size), replace=False)] = True
    return chosen


def _pairs(table: Matrix, share: float, rng: Random) -> Mask:
    """Cells that are exchanged, both of each pair."""
    n, p = table.shape
    pairs = np.zeros((n, p // 2), bool)
    wanted = min(pairs.size, round(share * table.size / 2))
    pairs.flat[rng.choice(pairs.size, wanted, replace=False)] = True
    return np.hstack([pairs, pairs, np.zeros((n, p % 2), bool)])
