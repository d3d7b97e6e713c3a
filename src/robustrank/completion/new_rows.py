"""New rows on the column space of a completed matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, as_floating, is_array, like, namespace, to_numpy
from robustrank.completion.consensus import best_solution
from robustrank.completion.repair import EXTRA

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class FittedRows:
    """New rows on the column space of a completed matrix.

    Attributes
    ----------
    left
        The factor of the new rows; they are ``left`` times the transpose of ``right``.
    right
        The right factor of the completed matrix.
    outliers
        The rejected entries, boolean, of the shape of the new rows.
    undecided
        The numbers of the rows that have too few trusted entries; they are zero.
    """

    left: Array
    right: Array
    outliers: Array
    undecided: Vector

    @property
    def matrix(self) -> Array:
        """The completed rows."""
        return self.left @ namespace(self.right).matrix_transpose(self.right)


def fit_new_rows(X: Any, right: Array, cutoff: float) -> FittedRows:
    """The rows of X as combinations of the columns of ``right``, from the entries that agree.

    Of the solutions of random subsets of the entries of a row, the one that fits most of its
    entries up to the cutoff is refined by least squares on those.
    """
    given = as_floating(X if is_array(X) else np.asarray(X), "X")
    n2, rank = right.shape
    if given.ndim != 2 or given.shape[1] != n2:
        raise ValueError(f"X has shape {tuple(given.shape)}; expected (rows, {n2})")
    values, V = to_numpy(given), to_numpy(right)
    left = np.zeros((len(values), rank), V.dtype)
    outliers = np.zeros(values.shape, bool)
    undecided = []
    rng = np.random.default_rng(0)
    for i, row in enumerate(values):
        observed = np.flatnonzero(np.isfinite(row))
        solution, count = np.zeros(rank, V.dtype), 0
        if len(observed) >= rank + EXTRA:
            solution, count = best_solution(V[observed], row[observed], cutoff, rng)
        if count < max(rank + EXTRA, len(observed) // 2 + 1):
            undecided.append(i)
            continue
        left[i] = solution
        outliers[i] = ~(np.abs(row - V @ solution) <= cutoff) & ~np.isnan(row)
    xp = namespace(right)
    flags = xp.asarray(outliers, device=like(right)["device"])
    return FittedRows(xp.asarray(left, **like(right)), right, flags, np.asarray(undecided, int))
