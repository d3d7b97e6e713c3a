"""Residuals as if each measurement had been left out of the fit."""

from __future__ import annotations

from robustrank.backend import Array, namespace

# With very few inliers the mean leverage is only known roughly; no leverage is taken to be larger.
_MOST_LEVERAGE = 0.95


def mean_leverage(weights: Array, degrees_of_freedom: int) -> Array:
    """The mean share of a fitted value that is due to the measurement itself: d/N."""
    xp = namespace(weights)
    least = degrees_of_freedom / _MOST_LEVERAGE
    return degrees_of_freedom / xp.clip(xp.sum(weights, axis=-1), min=least)


def leave_one_out_residuals(magnitudes: Array, weights: Array, leverage: Array) -> Array:
    """|residual| of a fit with these weights, corrected for the leverage of each measurement.

    The residual of an inlier is 1 − leverage times what it would be without that inlier. Without
    the correction, inliers would look too good and rejected measurements too bad, and both would
    stay as they are.
    """
    return magnitudes / (1 - leverage[..., None] * weights)
