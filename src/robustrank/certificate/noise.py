"""Are the residuals of the inliers consistent with noise, beyond what chance would give?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array
from robustrank.linalg import frobenius_norm
from robustrank.problem import Problem


@dataclass(frozen=True)
class NoiseFit:
    """N inliers of m measurements, fitted with d degrees of freedom up to noise.

    ``level`` is the standard deviation of the noise relative to that of a typical measurement.
    """

    level: float
    inliers: int
    measurements: int
    degrees_of_freedom: int

    @property
    def evidence(self) -> float:
        """The log-likelihood of the fit relative to a chance fit, which leaves a level of one.

        Each of the N − d inliers beyond the degrees of freedom is fitted to the noise level. The
        freedom to choose which measurements to reject counts against the fit.
        """
        beyond = self.inliers - self.degrees_of_freedom
        if beyond <= 0 or not 0 <= self.level < math.inf:
            return -math.inf
        choices = (
            math.lgamma(self.measurements + 1)
            - math.lgamma(self.inliers + 1)
            - math.lgamma(self.measurements - self.inliers + 1)
        )
        return -beyond * math.log(max(self.level, 1e-300)) - choices

    @property
    def prediction_error(self) -> float:
        """The expected error for an unused measurement: generalized cross-validation."""
        beyond = self.inliers - self.degrees_of_freedom
        return self.level * math.sqrt(self.inliers / beyond) if beyond > 0 else math.inf


def fit_noise(problem: Problem, inlier_residual: Array, inliers: int) -> NoiseFit:
    """The noise level estimated from the residuals of the inliers; the others must be zero.

    A fit with d degrees of freedom to N inliers leaves N − d of them to estimate the noise.
    """
    freedom = problem.degrees_of_freedom
    level = math.inf
    if inliers > freedom:
        deviation = float(frobenius_norm(inlier_residual)) / math.sqrt(inliers - freedom)
        level = deviation / float(problem.typical_deviation)
    return NoiseFit(level, inliers, problem.operator.measurements, freedom)
