"""The noise of the inliers, from their residuals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

Vector = np.ndarray[Any, Any]


def noise_deviation(residual: Vector, freedom: int) -> float:
    """The standard deviation of normal noise, from the residuals of the inliers.

    A fit of ``freedom`` parameters reduces the residuals. Noise beyond the largest residual of an
    inlier was taken for outliers, which would make the estimate too small; it is corrected for
    that, as if the noise were normal.
    """
    beyond = len(residual) - freedom
    if beyond <= 0:
        return math.inf
    deviation = math.sqrt(float(np.sum(residual**2)) / beyond)
    if deviation == 0:
        return 0.0
    # Among so many numbers the largest is about this large even if none was cut off.
    cutoff = float(np.max(np.abs(residual))) / deviation * math.sqrt(len(residual) / beyond)
    expected = float(ndtri(1 - 0.25 / len(residual)))
    return (
        deviation / math.sqrt(_share_of_variance(max(cutoff, 1.0)))
        if cutoff < expected
        else (deviation)
    )


def left_out_over_deviation(
    residual: Vector, inlier: Vector, freedom: int, deviation: float
) -> Vector:
    """Residuals as if each measurement had been left out, over their standard deviation.

    A fit with a mean leverage of h reduces the residual of a measurement that it uses to 1 − h, and
    predicts one that it does not use with a variance of σ² / (1 − h). ``inlier`` is boolean. If
    the deviation of the noise is zero, the result is zero for inliers and infinity for outliers.
    """
    if deviation == 0:
        return np.where(inlier, 0.0, np.inf)
    remaining = max(1 - freedom / max(int(inlier.sum()), 1), 1e-3)
    left_out = np.where(inlier, residual / remaining, residual)
    return np.asarray(left_out * math.sqrt(remaining) / deviation)


def _share_of_variance(cutoff: float) -> float:
    """The variance of a standard normal number between ± ``cutoff``."""
    inside = 1 - 2 * float(ndtr(-cutoff))
    return 1 - 2 * cutoff * math.exp(-(cutoff**2) / 2) / math.sqrt(2 * math.pi) / inside


def noise_is_equal(residual: Vector, factors: Vector) -> bool:
    """Whether the residuals, times ``factors``, are less alike than without them.

    The factors make the norms of all A_i equal. Noise either has the same size for all
    measurements or is proportional to the norm.
    """
    with np.errstate(divide="ignore"):
        equal = math.log(float(np.mean(residual**2)) + 1e-300)
        scaled = math.log(float(np.mean((residual * factors) ** 2)) + 1e-300)
    return equal < scaled - 2 * float(np.mean(np.log(factors)))
