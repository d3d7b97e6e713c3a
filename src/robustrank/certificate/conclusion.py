"""The evidence for or against a result: everything that a certificate demands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import Array, as_generator, like, namespace, to_numpy
from robustrank.certificate.determination import error_per_deviation, unidentified_part
from robustrank.certificate.evidence import (
    NoiseStatistics,
    enough_fits,
    error_bound,
    evidence_of,
    exact_tolerance,
    is_exact_fit,
    largest_structure_of_noise,
    noise_statistics,
    prediction_error,
    required_fits,
    residual_structure,
    with_random_signs,
)
from robustrank.certificate.held_out import predict_held_out
from robustrank.certificate.parts import (
    Labels,
    Selection,
    groups_with_majority,
    repetitions,
)
from robustrank.certificate.support import UNDETERMINED, Informing, Support, supported_part
from robustrank.linalg import (
    LEVERAGE_LIMIT,
    TangentMap,
    TangentView,
    frobenius_norm,
    half_normal_quantile,
    leverages,
    lower_median,
    share_left,
)
from robustrank.problem import Problem
from robustrank.result import Certificate, StopReason, percent

# The largest noise level of a certified result, and the largest error of a prediction of a
# measurement that was left out, relative to what a trivial prediction leaves. The first is also the
# largest expected error of a certified matrix, relative to its norm.
NOISE_LIMIT = 0.1
HELD_OUT_LIMIT = 0.3
# The inliers beyond the degrees of freedom that are needed to see what the noise looks like.
_REDUNDANT = 30
# More than half of the measurements must be inliers, by this margin.
_MARGIN = 0.01
# A measurement that was left out is predicted if its error is at most 1.25 times what the largest
# residual of an inlier would be without its own influence on the fit.
_PREDICTED = 1.25
_EQUAL = "most measurements are exactly equal, which noise does not produce"
UNTESTED = "the run ended before the result was tested"
NOT_NOISE = "the residuals of the inliers do not look like noise"
STRUCTURED = (
    "the residuals have structure: a higher rank may fit better, or errors depend on each other"
)
# The evidence that certifies a noisy result: chance explains it in one of 10⁸ cases. A wrong matrix
# that rejects what it does not fit may have more; it does not predict what was left out of the fit.
_EVIDENCE = 20.0
_OF_ANY_SIZE = np.errstate(over="ignore", invalid="ignore")  # residuals of a diverged run are


@dataclass(frozen=True, eq=False)
class Fit:
    """A result as the certificate sees it: in units in which all A_i have the same norm."""

    problem: Problem
    residual: Array  # (m,)
    weights: Array  # (m,) of the final fit; positive for inliers
    spread: Array  # (m,) the relative size of the noise of each measurement
    norm: float  # of the matrix, in normalized units
    # (m,) boolean: in groups that were rejected as a whole, by no cutoff of their residuals.
    without: Array | None = None


def count(fit: Fit, reason: StopReason | None, labels: Labels | None = None) -> Certificate:
    """What counting says for or against a result, without the expensive tests.

    ``reason`` is why the solver ended before it converged. Measurements with the same label count
    as one; by default, each has its own.
    """
    certificate = _count(fit, labels)
    return certificate.with_objections(*_objections(certificate, reason))


def untested(fit: Fit) -> Certificate:
    """The certificate of a result that there is no time to test, which is not certified."""
    return _count(fit, quick=True).with_objections(UNTESTED)


@_OF_ANY_SIZE
def examine(
    fit: Fit, tangent: TangentMap, reason: StopReason | None
) -> tuple[Certificate, Support | None]:
    """The certificate of a result to which ``count`` does not object, and what is decided.

    ``tangent`` is linearized at orthonormal factors, in normalized units. The result is certified
    if there are no objections.
    """
    labels = repetitions(fit.problem.operator, tangent)
    certificate = count(fit, reason, labels)
    if certificate.objections:
        return certificate, None
    return _examined(fit, tangent, labels, certificate)


def _objections(certificate: Certificate, reason: StopReason | None) -> Iterator[str]:
    """What is missing for a certificate, as far as counting tells."""
    if reason is StopReason.DIVERGED:
        yield reason.value
        return
    if certificate.fits_exactly:
        return
    if certificate.required > certificate.independent:
        yield (
            f"{certificate.independent:,} measurements are too few for "
            f"{certificate.degrees_of_freedom:,} degrees of freedom"
        )
        return
    if reason is not None:
        yield reason.value
    if not math.isfinite(certificate.noise):
        yield "too few measurements are inliers"
        return
    yield from noise_objections(certificate, NOISE_LIMIT)
    if not certificate.evidence >= certificate.required_evidence:
        yield (
            f"the evidence for the fit is {certificate.evidence:.0f}; at least "
            f"{certificate.required_evidence:.0f} is required"
        )


def noise_objections(certificate: Certificate, limit: float) -> Iterator[str]:
    """What speaks against a fit up to noise, by counting, for measurements of any kind.

    ``limit`` is the largest noise of a certified result.
    """
    if not certificate.noise <= limit:
        yield (
            f"the residuals are {percent(certificate.noise, 3)} of a typical measurement, and "
            f"results with more than {limit:.0%} noise are not certified"
        )
    if not certificate.supporting > (0.5 + _MARGIN) * certificate.independent:
        yield "the inliers are not a majority of the measurements"
    if certificate.supporting < certificate.degrees_of_freedom + _REDUNDANT:
        yield (
            f"with noise, {_REDUNDANT} inliers more than the {certificate.degrees_of_freedom:,} "
            "degrees of freedom are needed"
        )


def _examined(
    fit: Fit, tangent: TangentMap, labels: Labels, certificate: Certificate
) -> tuple[Certificate, Support]:
    """The certificate with the results of the expensive tests, and objections if there are any."""
    exact, problem = certificate.fits_exactly, fit.problem
    fitted = to_numpy(is_exact_fit(problem, fit.residual) if exact else fit.weights > 0)
    support = supported_part(tangent, fitted, labels)
    if not support.is_whole:
        unidentified = unidentified_part(tangent)
        if unidentified:
            certificate = replace(certificate, unidentified=unidentified)
            return certificate.with_objections(UNDETERMINED), support
        certificate = _of_part(certificate, problem, support, labels)
    informing = Informing(tangent, labels, fitted)
    contested = informing.parts(support).contestable(tangent.U.shape[1])
    certificate = replace(certificate, contested=tuple(contested))
    if exact or certificate.objections:
        return certificate, support
    inside = informing.only(support.decided)
    if not support.is_whole:
        xp = namespace(fit.weights)
        decided = xp.asarray(support.decided[:, None] * 1.0, **like(tangent.U))
        tangent = TangentView(tangent, mask=decided)
        fit = replace(fit, weights=fit.weights * xp.asarray(inside * 1.0, **like(fit.weights)))
    certificate = _noise_examined(fit, tangent, labels, certificate, inside)
    if problem.is_mostly_constant:
        certificate = certificate.with_objections(_EQUAL)
    return certificate, support


def _of_part(
    certificate: Certificate, problem: Problem, support: Support, labels: Labels
) -> Certificate:
    """The certificate of the decided part; with objections if it has too little support."""
    part = support.degrees_of_freedom(problem.rank)
    freedom = problem.degrees_of_freedom if problem.symmetric else part
    supporting = int(np.count_nonzero(groups_with_majority(labels, support.fitted)))
    required = enough_fits(certificate.tolerance, certificate.independent, freedom)
    return replace(
        certificate,
        supporting=supporting,
        required=required,
        degrees_of_freedom=freedom,
        decided_rows=int(support.rows.sum()),
        decided_columns=int(support.columns.sum()),
        objections=support.objections if supporting < required else (),
    )


def _noise_examined(
    fit: Fit, tangent: TangentMap, labels: Labels, certificate: Certificate, inside: Selection
) -> Certificate:
    """The certificate with what noise does, by the measurements that are ``inside``."""
    problem, xp, freedom = fit.problem, namespace(fit.residual), certificate.degrees_of_freedom
    unit = problem.units.measurement
    residual, null = fit.residual / unit, float(problem.trivial_deviation) / unit
    amplification = error_per_deviation(tangent, fit.weights / xp.max(fit.weights), freedom)
    predicted, errors = predict_held_out(tangent, fit.weights, residual, labels, freedom)
    values, spread, inlier = map(to_numpy, (residual, fit.spread, fit.weights > 0))
    deviation, scaled = certificate.sigma / unit, values / spread
    informative = predicted & inside & (spread * deviation < null)
    largest = float(np.max(np.abs(scaled[inlier]))) / share_left(freedom, certificate.inliers)
    share, typical = 0.0, math.inf
    if informative.any():
        share = float(np.mean(np.abs(errors / spread)[informative] <= _PREDICTED * largest))
        typical = float(np.median(np.abs(errors[informative])))
    fitted = to_numpy(problem.y) / unit - values
    left = 1 - to_numpy(leverages(tangent, fit.weights, freedom, LEVERAGE_LIMIT))
    operator = problem.normalized().operator
    shown = inside if fit.without is None else inside & ~to_numpy(fit.without)

    kept = xp.where(fit.weights > 0, residual, xp.zeros_like(residual))
    drawn = with_random_signs(kept, as_generator(0), labels)
    largest_values = [float(operator.leading_svd(w, 1, as_generator(0))[1][0]) for w in drawn]
    # The weights are relative to that of the inlier with the least noise.
    error = float(np.min(spread[inlier])) * deviation * amplification / fit.norm
    # The largest component that the back-projected residuals contain.
    hidden = largest_values[0] / (np.count_nonzero(inlier) * float(operator.gain) ** 2 * fit.norm)
    certificate = replace(
        certificate,
        held_out_share=share,
        matrix_error=error,
        error_bound=error_bound(error, hidden),
        held_out_error=typical / half_normal_quantile(0.5) / null,
        noise_statistics=noise_statistics(
            *(part[shown] for part in (scaled, fitted, inlier, left))
        ),
        structure=residual_structure(largest_values),
    )
    return replace(certificate, objections=tuple(_tested_objections(certificate)))


def _tested_objections(certificate: Certificate) -> Iterator[str]:
    yield from noise_objections(certificate, NOISE_LIMIT)  # if only a part is decided
    if not certificate.matrix_error <= NOISE_LIMIT:
        yield (
            f"noise of this size would cause an error of {certificate.matrix_error:.0%} of "
            "the matrix"
        )
    if not (certificate.held_out_error <= HELD_OUT_LIMIT and certificate.held_out_share > 0.5):
        yield "measurements that were left out of the fit are not predicted by it"
    if not NoiseStatistics(*certificate.noise_statistics).look_like_noise():
        yield NOT_NOISE
    decided = certificate.decided_rows, certificate.decided_columns
    if not certificate.structure <= largest_structure_of_noise(decided):
        yield STRUCTURED


@_OF_ANY_SIZE
def _count(fit: Fit, labels: Labels | None = None, *, quick: bool = False) -> Certificate:
    """The numbers of the certificate; measurements with the same label count as one.

    If it must be ``quick``, noise is not compared with what a trivial prediction leaves, which
    would take passes over the sensing data. All is computed in host memory, where it takes no
    launches on a GPU.
    """
    problem, freedom = fit.problem, fit.problem.degrees_of_freedom
    residual, spread, inlier = map(to_numpy, (fit.residual, fit.spread, fit.weights > 0))
    labels = np.arange(len(residual)) if labels is None else labels
    exact = groups_with_majority(labels, is_exact_fit(problem, residual))
    inliers = groups_with_majority(labels, inlier)
    exact_fits, count, total = int(exact.sum()), int(inliers.sum()), len(inliers)
    required = required_fits(problem, total)
    is_exact = exact_fits >= required
    # An exact fit needs no comparison with a trivial prediction, which would take passes.
    no_passes = is_exact or quick
    null = float(problem.typical_deviation if no_passes else problem.trivial_deviation)
    # The standard deviation of the noise, of which d degrees of freedom are fitted.
    scaled, beyond = np.where(inlier, residual / spread, 0.0), np.count_nonzero(inlier) - freedom
    deviation = float(frobenius_norm(scaled)) / math.sqrt(beyond) if beyond > 0 else math.inf
    members = inlier & inliers[labels]
    first_of_group = np.unique(labels[members], return_index=True)[1]
    sizes = deviation * spread[members][first_of_group]
    noise = deviation / null if null > 0 else math.inf
    n1, n2 = problem.operator.matrix_shape
    return Certificate(
        measurements=len(residual),
        independent=total,
        exact_fits=exact_fits,
        inliers=count,
        supporting=exact_fits if is_exact else count,
        required=required,
        degrees_of_freedom=freedom,
        decided_rows=n1,
        decided_columns=n2,
        tolerance=exact_tolerance(problem),
        misfit=float(lower_median(np.abs(residual))) / problem.scale if problem.scale else math.inf,
        noise=noise * float(lower_median(spread)),
        sigma=deviation,
        trivial_error=math.nan if no_passes else null,
        evidence=evidence_of(sizes, null, total, freedom, problem.epsilon),
        required_evidence=_EVIDENCE,
        prediction_error=prediction_error(noise, count, freedom),
    )
