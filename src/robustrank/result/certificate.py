"""The evidence for or against a result, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """How many measurements a result fits, and how many a wrong matrix could fit by chance.

    A matrix of rank r has ``degrees_of_freedom`` free parameters and can be chosen to fit that many
    measurements, whatever their values. A result that fits more than that, and more than half of
    all, is not a coincidence, provided that they determine every part of it. Only outliers that
    agree on one other matrix of the same rank could produce such a result. The package
    ``robustrank.certificate`` computes these numbers, and docs/algorithm.md derives them.

    A typical measurement has the size median |y|; its standard deviation is median |y| / 0.6745.

    Attributes
    ----------
    exact_fits
        The number of measurements whose residual is within ``tolerance``.
    required
        The number of exact fits that certifies a result: a majority that chance cannot explain.
    inliers
        The number of measurements with a positive weight in the fit.
    measurements
        The number of measurements.
    degrees_of_freedom
        r (n1 + n2 − r).
    tolerance
        The largest residual of an exact fit, relative to a typical measurement.
    misfit
        The median |residual| relative to a typical measurement.
    noise
        The standard deviation of the noise, relative to that of a typical measurement.
    sigma
        The standard deviation of the noise, in the units of y.
    evidence
        The log-likelihood ratio of this fit, with noise, against a chance fit.
    required_evidence
        The evidence that certifies a noisy result.
    prediction_error
        The expected error for an unused measurement, relative like ``noise``.
    determined
        Whether the fitted measurements determine every part of the matrix; None if not tested,
        because there was nothing to certify.
    """

    exact_fits: int
    required: int
    inliers: int
    measurements: int
    degrees_of_freedom: int
    tolerance: float
    misfit: float
    noise: float
    sigma: float
    evidence: float
    required_evidence: float
    prediction_error: float
    determined: bool | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the result fits enough measurements exactly, and they determine the matrix."""
        return self.exact_fits >= self.required and self.determined is not False
