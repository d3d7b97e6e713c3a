"""Residuals as if each measurement had been left out of the fit."""

from __future__ import annotations

from robustrank.backend import Array, few_on_host, namespace
from robustrank.linalg import TangentMap, unit_leverages
from robustrank.solvers.weights import beside

# With very few inliers the mean leverage is only known roughly; no leverage is taken to be larger.
_MOST_MEAN_LEVERAGE = 0.95
_MOST_LEVERAGE = 0.99


def mean_leverage(weights: Array, degrees_of_freedom: int) -> Array:
    """The mean share of a fitted value that is due to the measurement itself: d/N."""
    least = degrees_of_freedom / _MOST_MEAN_LEVERAGE
    total = few_on_host(namespace(weights).sum(weights, axis=-1), 0)
    return degrees_of_freedom / namespace(total).clip(total, min=least)


def leverages(tangent: TangentMap, weights: Array, degrees_of_freedom: int) -> Array:
    """The leverage of each measurement in weighted least squares, (m,).

    For large problems it is taken to be in proportion to the weight.
    """
    xp = namespace(weights)
    mean = weights * beside(mean_leverage(weights, degrees_of_freedom), weights)
    unit = unit_leverages(tangent, weights)
    if unit is None:
        return mean
    own = weights * unit
    return xp.clip(xp.where(xp.isfinite(own), own, mean), min=0.0, max=_MOST_LEVERAGE)


def leave_one_out_residuals(residuals: Array, leverages: Array) -> Array:
    """Residuals of a fit, corrected for the leverage of each measurement.

    The residual of an inlier is 1 − leverage times what it would be without that inlier. Without
    the correction, inliers would look too good and rejected measurements too bad, and both would
    stay as they are.
    """
    return residuals / (1 - leverages)
