"""Residuals relative to the noise, and the probability that each measurement is an outlier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.linalg import share_left

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
    remaining = share_left(freedom, int(inlier.sum()))
    left_out = np.where(inlier, residual / remaining, residual)
    return np.asarray(left_out * math.sqrt(remaining) / deviation)


# The residuals of outliers are a mixture of normal distributions. Their sizes, in standard
# deviations of the noise, begin with the second number; each is the factor times the one before.
_FACTOR, _SMALLEST = 1.6, 3.0
_MOST_SIZES = 60
_STEPS, _FIRST_SHARE = 100, 0.1
_LARGEST = 1e150  # larger residuals, in standard deviations, are as good as this
# Outliers are at most this share.
_MOST_OUTLIERS = 0.5


def outlier_probability(residual: Vector) -> Vector:
    """The posterior probability of being an outlier, (m,), by expectation–maximization.

    ``residual`` is that of each measurement as if it had been left out of the fit, divided by the
    standard deviation that it would have as an inlier.
    """
    scaled = np.minimum(np.abs(residual), _LARGEST)
    largest = float(scaled.max(initial=_SMALLEST))
    count = min(math.ceil(math.log(largest / _SMALLEST, _FACTOR)) + 1, _MOST_SIZES)
    # Evenly on a logarithmic axis: in coarser steps if the residuals have very different sizes.
    sizes = np.concatenate([[1.0], np.geomspace(_SMALLEST, largest, count)])
    log_density = -0.5 * (scaled[:, None] / sizes) ** 2 - np.log(sizes)
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    shares = np.concatenate([[1 - _FIRST_SHARE], np.full(count, _FIRST_SHARE / count)])
    for _ in range(_STEPS):
        posterior = density * shares
        posterior /= posterior.sum(axis=1, keepdims=True)
        shares = posterior.mean(axis=0)
        outlying = float(shares[1:].sum())
        if outlying > _MOST_OUTLIERS:
            shares[1:] *= _MOST_OUTLIERS / outlying
            shares[0] = 1 - _MOST_OUTLIERS
    return np.asarray(1 - posterior[:, 0])
