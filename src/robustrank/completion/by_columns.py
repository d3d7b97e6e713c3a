"""Robust PCA of a matrix with many columns: the left factor from some, the others by blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import as_floating
from robustrank.completion.refinement import CUTOFF
from robustrank.completion.repair import EXTRA
from robustrank.completion.row_fit import fit_rows, repair_rows
from robustrank.completion.sample import Sample
from robustrank.completion.search import Search, Solution
from robustrank.completion.support import Support
from robustrank.completion.watch import Stopped, Watch
from robustrank.operators import Entries, SortedEntries

Vector = np.ndarray[Any, Any]

# The left factor is found from columns with about this many entries in all, but at least so many
# columns; the others are fitted in blocks of about as many entries.
_ENTRIES, _COLUMNS, _BLOCK = 4_000_000, 200, 2_000_000
_MAJORITY = 0.5
_MOST_REPAIRED = 1000


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """Columns as combinations of those of a left factor."""

    right: Vector
    outliers: Vector  # boolean, (n1, n2)
    decided: Vector  # boolean: a majority of the entries is fitted


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
    part = _dense_sample(as_finite(X[:, chosen]))
    try:
        solution = Search(part, rng, watch).run(rank)
    except (Stopped, KeyboardInterrupt):
        if watch.latest is not None:
            found, some = (np.asarray(factor) for factor in watch.latest)
            right = np.zeros((n2, some.shape[1]), some.dtype)
            right[chosen] = some
            watch.latest = found, right
        raise
    left = np.asarray(solution.left)
    cutoff = max(CUTOFF * solution.noise, solution.tolerance * part.deviation)
    watch.begin("columns")
    fitted = fit_columns(X, left, cutoff, part.deviation, rng, watch)
    inliers = ~fitted.outliers
    decided = inliers & solution.support.rows[:, None] & fitted.decided
    support = Support(solution.support.rows, fitted.decided, decided.reshape(-1))
    whole = replace(solution, right=fitted.right, inliers=inliers.reshape(-1), support=support)
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
    """
    (n1, n2), rank = X.shape, left.shape[1]
    right = np.zeros((n2, rank), left.dtype)
    outliers = np.zeros((n1, n2), bool)
    decided = np.zeros(n2, bool)
    step = max(1, _BLOCK // n1)
    needed = max(rank + EXTRA, math.floor(_MAJORITY * n1) + 1)
    repairs = _MOST_REPAIRED
    for first in range(0, n2, step):
        block = slice(first, min(first + step, n2))
        values = as_finite(X[:, block].T).astype(left.dtype, copy=False)
        entries, flat = _all_entries(*values.shape), values.reshape(-1)
        fitted = fit_rows(entries, flat, left, cutoff, deviation)
        fits = np.abs(values - fitted @ left.T) <= cutoff
        wrong = np.flatnonzero(fits.sum(axis=1) < needed)[:repairs]
        repair_rows(entries, flat, fitted, left, cutoff, wrong, rng)
        fits[wrong] = np.abs(values[wrong] - fitted[wrong] @ left.T) <= cutoff
        repairs -= len(wrong)
        right[block], outliers[:, block] = fitted, ~fits.T
        decided[block] = fits.sum(axis=1) >= needed
        watch.report(block.stop / n2, left, right)
    return FittedColumns(right, outliers, decided)


def _all_entries(rows: int, columns: int) -> SortedEntries:
    """The positions of all entries of a matrix."""
    others = np.tile(np.arange(columns, dtype=np.int32), rows)
    return SortedEntries(columns * np.arange(rows + 1), others)


def as_finite(X: Vector) -> Vector:
    """A part of the data as contiguous floating-point numbers; infinite ones become large."""
    values = np.ascontiguousarray(as_floating(X, "X"))
    largest = float(np.finfo(values.dtype).max) ** 0.25
    finite: Vector = np.clip(values, -largest, largest)
    return finite


def _dense_sample(X: Vector) -> Sample:
    """The sample of all entries of a matrix."""
    n1, n2 = X.shape
    rows, columns = np.divmod(np.arange(n1 * n2, dtype=np.int64), n2)
    entries = Entries(rows, columns, (n1, n2))
    return Sample.of(entries, X.reshape(-1))
