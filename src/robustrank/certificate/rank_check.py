"""Is the rank of a result too high or too low? A comparison of singular values with noise."""

from __future__ import annotations

import math

from robustrank.backend import as_generator, namespace
from robustrank.certificate.conclusion import NOISE_LIMIT
from robustrank.linalg import frobenius_norm, weighted
from robustrank.problem import Problem
from robustrank.result import Result

# Surplus columns, fitted to noise, have singular values up to twice the edge of the noise.
_CLEAR_OF_NOISE = 3.0
_ABOVE_NOISE = 1.3
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
    """Whether the residuals of the inliers may be more than noise.

    They may if their back-projection has a singular value above the edge of the noise, or if they
    are large and few. ``problem`` has the given rank, and the result a lower one.
    """
    certificate = result.certificate
    few = certificate.inliers < FEW_INLIERS * problem.degrees_of_freedom
    if few and certificate.noise > NOISE_LIMIT / 2:
        return True
    problem = problem.with_unit_rows
    residual = result.residual * problem.row_factors
    count = int(namespace(residual).count_nonzero(~result.outliers))
    weights = namespace(residual).astype(~result.outliers, residual.dtype)
    kept = weighted(residual, weights) / problem.units.measurement
    normalized = problem.normalized()
    _, values, _ = normalized.operator.leading_svd(kept / count, 1, as_generator(0))
    deviation = float(frobenius_norm(kept)) / math.sqrt(count)
    gain = float(normalized.operator.gain)
    return float(values[0]) / gain**2 > _ABOVE_NOISE * edge_of_noise(normalized, deviation, count)


def edge_of_noise(problem: Problem, deviation: float, count: float) -> float:
    """The largest singular value of the back-projection of noise in ``count`` measurements."""
    n1, n2 = problem.operator.matrix_shape
    spread = math.sqrt(n1) + math.sqrt(n2)
    return deviation * spread / (math.sqrt(count) * float(problem.operator.gain))
