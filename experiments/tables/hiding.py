"""Which cells of a table are hidden: at random, in blocks, or depending on another column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.tables.sources import Matrix

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Random = np.random.Generator

_KEPT = 0.2  # of the cells of every column stay visible
_STEEPNESS = 6.0  # how much the rank of the other column changes the odds that a cell is hidden


def at_random(table: Matrix, share: float, rng: Random) -> Mask:
    """Cells that are hidden independently of everything."""
    return _largest(np.asarray(rng.random(table.shape)), share)


def in_blocks(table: Matrix, share: float, rng: Random) -> Mask:
    """Blocks of two or more adjacent columns for a random fifth of the rows, until it is enough."""
    (n, p), hidden = table.shape, np.zeros(table.shape, bool)
    wanted = round(share * table.size)
    while hidden.sum() < wanted:
        rows = rng.choice(n, max(1, n // 5), replace=False)
        width = int(rng.integers(2, max(2, p // 2) + 1))
        first = int(rng.integers(p - width + 1))
        block = np.zeros(table.shape, bool)
        block[np.sort(rows), first : first + width] = True
        new = np.flatnonzero(block & ~hidden)
        hidden.flat[new[: wanted - int(hidden.sum())]] = True
    return hidden


def by_another_column(table: Matrix, share: float, rng: Random) -> Mask:
    """Cells whose odds to be hidden grow with the rank of another column in the same row.

    The other column may be hidden in that row itself.
    """
    n, p = table.shape
    order = rng.permutation(p)
    driver = np.empty(p, int)
    driver[order] = np.roll(order, 1)
    ranks = (np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0) + 0.5) / n
    odds = _STEEPNESS * (ranks[:, driver] - 0.5) * rng.choice([-1.0, 1.0], p)
    return _largest(odds + rng.logistic(size=table.shape), share)


HIDINGS: dict[str, Callable[[Matrix, float, Random], Mask]] = {
    "random": at_random,
    "blocks": in_blocks,
    "other column": by_another_column,
}


def hide(table: Matrix, kind: str, share: float, rng: Random) -> Mask:
    """Hidden cells; every row keeps a visible cell, and every column a fifth of its cells."""
    hidden = HIDINGS[kind](table, share, rng)
    for row in np.flatnonzero(hidden.all(axis=1)):
        hidden[row, rng.integers(table.shape[1])] = False
    most = int((1 - _KEPT) * len(table))
    for column in np.flatnonzero(hidden.sum(axis=0) > most):
        there = np.flatnonzero(hidden[:, column])
        hidden[rng.choice(there, len(there) - most, replace=False), column] = False
    return hidden


def _largest(values: Matrix, share: float) -> Mask:
    """The given share of the cells, those with the largest values."""
    chosen = np.zeros(values.size, bool)
    chosen[np.argsort(values, axis=None, kind="stable")[::-1][: round(share * values.size)]] = True
    return chosen.reshape(values.shape)
