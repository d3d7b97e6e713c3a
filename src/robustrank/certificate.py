"""Is the answer right? Count what it explains, against what chance would."""

from __future__ import annotations

import math

from robustrank.backend import Array, frobenius_norm, lower_median, namespace
from robustrank.problem import Problem
from robustrank.result import Certificate, Status
from robustrank.trust import trusted

# Residuals below this share of a typical measurement count as none. First-order solvers stop well
# above rounding, at 1e-8 or so; chance agreement is far above it.
_SMALL = 5e-7
_ROUNDINGS = 1000
# What is left unexplained is called noise only below this share of a typical measurement.
_NOISE_LIMIT = 0.2
# And only with evidence beyond chance, growing with the freedom to fit: near the limit a wrong
# answer that rejects what it cannot meet leaves little as well.
_EVIDENCE, _EVIDENCE_PER_DEGREE = 20.0, 0.25


def explained_tolerance(problem: Problem) -> float:
    """How small a residual counts as none, relative to a typical measurement."""
    return max(_SMALL, _ROUNDINGS * problem.epsilon)


def certify(problem: Problem, residual: Array, weights: Array) -> Certificate:
    """Count what an answer with these residuals explains, and size what it leaves as noise."""
    xp = namespace(residual)
    magnitudes = xp.abs(residual)
    believed = int(xp.count_nonzero(weights))
    return Certificate(
        explained=int(xp.count_nonzero(explained(problem, residual))),
        believed=believed,
        measurements=problem.operator.measurements,
        degrees_of_freedom=problem.degrees_of_freedom,
        tolerance=explained_tolerance(problem),
        misfit=float(lower_median(magnitudes)) / problem.scale,
        noise=_noise_level(problem, trusted(residual, weights), believed),
    )


def _noise_level(problem: Problem, residual: Array, believed: int) -> float:
    """The standard deviation behind believed residuals, relative to that of a typical measurement.

    A fit with d free numbers swallows d of the N it is given: Σ residual² has N − d terms left.
    """
    left_over = believed - problem.degrees_of_freedom
    if left_over <= 0:
        return math.inf
    deviation = float(frobenius_norm(residual)) / math.sqrt(left_over)
    return deviation / float(problem.typical_deviation)


def explained(problem: Problem, residual: Array) -> Array:
    """Which measurements the answer meets to within the tolerance, boolean of shape (m,)."""
    return namespace(residual).abs(residual) <= explained_tolerance(problem) * problem.scale


def conclude(ended: Status, certificate: Certificate) -> Status:
    """The status of an answer, from how the solver ended and what the answer explains."""
    if ended in (Status.STOPPED, Status.INTERRUPTED, Status.DIVERGED):
        return ended
    if certificate.holds:
        return Status.RECOVERED
    if ended is Status.TIME_LIMIT:
        return ended
    if certificate.needed > certificate.measurements:
        return Status.UNDERDETERMINED
    if ended is not Status.SETTLED:
        return ended
    beyond_chance = _EVIDENCE + _EVIDENCE_PER_DEGREE * certificate.degrees_of_freedom
    consistent = certificate.noise <= _NOISE_LIMIT and certificate.evidence >= beyond_chance
    return Status.SETTLED if consistent and certificate.determined else Status.UNEXPLAINED
