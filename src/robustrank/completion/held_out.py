"""Does a fit predict entries that were left out of it?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robustrank.backend import like, namespace
from robustrank.completion.noisy_fit import NoisyFit
from robustrank.completion.sample import Sample, robust_deviation
from robustrank.linalg import half_normal_quantile, lower_median, sample_quantile

_SHARE = 0.1  # of the entries are left out
_SURPLUS = 2.5  # standard errors of a deviation, relative to it and for one entry


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors of predictions of entries that were left out of the fit.

    Deviations are robust: those of normal errors with the same median of absolute values, where
    the outliers are the largest errors.
    """

    count: int  # of the entries
    error: float  # the deviation of the errors
    expected: float  # what the noise and the uncertainty of the factors should leave
    trivial: float  # what the best constant leaves
    noise: float  # the deviation of the noise in the fit

    @property
    def matrix_error(self) -> float:
        """An upper bound on the error of the matrix, relative to how much its entries vary.

        What the errors of the predictions have beyond the noise is due to the matrix.
        """
        error = self.error * (1 + _SURPLUS / math.sqrt(self.count))
        variation = self.trivial**2 - self.noise**2
        excess = max(error**2 - self.noise**2, 0.0)
        return math.sqrt(excess / variation) if variation > 0 else math.inf


def split(sample: Sample, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Two parts of a sample: for the fit, and the entries that are left out of it."""
    count = max(1, round(_SHARE * sample.size))
    drawn = np.ones(sample.size, bool)
    drawn[rng.choice(sample.size, count, replace=False)] = False
    kept = namespace(sample.row_values).asarray(drawn, device=like(sample.row_values)["device"])
    return sample.subset(kept), sample.subset(~kept)


def held_out_errors(left_out: Sample, fit: NoisyFit) -> HeldOut:
    """The errors of a fit at entries that were left out of it."""
    at, values = left_out.by_rows, left_out.row_values
    xp = namespace(values)
    p, q = xp.take(fit.left, at.owners, axis=0), xp.take(fit.right, at.others, axis=0)
    errors = values - xp.sum(p * q, axis=1)
    left = xp.take(fit.left_covariances, at.owners, axis=0)
    right = xp.take(fit.right_covariances, at.others, axis=0)
    uncertainty = (
        xp.sum(p[:, :, None] * right * p[:, None, :], axis=(1, 2))
        + xp.sum(q[:, :, None] * left * q[:, None, :], axis=(1, 2))
        + xp.sum(left * right, axis=(1, 2))
    )
    return HeldOut(
        count=left_out.size,
        error=float(sample_quantile(xp.abs(errors), fit.inliers / 2)) / half_normal_quantile(0.5),
        expected=math.sqrt(fit.noise**2 + float(lower_median(uncertainty))),
        trivial=robust_deviation(values - lower_median(values)),
        noise=fit.noise,
    )
