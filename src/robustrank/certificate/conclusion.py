"""From the evidence to a status: the only place where a result is certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.certificate.counting import exact_tolerance, is_exact_fit, required_fits
from robustrank.certificate.determination import all_are_cross_checked, determines_the_matrix
from robustrank.certificate.noise import fit_noise
from robustrank.linalg import TangentMap, lower_median, weighted
from robustrank.problem import Problem
from robustrank.result import Certificate, Status, StopReason

# The largest noise level of a certified result, relative to a typical measurement.
_NOISE_LIMIT = 0.2
# The evidence that certifies a noisy result. It grows with the degrees of freedom, because near the
# information limit a wrong matrix that rejects the measurements it does not fit has small residuals
# too.
_EVIDENCE, _EVIDENCE_PER_DEGREE = 20.0, 0.25


def certify(
    problem: Problem,
    residual: Array,
    inliers: Array,
    reason: StopReason,
    linearize: Callable[[], TangentMap],
) -> tuple[Certificate, Status]:
    """The certificate and the status of a result.

    ``residual`` is y − A(result) and ``inliers`` is one or zero, both (m,); ``reason`` is why the
    solver stopped. ``linearize`` returns the tangent map at the result, with orthonormal factors
    and in normalized units; it is called only if the result would be certified.
    """
    with np.errstate(over="ignore"):  # residuals of a diverged run can have any size
        certificate = _collect(problem, residual, inliers)
    status = conclude(reason, certificate)
    if status.certified:
        fitted = _fitted(problem, residual, inliers)
        tangent = linearize()
        determined = determines_the_matrix(tangent, fitted) and all_are_cross_checked(
            tangent, fitted
        )
        certificate = replace(certificate, determined=determined)
        status = conclude(reason, certificate)
    return certificate, status


def conclude(reason: StopReason, certificate: Certificate) -> Status:
    """The status that follows from the certificate and from why the solver stopped."""
    if reason in (StopReason.CALLBACK, StopReason.INTERRUPTED, StopReason.DIVERGED):
        return reason.status
    if certificate.is_exact:
        return Status.RECOVERED
    if reason is StopReason.TIME_LIMIT:
        return reason.status
    if certificate.required > certificate.measurements:
        return Status.UNDERDETERMINED
    if reason is not StopReason.CONVERGED:
        return reason.status
    consistent = (
        certificate.noise <= _NOISE_LIMIT and certificate.evidence >= certificate.required_evidence
    )
    determined = certificate.determined is not False
    return Status.SETTLED if consistent and determined else reason.status


def _collect(problem: Problem, residual: Array, inliers: Array) -> Certificate:
    xp = namespace(residual)
    count = int(xp.count_nonzero(inliers))
    noise = fit_noise(problem, weighted(residual, inliers), count)
    return Certificate(
        exact_fits=int(xp.count_nonzero(is_exact_fit(problem, residual))),
        required=required_fits(problem),
        inliers=count,
        measurements=problem.operator.measurements,
        degrees_of_freedom=problem.degrees_of_freedom,
        tolerance=exact_tolerance(problem),
        misfit=float(lower_median(xp.abs(residual))) / problem.scale,
        noise=noise.level,
        sigma=noise.level * float(problem.typical_deviation),
        evidence=noise.evidence,
        required_evidence=_EVIDENCE + _EVIDENCE_PER_DEGREE * problem.degrees_of_freedom,
        prediction_error=noise.prediction_error,
    )


def _fitted(problem: Problem, residual: Array, inliers: Array) -> Array:
    """The measurements that the result is based on: exact fits, or inliers if there is noise."""
    xp = namespace(residual)
    exact = is_exact_fit(problem, residual)
    enough = int(xp.count_nonzero(exact)) > problem.degrees_of_freedom
    return xp.astype(exact if enough else inliers > 0, residual.dtype)
