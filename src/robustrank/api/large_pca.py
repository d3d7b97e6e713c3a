"""Robust PCA of a matrix of which no second copy should be made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.completion import (
    Completion,
    CompletionCertificate,
    MatrixObservations,
    Solution,
    Stopped,
    Support,
    Watch,
    concluded,
    solve_by_columns,
)
from robustrank.result import Status, StopReason

Matrix = np.ndarray[Any, Any]

# More entries would be sorted and copied several times otherwise, 190 bytes for each.
_LARGE = 30_000_000


def is_large(X: Any) -> bool:
    """Whether a matrix is to be split by blocks of columns or rows."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _LARGE


def split_large(X: Matrix, rank: int | None, rng: np.random.Generator, watch: Watch) -> Completion:
    """The result of ``robust_pca``; a matrix with more rows than columns is transposed."""
    transposed = X.shape[0] > X.shape[1]
    given = X.T if transposed else X
    entries = int(np.count_nonzero(np.isfinite(X)))
    with np.errstate(all="ignore"):
        try:
            solution, typical = solve_by_columns(given, rank, rng, watch)
            status, certificate = concluded(solution, entries)
        except (Stopped, KeyboardInterrupt) as stop:
            solution, typical = _unfinished(given.shape, watch), math.nan
            _, certificate = concluded(solution, entries)
            reason = stop.reason if isinstance(stop, Stopped) else StopReason.INTERRUPTED
            status = reason.status
    return _result(X, solution, typical, status, certificate, transposed=transposed)


def _unfinished(shape: tuple[int, ...], watch: Watch) -> Solution:
    """What a run that was stopped had found: the latest factors, supported by nothing."""
    n1, n2 = shape
    left, right = watch.latest or (np.zeros((n1, 1)), np.zeros((n2, 1)))
    nothing = Support(np.zeros(n1, bool), np.zeros(n2, bool), np.zeros(n1 * n2, bool))
    return Solution(left, right, np.ones(n1 * n2, bool), nothing, 0.0)


def _result(
    X: Matrix,
    solution: Solution,
    typical: float,
    status: Status,
    certificate: CompletionCertificate,
    *,
    transposed: bool,
) -> Completion:
    left, right = np.asarray(solution.left), np.asarray(solution.right)
    rows, columns = (
        np.flatnonzero(~part) for part in (solution.support.rows, solution.support.columns)
    )
    outliers = ~solution.inliers.reshape(len(left), len(right))
    if transposed:
        left, right, rows, columns, outliers = right, left, columns, rows, outliers.T
    return Completion(
        left=left,
        right=right,
        outliers=outliers,
        undecided_rows=rows,
        undecided_columns=columns,
        status=status,
        certificate=certificate,
        noise=solution.noise,
        typical_size=typical,
        observations=MatrixObservations(X, left, right),
    )
