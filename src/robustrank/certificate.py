"""Is the answer right? Count what it explains, against what chance would."""

from __future__ import annotations

from robustrank.backend import Array, lower_median, namespace
from robustrank.problem import Problem
from robustrank.result import Certificate, Status

# A settled answer whose typical residual exceeds this share of a typical measurement explains
# nothing.
_FAR_OFF = 0.25


def explained_tolerance(problem: Problem) -> float:
    """How small a residual counts as none, relative to a typical measurement.

    Far above rounding, because first-order solvers stop well before it, and far below any chance
    agreement: 5e-7 in double precision, 2e-3 in single.
    """
    xp = namespace(problem.y)
    precisions = (problem.y.dtype, problem.operator.dtype)
    return float(max(float(xp.finfo(dtype).eps) for dtype in precisions) ** 0.4)


def certify(problem: Problem, residual: Array) -> Certificate:
    """Count the measurements that an answer with these residuals explains."""
    magnitudes = namespace(residual).abs(residual)
    return Certificate(
        explained=int(namespace(residual).count_nonzero(explained(problem, residual))),
        measurements=problem.operator.measurements,
        degrees_of_freedom=problem.degrees_of_freedom,
        tolerance=explained_tolerance(problem),
        misfit=float(lower_median(magnitudes)) / problem.scale,
    )


def explained(problem: Problem, residual: Array) -> Array:
    """Which measurements the answer meets to within the tolerance, boolean of shape (m,)."""
    return namespace(residual).abs(residual) <= explained_tolerance(problem) * problem.scale


def conclude(ended: Status, certificate: Certificate) -> Status:
    """The status of an answer, from how the solver ended and what the answer explains."""
    if ended in (Status.STOPPED, Status.INTERRUPTED, Status.DIVERGED):
        return ended
    if certificate.holds:
        return Status.RECOVERED
    if ended is Status.SETTLED and certificate.misfit > _FAR_OFF:
        return Status.UNEXPLAINED
    return ended
