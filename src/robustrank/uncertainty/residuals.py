"""The probability that each measurement is an outlier, given its residual relative to the noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from robustrank.certificate import CLEARLY

Vector = np.ndarray[Any, Any]


def outlier_probability(residual: Vector) -> Vector:
    """The posterior probability of being an outlier, (m,).

    ``residual`` is that of each measurement as if it had been left out of the fit, divided by the
    standard deviation that it would have as an inlier. Beyond five of them all are outliers. Up to
    there, the residuals of outliers are as dense everywhere: their share is the most likely one, or
    zero unless the likelihood of the residuals is larger by more than one number could explain.
    """
    magnitudes = np.abs(residual)
    near = magnitudes <= CLEARLY
    share = _share_of_outliers(magnitudes[near])
    good, bad = (1 - share) * _density(magnitudes[near]), share / CLEARLY
    probability = np.ones(len(magnitudes))
    probability[near] = bad / (good + bad)
    return probability


def _density(magnitudes: Vector) -> Vector:
    """That of the absolute value of a standard normal number."""
    return np.asarray(math.sqrt(2 / math.pi) * np.exp(-(magnitudes**2) / 2))


def _share_of_outliers(near: Vector) -> float:
    """The share of values that are uniform up to the limit; the others are normal."""
    good, bad = _density(near), 1 / CLEARLY

    def slope(share: float) -> float:
        return float(np.sum((bad - good) / (share * bad + (1 - share) * good)))

    if not len(near) or slope(0.0) <= 0:
        return 0.0
    share = 0.5 if slope(0.5) >= 0 else float(brentq(slope, 0.0, 0.5))
    gain = float(np.sum(np.log1p(share * (bad / good - 1))))
    return share if gain > math.log(len(near)) / 2 else 0.0
