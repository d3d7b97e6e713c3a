"""The evidence for or against a result, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """How many measurements a result fits, and how many a wrong matrix could fit by chance.

    A matrix of rank r has ``degrees_of_freedom`` free parameters and can be chosen to fit that many
    measurements, whatever their values. A result that fits more than that, and more than half of
    all, is no coincidence, provided that they determine every part of it. Only outliers that agree
    on one other matrix of the same rank could produce such a result.

    ``robustrank.certificate`` computes these numbers and docs/algorithm.md derives them.
    """

    exact_fits: int  # measurements with a residual within ``tolerance``
    required: int  # exact fits that are needed to rule out chance
    inliers: int  # measurements with a positive weight in the fit
    measurements: int
    degrees_of_freedom: int
    tolerance: float  # of an exact fit, relative to a typical measurement
    misfit: float  # median |residual| relative to median |y|
    noise: float  # standard deviation of the noise, relative to that of a typical measurement
    sigma: float  # standard deviation of the noise, in the units of y
    evidence: float  # log-likelihood ratio of this fit, with noise, against a chance fit
    prediction_error: float  # expected error for an unused measurement, relative like ``noise``
    determined: bool = True  # whether the fitted measurements determine every part of the matrix

    @property
    def holds(self) -> bool:
        """Whether the result is certified as exact."""
        return self.exact_fits >= self.required and self.determined
