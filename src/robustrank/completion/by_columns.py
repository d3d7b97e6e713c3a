"""Robust PCA of a matrix with many columns: the left factor from some, the others by blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import as_floating
from robustrank.certificate import Support
from robustrank.completion.new_rows import fit_majorities
from robustrank.completion.sample import Sample, Vector
from robustrank.completion.search import Search, Solution
from robustrank.completion.single_rows import MOST_ROWS
from robustrank.completion.watch import Watch
from robustrank.operators import Entries

# The left factor is found from columns with about 4 million entries in all, at least 200 columns;
# the others are fitted in blocks with half of that number.
_ENTRIES, _COLUMNS = 4_000_000, 200
_BLOCK = _ENTRIES // 2


def solve_by_columns(
    X: Vector, rank: int | None, rng: np.random.Generator, watch: Watch
) -> Solution:
    """The solution of robust PCA of a matrix with many columns.

    Entries are not sorted or copied but in blocks of columns. ``inliers`` and ``support`` of the
    solution are in the order of the rows.
    """
    n1, n2 = X.shape
    count = min(n2, max(_COLUMNS, _ENTRIES // n1))
    chosen = np.sort(rng.choice(n2, count, replace=False))
    part, rows, columns = _finite_sample(as_numbers(X[:, chosen]))
    chosen = chosen[columns]
    watch.of_whole = lambda P, Q: (_expanded(P, rows, n1), _expanded(Q, chosen, n2))
    solution = Search(part, rng, watch).run(rank)
    watch.of_whole = lambda P, Q: (P, Q)
    left = _expanded(solution.left, rows, n1)
    decided_rows = _expanded(solution.support.rows, rows, n1)
    watch.begin("columns")
    right, inliers, decided = fit_columns(X, left, solution.cutoff, solution.typical, watch)
    fitted = inliers & decided_rows[:, None] & decided
    support = Support(decided_rows, decided, fitted.reshape(-1))
    return replace(solution, left=left, right=right, inliers=inliers.reshape(-1), support=support)


def fit_columns(
    X: Vector, left: Vector, cutoff: float, deviation: float, watch: Watch
) -> tuple[Vector, Vector, Vector]:
    """The columns of X, robustly, as combinations of the columns of ``left``.

    An inlier has a residual of at most ``cutoff``; ``deviation`` is that of a typical value.
    Infinite values are outliers, and are not used. Returns the right factor, the inliers, boolean
    of the shape of X, and the columns of which a majority of the finite entries is fitted.
    """
    n1, n2 = X.shape
    right = np.zeros((n2, left.shape[1]), left.dtype)
    inliers, decided = np.zeros((n1, n2), bool), np.zeros(n2, bool)
    step = max(1, _BLOCK // n1)
    for first in range(0, n2, step):
        block = slice(first, min(first + step, n2))
        values = as_numbers(X[:, block].T).astype(left.dtype, copy=False)
        most = math.ceil(MOST_ROWS * len(values) / n2)
        right[block], fits, decided[block] = fit_majorities(
            values, np.isfinite(values), left, cutoff, deviation, most
        )
        inliers[:, block] = fits.T
        watch.report(block.stop / n2, left, right)
    return right, inliers, decided


def as_numbers(X: Vector) -> Vector:
    """A part of the data as contiguous floating-point numbers.

    Numbers so large that their products would overflow become infinite.
    """
    values = np.ascontiguousarray(as_floating(X, "X"))
    largest = math.sqrt(math.sqrt(np.finfo(values.dtype).max))
    usable: Vector = np.where(np.abs(values) <= largest, values, np.inf)
    return usable


def _finite_sample(X: Vector) -> tuple[Sample, Vector, Vector]:
    """The sample of the finite entries, and the numbers of the rows and columns that have any."""
    finite = np.isfinite(X)
    rows, columns = (np.flatnonzero(finite.any(axis=axis)) for axis in (1, 0))
    kept = finite[np.ix_(rows, columns)]
    own, other = np.nonzero(kept)
    entries = Entries(own, other, (len(rows), len(columns)))
    return Sample.of(entries, X[np.ix_(rows, columns)][kept]), rows, columns


def _expanded(part: Any, places: Vector, size: int) -> Vector:
    """An array of ``size`` rows, those of ``part`` at some places and zero elsewhere."""
    given = np.asarray(part)
    whole = np.zeros((size, *given.shape[1:]), given.dtype)
    whole[places] = given
    return whole
