"""Rows fitted robustly to a column space that is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robustrank.completion.consensus import best_solution
from robustrank.operators import SortedEntries

Vector = np.ndarray[Any, Any]

# Widths of the weights, in standard deviations of the values: slowly at first, because a row may
# have many outliers, then faster.
_FIRST, _SLOW, _FAST, _SLOW_STEPS, _LAST_STEPS = 3.0, 0.6, 0.2, 6, 3
_TINY = 1e-10  # a ridge, so that no matrix is singular


def fit_rows(
    entries: SortedEntries, values: Vector, Q: Vector, cutoff: float, deviation: float
) -> Vector:
    """The rows P for which P Qᵀ fits most of the values, by weights that narrow.

    An inlier has a residual of at most ``cutoff``; ``deviation`` is that of a typical value.
    """
    P = np.zeros((entries.rows, Q.shape[1]), Q.dtype)
    ridge = _TINY * float(np.sum(Q.astype(float) ** 2))
    for width in _widths(cutoff, deviation):
        P = entries.fit(values, P, Q, width, ridge)
    return P


def repair_rows(
    entries: SortedEntries,
    values: Vector,
    P: Vector,
    Q: Vector,
    cutoff: float,
    rows: Vector,
    rng: np.random.Generator,
) -> None:
    """Solve some rows of P again, from random subsets of their entries; P is changed."""
    for i in rows:
        row = slice(int(entries.starts[i]), int(entries.starts[i + 1]))
        P[i], _ = best_solution(Q[entries.others[row]], values[row], cutoff, rng)


def _widths(cutoff: float, deviation: float) -> Iterator[float]:
    width = _FIRST * deviation
    for _ in range(_SLOW_STEPS):
        yield max(width, cutoff)
        width *= _SLOW
    while width > cutoff:
        yield width
        width *= _FAST
    for _ in range(_LAST_STEPS):
        yield cutoff
