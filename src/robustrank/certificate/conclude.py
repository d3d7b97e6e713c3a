"""From the evidence to a status: the only place where a result is called RECOVERED or SETTLED."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.certificate.counting import exact_tolerance, is_exact_fit, required_fits
from robustrank.certificate.determination import all_are_cross_checked, determines_the_answer
from robustrank.certificate.noise import fit_noise
from robustrank.linalg import TangentMap, lower_median, weighted
from robustrank.problem import Problem
from robustrank.result import Certificate, Status

# Residuals are called noise only below this share of a typical measurement,
_NOISE_LIMIT = 0.2
# and only with this much evidence, which grows with the degrees of freedom: near the information
# limit a wrong matrix that rejects the measurements it does not fit leaves small residuals too.
_EVIDENCE, _EVIDENCE_PER_DEGREE = 20.0, 0.25


def certify(
    problem: Problem,
    residual: Array,
    inliers: Array,
    ended: Status,
    linearize: Callable[[], TangentMap],
) -> tuple[Certificate, Status]:
    """The certificate and the status of a result.

    ``residual`` is y − A(result) and ``inliers`` is one or zero, both (m,); ``ended`` says how the
    solver stopped. ``linearize`` gives the tangent map at the result, with orthonormal factors and
    in normalized units; it is called only if there is a claim to check.
    """
    with np.errstate(over="ignore"):  # residuals of a diverged run can have any size
        certificate = _collect(problem, residual, inliers)
    status = conclude(ended, certificate)
    if status.converged:
        fitted = _fitted(problem, residual, inliers)
        tangent = linearize()
        determined = determines_the_answer(tangent, fitted) and all_are_cross_checked(
            tangent, fitted
        )
        certificate = replace(certificate, determined=determined)
        status = conclude(ended, certificate)
    return certificate, status


def conclude(ended: Status, certificate: Certificate) -> Status:
    """The status that follows from how the solver stopped and from the certificate."""
    if ended in (Status.STOPPED, Status.INTERRUPTED, Status.DIVERGED):
        return ended
    if certificate.holds:
        return Status.RECOVERED
    if ended is Status.TIME_LIMIT:
        return ended
    if certificate.required > certificate.measurements:
        return Status.UNDERDETERMINED
    if ended is not Status.SETTLED:
        return ended
    beyond_chance = _EVIDENCE + _EVIDENCE_PER_DEGREE * certificate.degrees_of_freedom
    consistent = certificate.noise <= _NOISE_LIMIT and certificate.evidence >= beyond_chance
    return Status.SETTLED if consistent and certificate.determined else Status.UNEXPLAINED


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
        prediction_error=noise.prediction_error,
    )


def _fitted(problem: Problem, residual: Array, inliers: Array) -> Array:
    """The measurements that a claim is based on: exact fits, or the inliers if there is noise."""
    xp = namespace(residual)
    exact = is_exact_fit(problem, residual)
    enough = int(xp.count_nonzero(exact)) > problem.degrees_of_freedom
    return xp.astype(exact if enough else inliers > 0, residual.dtype)
