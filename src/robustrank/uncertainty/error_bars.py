"""Standard errors of a fitted matrix, of its measurements, and of functions of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.linalg import LEVERAGE_LIMIT, degrees_of_freedom, point_of
from robustrank.operators import Entries, Operator
from robustrank.problem import Problem
from robustrank.result import Result, SampledObservations
from robustrank.uncertainty.covariance import TangentCovariance
from robustrank.uncertainty.residuals import outlier_probability

Matrix = np.ndarray[Any, Any]
AsOperator = Callable[[Any, tuple[int, int]], Operator]

_STEP = 1e-6  # of a numerical derivative, relative to the norm of the matrix


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """What is known about the accuracy of a matrix that was fitted to measurements.

    Parameters
    ----------
    operator
        The measurements of the matrix, in some unit of it.
    left, right
        Its factors, in any unit.
    residual
        (m,) the measurements minus the fitted ones.
    inlier
        (m,) boolean.
    freedom
        The number of degrees of freedom.
    deviation
        The standard deviation of the noise of a measurement with a size of one.
    as_operator
        Makes an operator of sensing matrices that a user passes.
    sizes
        (m,) the relative size of the noise of each measurement, or one number for all.
    scale
        The unit of the matrix that ``operator`` measures, over that of the measurements.
    """

    operator: Operator
    left: Array
    right: Array
    residual: Matrix
    inlier: Matrix
    freedom: int
    deviation: float
    as_operator: AsOperator
    sizes: Matrix | float = 1.0
    scale: float = 1.0

    @property
    def is_exact(self) -> bool:
        """Whether there is no noise."""
        return self.deviation == 0

    @property
    def redundancy(self) -> int:
        """The number of inliers minus that of the degrees of freedom."""
        return int(self.inlier.sum()) - self.freedom

    @cached_property
    def covariance(self) -> TangentCovariance:
        """That of the matrix in units of the noise variance."""
        point = point_of(self.left, self.right)
        tangent = self.operator.tangent(point.left, point.right, precise=True)
        weights = np.where(self.inlier, self.sizes**-2.0, 0.0)
        given = namespace(point.left).asarray(weights, **like(point.left))
        return TangentCovariance(tangent, given)

    def of_entries(self, rows: Matrix, columns: Matrix) -> Matrix:
        """The standard errors of entries of the matrix."""
        if self.is_exact:
            return np.zeros(len(rows))
        return self._in_user_units(self.covariance.of_entries(rows, columns))

    def of_measurements(self, A: Any, shape: tuple[int, int]) -> Matrix:
        """The standard errors of <A_i, M> for sensing matrices A."""
        operator = self.as_operator(A, shape)
        if self.is_exact:
            return np.zeros(operator.measurements)
        here = self.covariance.tangent
        tangent = operator.tangent(here.U, here.V, precise=True)
        return self._in_user_units(self.covariance.of_functionals(tangent))

    def of_function(self, function: Callable[[Matrix], Any], matrix: Matrix) -> Matrix:
        """The standard errors of a differentiable function of the matrix, by the delta method.

        The derivative along each coordinate of the tangent space is numerical.
        """
        value = np.asarray(function(matrix), float)
        if self.is_exact:
            return np.zeros(value.shape)
        U, V = self.covariance.factors
        step = _STEP * float(np.linalg.norm(matrix[np.isfinite(matrix)]))
        gradient = np.zeros((*value.shape, len(U) + len(V), U.shape[1]))
        for row, column in np.ndindex(*gradient.shape[-2:]):
            changed = matrix.astype(float).copy()
            if row < len(U):
                changed[row] += step * V[:, column]
            else:
                changed[:, row - len(U)] += step * U[:, column]
            gradient[..., row, column] = (np.asarray(function(changed), float) - value) / step
        flat = gradient.reshape(-1, *gradient.shape[-2:])
        return self._in_user_units(self.covariance.of_vectors(flat)).reshape(value.shape)

    def outlier_probabilities(self) -> Matrix:
        """The probability that each measurement is an outlier, (m,)."""
        if self.is_exact:
            return np.asarray(~self.inlier, float)
        return outlier_probability(self._left_out_over_deviation())

    def _left_out_over_deviation(self) -> Matrix:
        """Residuals as if each measurement had been left out, over their standard deviation.

        With a leverage of h, a fit reduces the residual of a measurement that it uses to 1 − h, and
        predicts it without using it with a variance of σ² / (1 − h). One that it does not use is
        predicted with a variance that is added to that of its noise.
        """
        variances = self.covariance.of_own_measurements(self.operator, self.freedom)
        relative = variances / np.square(self.sizes)
        left = np.where(self.inlier, 1 - np.minimum(relative, LEVERAGE_LIMIT), 1 + relative)
        return np.asarray(self.residual / (self.deviation * self.sizes * np.sqrt(left)))

    def _in_user_units(self, variances: Matrix) -> Matrix:
        return self.scale * self.deviation * np.sqrt(np.maximum(variances, 0.0))


def recovery_error_bars(problem: Problem, result: Result, as_operator: AsOperator) -> ErrorBars:
    """The error bars of the result of a problem."""
    unit = problem.of_rank(result.rank).with_unit_rows
    factors = to_numpy(problem.row_factors).astype(float)
    residual, sizes = to_numpy(result.residual).astype(float) * factors, result.noise_sizes
    return ErrorBars(
        unit.normalized().operator,
        result.left,
        result.right,
        residual,
        ~to_numpy(result.outliers),
        unit.degrees_of_freedom,
        result.noise,
        as_operator,
        sizes=1.0 if sizes is None else to_numpy(sizes).astype(float) * factors,
        # A change of one in the normalized matrix is one of its unit; noise is in that of y.
        scale=unit.units.matrix / unit.units.measurement,
    )


def completion_error_bars(result: Result, as_operator: AsOperator) -> ErrorBars:
    """The error bars of a completion."""
    rows, columns, residual = (to_numpy(part) for part in result.entries)
    outliers = to_numpy(result.outliers)
    inlier = ~(outliers[rows, columns] if outliers.ndim == 2 else outliers)
    own_rows, own_columns = (len(np.unique(places[inlier])) for places in (rows, columns))
    left, right = (to_numpy(factor).astype(float) for factor in (result.left, result.right))
    return ErrorBars(
        Entries(rows, columns, result.shape),
        left,
        right,
        residual.astype(float),
        inlier,
        degrees_of_freedom(own_rows, own_columns, result.rank),
        result.noise,
        as_operator,
        sizes=1.0 if result.noise_sizes is None else to_numpy(result.noise_sizes).astype(float),
    )


def with_entry_error_bars(result: Result, as_operator: AsOperator) -> Result:
    """A completion with error bars that are computed when they are needed, also after pickling."""
    if not isinstance(result.observations, SampledObservations):
        return result
    plain = replace(result, accuracy=None)
    return replace(result, accuracy=partial(completion_error_bars, plain, as_operator))
