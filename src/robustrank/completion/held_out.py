"""Does a fit predict entries that were left out of it?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, like, namespace
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
    noise: float  # the part of the expected errors that is due to the noise

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
    values = left_out.row_values
    xp = namespace(values)
    prediction = left_out.by_rows.dot(*fit.factors)
    errors, uncertainty = values - prediction, sum(fit.variances_of_predictions(left_out))
    noise = fit.noise * fit.model.sizes(prediction, left_out.conditions)
    # What is typical: of rows with few entries, the prior is most of what is known.
    deviation = xp.sqrt(noise**2 + lower_median(uncertainty))

    def typical(sizes: Array) -> float:
        return float(sample_quantile(xp.abs(sizes), fit.inliers / 2)) / half_normal_quantile(0.5)

    error = typical(errors)
    relative = typical(errors / deviation)
    expected = error / relative if relative > 0 else float(lower_median(deviation))
    due_to_noise = float(lower_median((noise / deviation) ** 2))
    return HeldOut(
        count=left_out.size,
        error=error,
        expected=expected,
        trivial=robust_deviation(values - lower_median(values)),
        noise=expected * math.sqrt(due_to_noise),
    )
