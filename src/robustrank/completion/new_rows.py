"""Rows on a column space that is known, and new rows of a completed matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, as_floating, epsilon, is_array, like, namespace, to_numpy
from robustrank.certificate import EXTRA
from robustrank.completion.sample import Vector
from robustrank.completion.single_rows import best_solution
from robustrank.linalg import ROUNDINGS
from robustrank.operators import SortedEntries
from robustrank.result import with_gaps


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
    values = to_numpy(given)
    used = np.isfinite(values) & known
    with np.errstate(all="ignore"):  # where an outlier overflows, its weight is zero
        left, fits, decided = fit_majorities(
            values, used, to_numpy(right), cutoff, max(deviation, cutoff)
        )
    left[~decided] = 0
    xp = namespace(right)
    outliers = (used & ~fits & decided[:, None]) | np.isinf(values)
    return FittedRows(
        xp.asarray(left, **like(right)),
        right,
        xp.asarray(outliers, device=like(right)["device"]),
        undecided=np.flatnonzero(~decided),
        gaps=~known | ~used.any(axis=1)[:, None],
    )


def fit_majorities(
    X: Vector,
    used: Vector,
    Q: Vector,
    cutoff: float,
    deviation: float,
    most: int | None = None,
) -> tuple[Vector, Vector, Vector]:
    """The rows P for which P Qᵀ fits a majority of the used entries of X, boolean of its shape.

    Returns P, which of the used entries are within the cutoff, and which rows are decided by a
    majority. At most ``most`` rows, by default all, of which ``fit_rows`` finds none are solved
    from random subsets of their entries.
    """
    counts = used.sum(axis=1)
    needed = np.maximum(Q.shape[1] + EXTRA, counts // 2 + 1)
    columns = np.nonzero(used)[1].astype(np.int32)
    entries = SortedEntries(np.concatenate([[0], np.cumsum(counts)]), columns)
    P = fit_rows(entries, X[used].astype(Q.dtype), Q, cutoff, deviation)
    fits = used & (np.abs(X - P @ Q.T) <= cutoff)
    wrong = np.flatnonzero((fits.sum(axis=1) < needed) & (counts >= needed))[:most]
    for i in wrong:
        rng = np.random.default_rng(0)  # so that a row does not depend on the others
        P[i], _ = best_solution(Q[used[i]], X[i, used[i]], cutoff, rng)
    fits[wrong] = used[wrong] & (np.abs(X[wrong] - P[wrong] @ Q.T) <= cutoff)
    return P, fits, fits.sum(axis=1) >= needed


# The width of the weights begins with two standard deviations of the values. Each step narrows it
# more than the one before, by this factor: slowly at first, because a row may have many outliers.
_ACCELERATION = 0.85
_LAST_STEPS = 2  # with the width of the cutoff


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


def _widths(cutoff: float, deviation: float) -> Iterator[float]:
    width, factor = 2 * deviation, 1.0
    while width > cutoff:
        yield width
        factor *= _ACCELERATION
        width *= factor
    for _ in range(_LAST_STEPS):
        yield cutoff
