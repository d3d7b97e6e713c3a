"""Standard errors of a fitted matrix, of its measurements, and of functions of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.operators import Operator
from robustrank.uncertainty.covariance import TangentCovariance
from robustrank.uncertainty.residuals import outlier_probability

Matrix = np.ndarray[Any, Any]
AsOperator = Callable[[Any, tuple[int, int]], Operator]

_STEP = 1e-6  # of a numerical derivative, relative to the norm of the matrix


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """What is known about the accuracy of a result.

    Parameters
    ----------
    covariance
        That of the matrix in units of the noise variance.
    deviation
        The standard deviation of the noise of a measurement with a weight of one.
    scale
        The unit of the matrix to which ``covariance`` refers.
    redundancy
        The number of inliers minus that of the degrees of freedom.
    scaled
        (m,) each residual as if it had been left out, over its standard deviation. If the fit is
        exact, zero for inliers and infinity for outliers.
    as_operator
        Makes an operator of sensing matrices that a user passes.
    """

    covariance: Callable[[], TangentCovariance]
    deviation: float
    scale: float
    redundancy: int
    scaled: Matrix
    as_operator: AsOperator

    @property
    def is_exact(self) -> bool:
        """Whether there is no noise."""
        return self.deviation == 0

    def of_entries(self, rows: Matrix, columns: Matrix) -> Matrix:
        """The standard errors of entries of the matrix."""
        if self.is_exact:
            return np.zeros(len(rows))
        return self._in_user_units(self.covariance().of_entries(rows, columns))

    def of_measurements(self, A: Any, shape: tuple[int, int]) -> Matrix:
        """The standard errors of <A_i, M> for sensing matrices A."""
        operator = self.as_operator(A, shape)
        if self.is_exact:
            return np.zeros(operator.measurements)
        covariance = self.covariance()
        tangent = operator.tangent(covariance.tangent.U, covariance.tangent.V, precise=True)
        return self._in_user_units(covariance.of_functionals(tangent))

    def of_function(self, function: Callable[[Matrix], Any], matrix: Matrix) -> Matrix:
        """The standard errors of a differentiable function of the matrix, by the delta method.

        The derivative along each coordinate of the tangent space is numerical.
        """
        value = np.asarray(function(matrix), float)
        if self.is_exact:
            return np.zeros(value.shape)
        covariance = self.covariance()
        U, V = (to_numpy(f).astype(float) for f in (covariance.tangent.U, covariance.tangent.V))
        step = _STEP * float(np.linalg.norm(matrix[np.isfinite(matrix)]))
        gradient = np.zeros((*value.shape, len(U) + len(V), U.shape[1]))
        for place in np.ndindex(*gradient.shape[-2:]):
            row, column = place
            changed = matrix.astype(float).copy()
            if row < len(U):
                changed[row] += step * V[:, column]
            else:
                changed[:, row - len(U)] += step * U[:, column]
            gradient[..., row, column] = (np.asarray(function(changed), float) - value) / step
        flat = gradient.reshape(-1, *gradient.shape[-2:])
        return self._in_user_units(covariance.of_vectors(flat)).reshape(value.shape)

    def outlier_probabilities(self) -> Matrix:
        """The probability that each measurement is an outlier, (m,)."""
        if self.is_exact:
            return np.asarray(np.isinf(self.scaled), float)
        return outlier_probability(self.scaled)

    def _in_user_units(self, variances: Matrix) -> Matrix:
        return self.scale * self.deviation * np.sqrt(np.maximum(variances, 0.0))
