"""Robust PCA of a matrix with many columns: the left factor from some, the others by blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import as_floating
from robustrank.certificate import EXTRA, Support
from robustrank.completion.new_rows import fit_rows, repair_rows
from robustrank.completion.refinement import CUTOFF
from robustrank.completion.repair import MOST_ROWS
from robustrank.completion.sample import Sample
from robustrank.completion.search import Search, Solution
from robustrank.completion.watch import Watch
from robustrank.operators import Entries, SortedEntries

Vector = np.ndarray[Any, Any]

# The left factor is found from columns with about 4 million entries in all, at least 200 columns;
# the others are fitted in blocks of about 2 million entries.
_ENTRIES, _COLUMNS, _BLOCK = 4_000_000, 200, 2_000_000


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """Columns as combinations of those of a left factor."""

    right: Vector
    outliers: Vector  # boolean, (n1, n2)
    decided: Vector  # boolean: a majority of the finite entries is fitted


def solve_by_columns(
    X: Vector, rank: int | None, rng: np.random.Generator, watch: Watch
) -> tuple[Solution, float]:
    """The solution of robust PCA of a matrix with many columns, and the size of a typical entry.

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
    cutoff = max(CUTOFF * solution.noise, solution.tolerance * part.deviation)
    watch.begin("columns")
    fitted = fit_columns(X, left, cutoff, part.deviation, rng, watch)
    inliers = ~fitted.outliers
    decided = inliers & decided_rows[:, None] & fitted.decided
    support = Support(decided_rows, fitted.decided, decided.reshape(-1))
    whole = replace(
        solution, left=left, right=fitted.right, inliers=inliers.reshape(-1), support=support
    )
    return whole, part.deviation


def fit_columns(
    X: Vector,
    left: Vector,
    cutoff: float,
    deviation: float,
    rng: np.random.Generator,
    watch: Watch,
) -> FittedColumns:
    """The columns of X, robustly, as combinations of the columns of ``left``.

    An inlier has a residual of at most ``cutoff``; ``deviation`` is that of a typical value.
    Infinite values are outliers, and are not used.
    """
    (n1, n2), rank = X.shape, left.shape[1]
    right = np.zeros((n2, rank), left.dtype)
    outliers = np.zeros((n1, n2), bool)
    decided = np.zeros(n2, bool)
    step = max(1, _BLOCK // n1)
    repairs = MOST_ROWS
    for first in range(0, n2, step):
        block = slice(first, min(first + step, n2))
        values = as_numbers(X[:, block].T).astype(left.dtype, copy=False)
        usable = np.isfinite(values)
        entries, flat = _entries_at(usable), values[usable]
        needed = np.maximum(rank + EXTRA, usable.sum(axis=1) // 2 + 1)
        fitted = fit_rows(entries, flat, left, cutoff, deviation)
        fits = np.abs(values - fitted @ left.T) <= cutoff
        wrong = np.flatnonzero(fits.sum(axis=1) < needed)[:repairs]
        repair_rows(entries, flat, fitted, left, cutoff, wrong, rng)
        fits[wrong] = np.abs(values[wrong] - fitted[wrong] @ left.T) <= cutoff
        repairs -= len(wrong)
        fits[~usable] = False
        right[block], outliers[:, block] = fitted, ~fits.T
        decided[block] = fits.sum(axis=1) >= needed
        watch.report(block.stop / n2, left, right)
    return FittedColumns(right, outliers, decided)


def _entries_at(flags: Vector) -> SortedEntries:
    """The positions of the entries of a matrix that are flagged."""
    counts = np.count_nonzero(flags, axis=1)
    return SortedEntries(
        np.concatenate([[0], np.cumsum(counts)]), np.nonzero(flags)[1].astype(np.int32)
    )


def as_numbers(X: Vector) -> Vector:
    """A part of the data as contiguous floating-point numbers.

    Numbers so large that their products would overflow become infinite.
    """
    values = np.ascontiguousarray(as_floating(X, "X"))
    largest = float(np.finfo(values.dtype).max) ** 0.25
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
