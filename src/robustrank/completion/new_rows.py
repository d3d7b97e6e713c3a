"""New rows on the column space of a completed matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, as_floating, is_array, like, namespace, to_numpy
from robustrank.completion.repair import EXTRA
from robustrank.completion.row_fit import fit_rows, repair_rows
from robustrank.operators import SortedEntries

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class FittedRows:
    """New rows in the row space of a completed matrix.

    Attributes
    ----------
    left
        The factor of the new rows, of shape (k, r); they are ``left`` times the transpose of
        ``right``.
    right
        The right factor of the completed matrix, of shape (n2, r).
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


def fit_new_rows(X: Any, right: Array, cutoff: float, deviation: float) -> FittedRows:
    """The rows of X as combinations of the columns of ``right``, from the entries that agree.

    Weights narrow, from the deviation of a typical entry, until only the entries are left that fit
    up to the cutoff. Rows of which that is no majority are solved from random subsets of their
    entries. The result for a row does not depend on the other rows.
    """
    given = as_floating(X if is_array(X) else np.asarray(X), "X")
    n2 = right.shape[0]
    if given.ndim != 2 or given.shape[1] != n2:
        raise ValueError(f"X has shape {tuple(given.shape)}; expected (rows, {n2})")
    with np.errstate(all="ignore"):  # where an outlier overflows, its weight is zero
        left, outliers, undecided = _fitted(
            to_numpy(given), to_numpy(right), cutoff, max(deviation, cutoff)
        )
    xp = namespace(right)
    flags = xp.asarray(outliers, device=like(right)["device"])
    return FittedRows(xp.asarray(left, **like(right)), right, flags, undecided)


def _fitted(X: Vector, V: Vector, cutoff: float, deviation: float) -> tuple[Vector, Vector, Vector]:
    """The left factor of the rows, which entries are rejected, and the rows without a majority."""
    observed = np.isfinite(X)
    counts = observed.sum(axis=1)
    columns = np.nonzero(observed)[1].astype(np.int32)
    entries = SortedEntries(np.concatenate([[0], np.cumsum(counts)]), columns)
    values = X[observed].astype(V.dtype)
    left = np.zeros((len(X), V.shape[1]), V.dtype)
    if len(values):
        left = fit_rows(entries, values, V, cutoff, deviation)
    needed = np.maximum(V.shape[1] + EXTRA, counts // 2 + 1)
    wrong = np.flatnonzero((_fits(entries, values, left, V, cutoff) < needed) & (counts >= needed))
    for row in wrong[:, None]:
        repair_rows(entries, values, left, V, cutoff, row, np.random.default_rng(0))
    undecided = np.flatnonzero(_fits(entries, values, left, V, cutoff) < needed)
    left[undecided] = 0
    outliers = ~(np.abs(X - left @ V.T) <= cutoff) & ~np.isnan(X)
    outliers[undecided] = False
    return left, outliers, undecided


def _fits(entries: SortedEntries, values: Vector, P: Vector, Q: Vector, cutoff: float) -> Vector:
    """The number of entries of each row within the cutoff."""
    within = np.abs(values - entries.dot(P, Q)) <= cutoff
    return np.bincount(entries.owners[within], minlength=entries.rows)
