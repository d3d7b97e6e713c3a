"""The error bars of a result of ``recover``."""

from __future__ import annotations

import functools

import numpy as np

from robustrank.backend import namespace, to_numpy
from robustrank.linalg import point_of
from robustrank.problem import Problem
from robustrank.result import Result
from robustrank.uncertainty.covariance import TangentCovariance
from robustrank.uncertainty.error_bars import AsOperator, ErrorBars
from robustrank.uncertainty.noise import (
    left_out_over_deviation,
    noise_is_equal,
)


def recovery_error_bars(problem: Problem, result: Result, as_operator: AsOperator) -> ErrorBars:
    """The error bars of the result of a problem; the covariance is computed when it is needed."""
    unit = problem.of_rank(result.rank).with_unit_rows
    factors = to_numpy(problem.row_factors).astype(float)
    inlier = ~to_numpy(result.outliers)
    residual = to_numpy(result.residual).astype(float)
    # In units in which all A_i have the same norm, noise of equal size differs by these factors.
    spread = np.ones_like(factors)
    if inlier.any() and noise_is_equal(residual[inlier], factors[inlier]):
        spread = factors
    comparable = residual * factors / spread
    freedom = unit.degrees_of_freedom

    @functools.cache
    def covariance() -> TangentCovariance:
        normalized = unit.normalized()
        point = point_of(result.left, result.right)
        tangent = normalized.operator.tangent(point.left, point.right, precise=True)
        xp = namespace(normalized.y)
        weights = normalized.operator.asarray(np.where(inlier, spread**-2.0, 0.0))
        return TangentCovariance(tangent, xp.astype(weights, normalized.y.dtype))

    # A change of one in the normalized matrix is one of its unit; noise is in that of y.
    scale = unit.units.matrix / unit.units.measurement
    scaled = left_out_over_deviation(comparable, inlier, freedom, result.noise)
    redundancy = int(inlier.sum()) - freedom
    return ErrorBars(covariance, result.noise, scale, redundancy, scaled, as_operator)
