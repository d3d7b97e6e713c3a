"""Residuals relative to the noise, and which noise they look like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]


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


def noise_is_equal(residual: Vector, factors: Vector) -> bool:
    """Whether the residuals, times ``factors``, are less alike than without them.

    The factors make the norms of all A_i equal. Noise either has the same size for all
    measurements or is proportional to the norm.
    """
    with np.errstate(divide="ignore"):
        equal = math.log(float(np.mean(residual**2)) + 1e-300)
        scaled = math.log(float(np.mean((residual * factors) ** 2)) + 1e-300)
    return equal < scaled - 2 * float(np.mean(np.log(factors)))
