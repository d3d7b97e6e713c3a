"""Robust PCA of a matrix of which no second copy should be made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.certificate import Support
from robustrank.completion import (
    Solution,
    Watch,
    certified,
    fit_new_rows,
    solve_by_columns,
)
from robustrank.completion.refinement import CUTOFF
from robustrank.result import MatrixObservations, Result
from robustrank.run import Run

Matrix = np.ndarray[Any, Any]

# More entries would be sorted and copied several times otherwise, 190 bytes for each.
_LARGE = 30_000_000


def is_large(X: Any) -> bool:
    """Whether a matrix is to be split by blocks of columns or rows."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _LARGE


def split_large(X: Matrix, rank: int | None, rng: np.random.Generator, run: Run) -> Result:
    """The result of ``robust_pca``; a matrix with more rows than columns is transposed."""
    transposed = X.shape[0] > X.shape[1]
    given = X.T if transposed else X
    entries, watch = int(np.count_nonzero(np.isfinite(X))), Watch(run)

    found: tuple[Solution, float] | None = None
    with np.errstate(all="ignore"):
        with run:
            found = solve_by_columns(given, rank, rng, watch)
        solution, typical = found or (_unfinished(given.shape, watch), math.nan)
        certificate = certified(solution, entries, tested=found is not None)
    left, right = np.asarray(solution.left), np.asarray(solution.right)
    rows, columns = (
        np.flatnonzero(~part) for part in (solution.support.rows, solution.support.columns)
    )
    outliers = ~solution.inliers.reshape(len(left), len(right))
    if transposed:
        left, right, rows, columns, outliers = right, left, columns, rows, outliers.T
    return Result(
        left=left,
        right=right,
        outliers=outliers,
        certificate=certificate,
        observations=MatrixObservations(X, left, right),
        noise=solution.noise,
        typical_size=typical,
        cutoff=max(CUTOFF * solution.noise, solution.tolerance * typical),
        stopped=run.stopped,
        undecided_rows=rows,
        undecided_columns=columns,
        solver="blocks of columns",
        iterations=watch.steps,
        seconds=run.seconds,
        fit_new_rows=fit_new_rows,
    )


def _unfinished(shape: tuple[int, ...], watch: Watch) -> Solution:
    """What a run that was stopped had found: the latest factors, supported by nothing."""
    n1, n2 = shape
    left, right = watch.latest or (np.zeros((n1, 1)), np.zeros((n2, 1)))
    nothing = Support(np.zeros(n1, bool), np.zeros(n2, bool), np.zeros(n1 * n2, bool))
    return Solution(left, right, np.ones(n1 * n2, bool), nothing, math.nan)
