"""Are the residuals of the inliers consistent with noise, and do they look like it?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robustrank.certificate.evidence import log_choices

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class NoiseFit:
    """N independent inliers of m measurements, fitted with d degrees of freedom up to noise."""

    deviation: float  # of residual / spread, the standard deviation of the noise
    null_deviation: float  # what the best trivial prediction leaves
    inliers: int
    measurements: int
    degrees_of_freedom: int
    log_gains: Values  # of each independent inlier: log(null deviation / its noise)

    @property
    def level(self) -> float:
        """The noise relative to what a trivial prediction leaves; ∞ if that leaves nothing."""
        return self.deviation / self.null_deviation if self.null_deviation > 0 else math.inf

    @property
    def evidence(self) -> float:
        """The log-likelihood of the fit relative to a trivial prediction.

        The fit could have been chosen to fit the d most informative inliers; only the others are
        evidence. The freedom to choose which measurements to reject counts against the fit.
        """
        if self.inliers <= self.degrees_of_freedom or not math.isfinite(self.deviation):
            return -math.inf
        gains = np.sort(self.log_gains)[: -self.degrees_of_freedom]
        total, chosen = np.asarray([self.measurements, self.inliers], float)
        return float(np.sum(gains) - log_choices(total[None], chosen[None])[0])

    @property
    def prediction_error(self) -> float:
        """The expected error for an unused measurement: generalized cross-validation."""
        beyond = self.inliers - self.degrees_of_freedom
        return self.level * math.sqrt(self.inliers / beyond) if beyond > 0 else math.inf


# Of a standard normal statistic, one in two thousand is larger.
_LARGEST_STATISTIC = 3.5
# Noise with the heavy tails of Student's t with three degrees of freedom, cut off as inliers are,
# has a kurtosis below 6; noise whose size varies by a factor of three, below 15.
_LARGEST_KURTOSIS = 15.0
_MOST_NEAR = 0.05
_CONSPICUOUS, _USUAL_KURTOSIS = 1.5, (2.55, 5.0)


class NoiseStatistics(NamedTuple):
    """Traces of outliers among the inliers; the first three are about standard normal for noise."""

    skewness: float  # offsets
    slant: float  # the sign of large residuals is that of the prediction, or the opposite one
    growth: float  # of |residual| with |prediction|: wrong gains
    kurtosis: float  # 3 for normal noise
    near: float  # measurements rejected within twice the cutoff, relative to the inliers

    def look_like_noise(self) -> bool:
        """Whether noise produces such values.

        Noise may be smaller where the prediction is large, but wrong gains make it larger there.
        """
        return (
            max(abs(self.skewness), abs(self.slant), self.growth) <= _LARGEST_STATISTIC
            and self.kurtosis <= _LARGEST_KURTOSIS
            and self.near <= _MOST_NEAR
        )

    def are_inconspicuous(self) -> bool:
        """Whether there is no sign of anything but noise, not even a weak one."""
        return (
            max(abs(self.skewness), abs(self.slant), self.growth) <= _CONSPICUOUS
            and _USUAL_KURTOSIS[0] <= self.kurtosis <= _USUAL_KURTOSIS[1]
        )


def noise_statistics(
    residual: Values, predicted: Values, inlier: np.ndarray[Any, np.dtype[np.bool_]]
) -> NoiseStatistics:
    """How much the residuals differ from noise; ``inlier`` is boolean."""
    if not inlier.any():
        return NoiseStatistics(0.0, 0.0, 0.0, 0.0, 0.0)
    magnitudes, cutoff = np.abs(residual), float(np.max(np.abs(residual)[inlier]))
    near = np.count_nonzero((magnitudes > cutoff) & (magnitudes <= 2 * cutoff))
    residual, predicted = residual[inlier], predicted[inlier]
    cubes = residual**3
    spread = math.sqrt(float(np.sum(cubes**2)))
    if len(residual) < 3 or spread == 0:
        return NoiseStatistics(0.0, 0.0, 0.0, 0.0, 0.0)
    growth = np.corrcoef(_ranks(np.abs(residual)), _ranks(np.abs(predicted)))[0, 1]
    return NoiseStatistics(
        skewness=float(np.sum(cubes)) / spread,
        slant=float(np.sum(cubes * np.sign(predicted))) / spread,
        growth=float(growth) * math.sqrt(len(residual)),
        kurtosis=float(np.mean(residual**4) / np.mean(residual**2) ** 2),
        near=near / len(residual),
    )


def _ranks(values: Values) -> Values:
    return np.argsort(np.argsort(values, kind="stable")).astype(float)
