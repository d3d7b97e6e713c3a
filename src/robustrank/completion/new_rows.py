"""Rows on a column space that is known, and new rows of a completed matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, as_floating, epsilon, is_array, like, namespace, to_numpy
from robustrank.certificate import EXTRA
from robustrank.completion.repair import best_solution
from robustrank.linalg import ROUNDINGS
from robustrank.operators import SortedEntries
from robustrank.result import with_gaps

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
    gaps
        Boolean, of the shape of the new rows: the columns of which nothing is known, and the rows
        without entries. They are NaN in ``matrix``.
    as_frame
        Makes a data frame of ``matrix`` if the new rows are one.
    """

    left: Array
    right: Array
    outliers: Array
    undecided: Vector
    gaps: Vector
    as_frame: Callable[[Any], Any] | None = None

    @property
    def matrix(self) -> Any:
        """The completed rows; a data frame if the new rows are one."""
        product = self.left @ namespace(self.right).matrix_transpose(self.right)
        filled = with_gaps(product, self.gaps)
        return filled if self.as_frame is None else self.as_frame(to_numpy(filled))


def fit_new_rows(
    X: Any, right: Array, known: Vector, cutoff: float, deviation: float
) -> FittedRows:
    """The rows of X as combinations of the columns of ``right``, from the entries that agree.

    Only columns that are ``known``, boolean of shape (n2,), are used.

    Weights narrow, from the deviation of a typical entry, until only the entries are left that fit
    up to the cutoff. Rows of which that is no majority are solved from random subsets of their
    entries. The result for a row does not depend on the other rows.
    """
    given = as_floating(X if is_array(X) else np.asarray(X), "X")
    n2 = right.shape[0]
    if given.ndim != 2 or given.shape[1] != n2:
        raise ValueError(f"X has shape {tuple(given.shape)}; expected (rows, {n2})")
    observed = np.isfinite(to_numpy(given)) & known
    with np.errstate(all="ignore"):  # where an outlier overflows, its weight is zero
        left, outliers, undecided = _fitted(
            to_numpy(given), observed, to_numpy(right), cutoff, max(deviation, cutoff)
        )
    xp = namespace(right)
    flags = xp.asarray(outliers | np.isinf(to_numpy(given)), device=like(right)["device"])
    gaps = ~known | ~observed.any(axis=1)[:, None]
    return FittedRows(xp.asarray(left, **like(right)), right, flags, undecided, gaps)


def _fitted(
    X: Vector, observed: Vector, V: Vector, cutoff: float, deviation: float
) -> tuple[Vector, Vector, Vector]:
    """The left factor of the rows, which entries are rejected, and the rows without a majority."""
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
    outliers = observed & ~(np.abs(X - left @ V.T) <= cutoff)
    outliers[undecided] = False
    return left, outliers, undecided


def _fits(entries: SortedEntries, values: Vector, P: Vector, Q: Vector, cutoff: float) -> Vector:
    """The number of entries of each row within the cutoff."""
    within = np.abs(values - entries.dot(P, Q)) <= cutoff
    return np.bincount(entries.owners[within], minlength=entries.rows)


# Widths of the weights, in standard deviations of the values: slowly at first, because a row may
# have many outliers, then faster.
_FIRST, _SLOW, _FAST, _SLOW_STEPS, _LAST_STEPS = 3.0, 0.6, 0.2, 6, 3


def fit_rows(
    entries: SortedEntries, values: Vector, Q: Vector, cutoff: float, deviation: float
) -> Vector:
    """The rows P for which P Qᵀ fits most of the values, by weights that narrow.

    An inlier has a residual of at most ``cutoff``; ``deviation`` is that of a typical value.
    """
    P = np.zeros((entries.rows, Q.shape[1]), Q.dtype)
    # So that no matrix is singular.
    ridge = ROUNDINGS * epsilon(Q) * float(np.sum(Q.astype(float) ** 2))
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
