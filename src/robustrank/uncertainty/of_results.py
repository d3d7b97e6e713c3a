"""The error bars of results: of measurements, and of entries."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import Array, namespace, to_numpy
from robustrank.linalg import as_vector, degrees_of_freedom, point_of
from robustrank.noise import NOISE_MODELS
from robustrank.operators import Entries, UnstoredTangent
from robustrank.problem import Problem
from robustrank.result import Result, SampledObservations
from robustrank.uncertainty.covariance import TangentCovariance
from robustrank.uncertainty.error_bars import AsOperator, ErrorBars
from robustrank.uncertainty.residuals import left_out_over_deviation


def recovery_error_bars(problem: Problem, result: Result, as_operator: AsOperator) -> ErrorBars:
    """The error bars of the result of a problem; the covariance is computed when it is needed."""
    unit = problem.of_rank(result.rank).with_unit_rows
    factors = to_numpy(problem.row_factors).astype(float)
    inlier = ~to_numpy(result.outliers)
    residual = to_numpy(result.residual).astype(float)
    scaled_residual = residual * factors  # in units in which all A_i have the same norm
    with np.errstate(invalid="ignore"):  # measurements may be infinite
        prediction = to_numpy(unit.y).astype(float) - scaled_residual
    sizes = NOISE_MODELS[result.noise_model].sizes(prediction, factors)
    freedom = unit.degrees_of_freedom

    @functools.cache
    def covariance() -> TangentCovariance:
        normalized = unit.normalized()
        point = point_of(result.left, result.right)
        tangent = normalized.operator.tangent(point.left, point.right, precise=True)
        xp = namespace(normalized.y)
        weights = normalized.operator.asarray(np.where(inlier, sizes**-2.0, 0.0))
        return TangentCovariance(tangent, xp.astype(weights, normalized.y.dtype))

    # A change of one in the normalized matrix is one of its unit; noise is in that of y.
    scale = unit.units.matrix / unit.units.measurement
    scaled = left_out_over_deviation(scaled_residual / sizes, inlier, freedom, result.noise)
    redundancy = int(inlier.sum()) - freedom
    return ErrorBars(covariance, result.noise, scale, redundancy, scaled, as_operator)


Vector = np.ndarray[Any, Any]


def with_entry_error_bars(result: Result, as_operator: AsOperator) -> Result:
    """A completion with error bars that are computed when they are needed, also after pickling."""
    if not isinstance(result.observations, SampledObservations):
        return result
    parts = result.left, result.right, result.observations, result.outliers, result.noise
    return replace(result, accuracy=functools.partial(_of_entries, *parts, as_operator))


def _of_entries(
    left: Array,
    right: Array,
    observations: SampledObservations,
    outliers: Any,
    noise: float,
    as_operator: AsOperator,
) -> ErrorBars:
    rows, columns, residual = (to_numpy(part) for part in observations.all())
    flags = to_numpy(outliers)
    inlier = ~(flags[rows, columns] if flags.ndim == 2 else flags)
    parts = rows, columns, residual, inlier, noise
    return completion_error_bars(left, right, *parts, as_operator)


def completion_error_bars(
    left: Any,
    right: Any,
    rows: Vector,
    columns: Vector,
    residual: Vector,
    inlier: Vector,
    noise: float,
    as_operator: AsOperator,
) -> ErrorBars:
    """The error bars of factors that were fitted to entries.

    ``inlier`` is boolean, and ``noise`` the standard deviation of the noise.
    """
    shape, rank = (int(left.shape[0]), int(right.shape[0])), int(left.shape[1])
    own_rows, own_columns = (len(np.unique(places[inlier])) for places in (rows, columns))
    freedom = degrees_of_freedom(own_rows, own_columns, rank)

    @functools.cache
    def covariance() -> TangentCovariance:
        point = point_of(*(to_numpy(factor).astype(float) for factor in (left, right)))
        own, other = rows[inlier], columns[inlier]
        operator = Entries(own, other, shape)
        tangent = UnstoredTangent(operator, point.left, point.right)
        J = _jacobian(own, other, point.left, point.right)
        return TangentCovariance(tangent, np.ones(len(own)), lambda: (J.T @ J).toarray())

    scaled = left_out_over_deviation(residual.astype(float), inlier, freedom, noise)
    redundancy = int(inlier.sum()) - freedom
    return ErrorBars(covariance, noise, 1.0, redundancy, scaled, as_operator)


def _jacobian(rows: Vector, columns: Vector, U: Vector, V: Vector) -> scipy.sparse.csr_array:
    """The derivatives of entries along the tangent space, one row for each entry."""
    (n1, r), n2 = U.shape, len(V)
    positions = as_vector(np.arange(r * (n1 + n2)).reshape(n1 + n2, r))
    place = np.argsort(positions).reshape(n1 + n2, r)
    at = np.concatenate([place[rows], place[n1 + columns]], axis=1)
    values = np.concatenate([V[columns], U[rows]], axis=1)
    starts = np.arange(0, at.size + 1, 2 * r)
    return scipy.sparse.csr_array((values.ravel(), at.ravel(), starts), (len(rows), r * (n1 + n2)))
