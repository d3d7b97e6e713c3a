"""The evidence for or against a result, as plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """How many measurements a result fits, and how many a wrong matrix could fit by chance.

    A matrix of rank r has ``degrees_of_freedom`` free parameters and can be chosen to fit that many
    measurements, whatever their values. A result that fits more than that, and more than half of
    all, is not a coincidence, provided that they determine every part of it. Only outliers that
    agree on one other matrix of the same rank could produce such a result. The guide
    states what follows from these numbers and why.

    A typical measurement has the size ``median(|y|)``; its standard deviation is
    ``median(|y|) / 0.6745``.

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
    independent
        The number of independent measurements: repetitions of a measurement, by nearly parallel
        A_i, count as one, here and in ``exact_fits`` and ``inliers``.
    degrees_of_freedom
        r (n1 + n2 − r).
    tolerance
        The largest residual of an exact fit, relative to a typical measurement.
    misfit
        The median absolute residual, relative to a typical measurement.
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
    matrix_error
        The expected error of the matrix due to noise, relative to its norm; NaN if not computed.
    held_out_error
        The error of predictions of measurements that were left out of the fit, relative to what
        a trivial prediction leaves; NaN if not computed.
    held_out_share
        The share of the measurements that were left out which are predicted about as closely as
        inliers are fitted; NaN if not computed.
    noise_statistics
        Skewness of the residuals, skewness in the direction of the prediction, and growth with the
        prediction, each about standard normal for noise; empty if not computed.
    contested
        The rows of the matrix, then its columns (counted on after the rows), of which a second
        answer could explain at least half as many measurements, because so many are rejected.
    unidentified
        The part of the matrix that no measurement depends on, in words; empty if there is none.
    objections
        Why the result is not certified although the numbers would allow it, in words.

    See Also
    --------
    robustrank.Recovery : The result, of which this is the attribute ``certificate``.
    robustrank.Status : What follows from these numbers.
    robustrank.CompletionCertificate : The numbers for a completion.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> certificate = rr.recover(planted.A, planted.y, rank=2).certificate
    >>> certificate.exact_fits, certificate.required, certificate.is_exact
    (380, 201, True)
    """

    exact_fits: int
    required: int
    inliers: int
    measurements: int
    independent: int
    degrees_of_freedom: int
    tolerance: float
    misfit: float
    noise: float
    sigma: float
    evidence: float
    required_evidence: float
    prediction_error: float
    matrix_error: float = math.nan
    held_out_error: float = math.nan
    held_out_share: float = math.nan
    noise_statistics: tuple[float, ...] = ()
    contested: tuple[int, ...] = ()
    unidentified: str = ""
    objections: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the result fits enough measurements exactly, with no objections."""
        return self.exact_fits >= self.required and not self.objections
