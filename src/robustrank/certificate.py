"""Is the answer right? Count what it explains, against what chance would."""

from __future__ import annotations

import math

from robustrank.backend import Array, lower_median, namespace
from robustrank.problem import Problem
from robustrank.result import Certificate, Status

# Residuals below this share of a typical measurement count as none. First-order solvers stop well
# above rounding, at 1e-8 or so; chance agreement is far above it.
_SMALL = 5e-7
_ROUNDINGS = 1000
# A settled answer whose typical residual exceeds this share of what a fit to pure garbage would
# leave explains nothing.
_FAR_OFF = 0.2


def explained_tolerance(problem: Problem) -> float:
    """How small a residual counts as none, relative to a typical measurement."""
    return max(_SMALL, _ROUNDINGS * problem.epsilon)


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
    if ended is not Status.SETTLED:
        return ended
    if certificate.needed > certificate.measurements:
        return Status.UNDERDETERMINED
    # Least squares on m garbage numbers with d free ones leaves √(1 − d/m) of their size.
    garbage = math.sqrt(1 - certificate.degrees_of_freedom / certificate.measurements)
    return Status.UNEXPLAINED if certificate.misfit > _FAR_OFF * garbage else Status.SETTLED
