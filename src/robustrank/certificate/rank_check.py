"""Is the rank of a result too high or too low? A comparison of singular values with noise."""

from __future__ import annotations

import math

from robustrank.certificate.conclusion import NOISE_LIMIT
from robustrank.problem import Problem
from robustrank.result import Result

# Surplus columns, fitted to noise, have singular values up to twice the edge of the noise.
_CLEAR_OF_NOISE = 3.0
# A column that is missing looks like noise of its size. With fewer inliers than this for each
# degree of freedom of the given rank, it may not show in the back-projection, so the noise must be
# less than half of what is certified.
FEW_INLIERS = 3.0


def rank_above_noise(problem: Problem, result: Result) -> int:
    """The number of singular values that are larger than noise alone could have produced."""
    problem, certificate = problem.with_unit_rows, result.certificate
    if certificate.inliers == 0:
        return 0
    deviation = certificate.prediction_error * float(problem.trivial_deviation)
    edge = edge_of_noise(problem, deviation, certificate.inliers)
    return int((result.singular_values() > _CLEAR_OF_NOISE * edge).sum())


def rank_may_be_too_low(problem: Problem, result: Result) -> bool:
    """Whether the residuals of the inliers are large and few, so that they may be more than noise.

    ``problem`` has the given rank, and the result, which is certified, a lower one.
    """
    certificate = result.certificate
    few = certificate.inliers < FEW_INLIERS * problem.degrees_of_freedom
    return few and certificate.noise > NOISE_LIMIT / 2


def edge_of_noise(problem: Problem, deviation: float, count: float) -> float:
    """The largest singular value of the back-projection of noise in ``count`` measurements."""
    n1, n2 = problem.operator.matrix_shape
    spread = math.sqrt(n1) + math.sqrt(n2)
    return deviation * spread / (math.sqrt(count) * float(problem.operator.gain))
