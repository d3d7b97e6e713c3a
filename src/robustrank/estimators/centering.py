"""Low-rank matrices about the means of their columns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.result import Result

Vector = np.ndarray[Any, Any]
Solve = Callable[..., Result]


def complete_about_mean(
    solve: Solve, X: Array, rank: int | None, time_limit: float | None
) -> tuple[Result, Array]:
    """The result for X minus the means of its columns, and these means.

    ``solve(X, rank, time_limit=…)`` is ``complete`` or ``robust_pca``. Large means would hide how
    the rows differ. The medians of the columns are subtracted first, which outliers hardly change;
    they need one more rank than the means. The means are then those of the result.
    """
    ends = None if time_limit is None else time.perf_counter() + time_limit
    xp = namespace(X)
    center = xp.asarray(column_medians(to_numpy(X)), **like(X))
    one_more = None if rank is None else min(rank + 1, *X.shape)
    first = solve(X - center, one_more, time_limit=time_limit)
    center = center + _column_means(X - center, first)
    left = None if ends is None else max(ends - time.perf_counter(), 1e-3)
    return solve(X - center, rank, time_limit=left), center


def column_medians(X: Vector) -> Vector:
    """The median of the observed entries of each column; NaN for a column without any."""
    medians = np.full(X.shape[1], np.nan)
    observed = ~np.isnan(X).all(axis=0)
    medians[observed] = np.nanmedian(X[:, observed], axis=0)
    return medians


def decided_rows(result: Result) -> Array:
    """The rows of the left factor that are decided, or all if none is."""
    count = result.shape[0]
    decided = np.setdiff1d(np.arange(count), result.undecided_rows)
    if len(decided) in (0, count):
        return result.left
    xp, device = namespace(result.left), like(result.left)["device"]
    return xp.take(result.left, xp.asarray(decided, device=device), axis=0)


def _column_means(X: Array, result: Result) -> Array:
    """The means of the decided rows, and of what the result leaves of the inliers."""
    xp = namespace(X)
    inliers = ~(xp.isnan(X) | result.outliers)
    zero = xp.zeros(1, **like(X))
    residual = xp.where(inliers, X - result.matrix, zero)
    counts = xp.astype(xp.count_nonzero(inliers, axis=0), X.dtype)
    left_over = xp.sum(residual, axis=0) / xp.where(counts > 0, counts, zero + 1)
    return result.right @ xp.mean(decided_rows(result), axis=0) + left_over
