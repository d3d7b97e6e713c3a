"""The evidence for or against a result, as plain numbers, and the status that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum


def percent(share: float, digits: int) -> str:
    """A share in words, "0.52%", with some significant digits."""
    return f"{100 * share:.{digits}g}%"


class Status(Enum):
    """The status of a result: whether it is certified and, if not, why.

    ``str(status)`` is a sentence, ``status.advice`` says what to do next, and ``status.certified``
    whether the result is certified.

    Attributes
    ----------
    RECOVERED
        Certified, exact. Most measurements are fitted exactly, more than a wrong matrix could fit
        by chance.
    ESTIMATED
        Certified, up to the effect of noise. The residuals of the inliers are consistent with
        noise.
    AMBIGUOUS
        Two different matrices each explain many measurements; the second is ``alternative``.
    NOT_IDENTIFIED
        The measurements are explained, but none depends on some part of the matrix.
    UNDERDETERMINED
        There are too few measurements for this rank.
    PREDICTIVE
        Of a table without an exact rank: cells that were left out are predicted clearly better than
        by the medians of their columns. Nothing is claimed about a low-rank matrix.
    INCONCLUSIVE
        The evidence is not sufficient to certify the matrix; ``certificate.objections`` says why.

    See Also
    --------
    robustrank.Result : Has the attribute ``status``.
    robustrank.StopReason : Why a run ended early.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.Status.ESTIMATED.certified
    True
    >>> print(rr.Status.UNDERDETERMINED)
    underdetermined: there are too few measurements to determine a matrix of this rank.
    >>> rr.Status.RECOVERED.advice
    'Use the result. The rejected measurements are marked in `outliers`.'
    """

    RECOVERED = "recovered"
    ESTIMATED = "estimated"
    AMBIGUOUS = "ambiguous"
    NOT_IDENTIFIED = "not identified"
    UNDERDETERMINED = "underdetermined"
    PREDICTIVE = "predictive"
    INCONCLUSIVE = "inconclusive"

    @property
    def certified(self) -> bool:
        """Whether the result is certified: exactly (RECOVERED) or up to noise (ESTIMATED)."""
        return self in (Status.RECOVERED, Status.ESTIMATED)

    @property
    def meaning(self) -> str:
        """What happened, in one sentence."""
        return _TEXTS[self][0]

    @property
    def advice(self) -> str:
        """What to do next."""
        return _TEXTS[self][1]

    def __str__(self) -> str:
        return f"{self.value}: {self.meaning}"


_TEXTS = {
    Status.RECOVERED: (
        "most measurements are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the result. The rejected measurements are marked in `outliers`.",
    ),
    Status.ESTIMATED: (
        "most measurements are fitted, and what is left of them is consistent with noise.",
        "Use the result, with its error bars. If your measurements have no noise, or much less "
        "than was estimated, the rank is too low or there are too few measurements.",
    ),
    Status.AMBIGUOUS: (
        "two different matrices each explain many measurements, more than chance allows.",
        "Decide between the result and `alternative` by other means: measure again where they "
        "differ, or check the sensors that support each of them.",
    ),
    Status.NOT_IDENTIFIED: (
        "the measurements are explained, but no measurement depends on some part of the matrix.",
        "Use the result only for the other part. Add measurements that depend on the missing part, "
        "or pass symmetric=True if the matrix is symmetric.",
    ),
    Status.UNDERDETERMINED: (
        "there are too few measurements to determine a matrix of this rank.",
        "Do not use the result. Add measurements or lower the rank; a higher rank makes it worse.",
    ),
    Status.PREDICTIVE: (
        "cells that were left out are predicted clearly better than by the medians of their "
        "columns.",
        "Use the filled and corrected cells with their errors (`error_by_column`), and look at the "
        "wrong ones (`cells`, `rows`). Nothing is claimed about an exact rank.",
    ),
    Status.INCONCLUSIVE: (
        "the evidence is not sufficient to certify the matrix.",
        "Do not use the result. Possible causes are too few measurements for this rank, too many "
        "outliers, noise, or a rank that is too low.",
    ),
}


@dataclass(frozen=True)
class Certificate:
    """How many measurements a result fits, and how many a wrong matrix could fit by chance.

    A matrix of rank r has ``degrees_of_freedom`` free parameters and can be chosen to fit one
    measurement for each of them, whatever their values. A result that fits more than that, and more
    than half of all, is not a coincidence, provided that they determine every part of it. Only
    outliers that agree on one other matrix of the same rank could produce such a result. The guide
    states what follows from these numbers and why.

    The measurements of a completion are its observed entries. A typical measurement has the size
    ``median(|y|)``; its standard deviation is ``median(|y|) / 0.6745``. Numbers that were not
    computed are NaN.

    Attributes
    ----------
    measurements
        The number of measurements; of a completion, those that are finite.
    independent
        The number of independent measurements: repetitions of a measurement, by nearly parallel
        A_i, count as one, here and in ``exact_fits`` and ``inliers``.
    exact_fits
        The number of measurements whose residual is within ``tolerance``; of a completion with
        noise, zero.
    inliers
        The number of measurements with a positive weight in the fit.
    supporting
        The number of those that are fitted, exactly or up to noise, in the rows and columns that
        are decided.
    required
        The number of exact fits, or of supporting entries, that certifies a result: a majority that
        chance cannot explain.
    degrees_of_freedom
        r (n1 + n2 − r) for the n1 rows and n2 columns that are decided.
    tolerance
        The largest residual of an exact fit, relative to a typical measurement.
    objections
        Why the result is not certified, in words; empty if it is.
    decided_rows, decided_columns
        The number of rows and columns that the inliers determine.
    sigma
        The standard deviation of the noise, in the units of the measurements.
    noise
        The standard deviation of the noise, relative to that of a typical measurement. If the A_i
        have a large common part, it is relative to ``trivial_error``, what a trivial prediction
        leaves, which is then smaller.
    misfit
        The median absolute residual, relative to a typical measurement.
    evidence
        The log-likelihood ratio of this fit, with noise, against a chance fit.
    required_evidence
        The evidence that certifies a noisy result.
    prediction_error
        The expected error for an unused measurement, relative like ``noise``.
    matrix_error
        The expected error of the matrix due to noise, relative to its norm, in the rows and columns
        that are decided; zero without noise.
    error_bound
        A bound on this error: three times the expected one, and a component that the residuals may
        contain.
    held_out_error
        The error of predictions of measurements that were left out of the fit, relative to
        ``trivial_error``.
    expected_error
        What it should be, from the noise and the uncertainty of the factors.
    trivial_error
        The error of a trivial prediction, which knows nothing about the matrix, in the units of the
        measurements.
    held_out_share
        The share of the measurements that were left out which are predicted about as closely as
        inliers are fitted.
    structure
        The largest singular value of the residuals, relative to that with random signs: about one
        for noise, more if the rank is too low.
    noise_statistics
        Skewness of the residuals, skewness in the direction of the prediction, and growth with the
        prediction, each about standard normal for noise; their kurtosis, 3 for normal noise; and
        the number of measurements that are rejected within twice the cutoff, relative to the
        inliers. Empty if not computed.
    contested
        The rows of the matrix, then its columns (counted on after the rows), in which enough
        measurements are rejected for a second solution with half of the support.
    unidentified
        The part of the matrix that no measurement depends on, in words; empty if there is none.
    skill, least_skill
        Of a table without an exact rank, the share of the mean square error of the medians of the
        columns that predictions of left-out cells remove, and three standard errors less.

    See Also
    --------
    robustrank.Result : The result, of which this is the attribute ``certificate``.
    robustrank.Status : What follows from these numbers.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> certificate = rr.recover(planted.A, planted.y, rank=2).certificate
    >>> certificate.exact_fits, certificate.required, certificate.objections
    (380, 201, ())
    """

    measurements: int
    independent: int
    exact_fits: int
    inliers: int
    supporting: int
    required: int
    degrees_of_freedom: int
    tolerance: float
    objections: tuple[str, ...] = ()
    decided_rows: int = 0
    decided_columns: int = 0
    sigma: float = math.nan
    noise: float = math.nan
    misfit: float = math.nan
    evidence: float = math.nan
    required_evidence: float = math.nan
    prediction_error: float = math.nan
    matrix_error: float = math.nan
    error_bound: float = math.nan
    held_out_error: float = math.nan
    expected_error: float = math.nan
    trivial_error: float = math.nan
    held_out_share: float = math.nan
    structure: float = math.nan
    noise_statistics: tuple[float, ...] = ()
    contested: tuple[int, ...] = ()
    unidentified: str = ""
    skill: float = math.nan
    least_skill: float = math.nan

    @property
    def predicts(self) -> bool:
        """Whether it is that of a table without an exact rank, which is judged by predictions."""
        return self.required == 0

    @property
    def fits_exactly(self) -> bool:
        """Whether the result fits enough measurements exactly."""
        return self.exact_fits >= self.required

    @property
    def is_exact(self) -> bool:
        """Whether the result fits enough measurements exactly, with no objections."""
        return self.fits_exactly and not self.objections

    def with_objections(self, *objections: str) -> Certificate:
        """The certificate with further reasons against the result."""
        return replace(self, objections=(*self.objections, *objections))


def conclude(certificate: Certificate, *, second_solution: bool) -> Status:
    """The status of a result: the only function that makes one.

    All that speaks against a result is in ``certificate.objections``, so that a result without any
    is certified, exactly or up to noise, unless there is a second solution.
    """
    if certificate.predicts:
        predictive = certificate.least_skill > 0 and not certificate.objections
        return Status.PREDICTIVE if predictive else Status.INCONCLUSIVE
    if certificate.unidentified and certificate.required <= certificate.independent:
        return Status.NOT_IDENTIFIED
    if certificate.required > certificate.independent:
        return Status.UNDERDETERMINED
    if certificate.objections:
        return Status.INCONCLUSIVE
    if second_solution:
        return Status.AMBIGUOUS
    return Status.RECOVERED if certificate.fits_exactly else Status.ESTIMATED
