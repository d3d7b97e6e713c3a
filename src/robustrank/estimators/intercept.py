"""Result of a low-rank matrix together with an unknown constant in all measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from robustrank.backend import Array, like, namespace
from robustrank.linalg import shortest_half
from robustrank.result import Result, Status, StopReason

# Each round removes the outliers that the one before has found from the means.
_ROUNDS = 6
_NEGLIGIBLE = 0.1  # a change of the intercept, in units of its standard error
_PROGRESS = 0.9  # a round that does not lower the typical residual to this share is the last

Solve = Callable[[Array, Array, "float | None"], Result]


def recover_with_intercept(
    solve: Solve, X: Array, y: Array, time_limit: float | None
) -> tuple[Result, float]:
    """The result for y_i = <A_i, M> + b, and b.

    ``X`` has a row for each measurement. ``solve(X, y, time_limit)`` recovers M without a constant.

    The means over any set of inliers satisfy the same equation, so subtracting them removes b
    exactly, whichever inliers they are. The first set is the shortest interval with half of y; the
    next ones are the inliers of the result before, until the mean of their residuals is negligible
    or the residuals no longer decrease.
    """
    ends = None if time_limit is None else time.perf_counter() + time_limit
    middle, length = shortest_half(y)
    inliers = namespace(y).abs(y - middle) <= length
    misfit = math.inf
    for _ in range(_ROUNDS):
        x_mean, y_mean = _mean(X, inliers), _mean(y, inliers)
        left = None if ends is None else max(ends - time.perf_counter(), 1e-3)
        result = solve(X - x_mean, y - y_mean, left)
        inliers = ~result.outliers
        shift, error = _mean_and_error(result.residual, inliers)
        before, misfit = misfit, result.certificate.misfit
        if result.status is Status.RECOVERED or result.stopped is StopReason.TIME_LIMIT:
            break
        if abs(shift) <= _NEGLIGIBLE * error or not misfit < _PROGRESS * before:
            break
    coefficients = namespace(X).reshape(result.matrix, (-1,))
    return result, float(y_mean) - float(x_mean @ coefficients) + shift


def _mean(values: Array, chosen: Array) -> Array:
    """The mean of the chosen rows."""
    weights = namespace(values).astype(chosen, values.dtype)
    return (weights @ values) / namespace(values).sum(weights)


def _mean_and_error(values: Array, chosen: Array) -> tuple[float, float]:
    """The mean of the chosen values and its standard error."""
    xp = namespace(values)
    # A rejected value may be infinite.
    used = xp.where(chosen, values, xp.zeros(1, **like(values)))
    count = max(int(xp.count_nonzero(chosen)), 1)
    mean = float(xp.sum(used)) / count
    variance = float(xp.sum(used**2)) / count - mean**2
    return mean, math.sqrt(max(variance, 0.0) / count)
