"""From the last state of a run to a result in the user's units, with its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from robustrank.backend import Array, namespace
from robustrank.certificate import certify, exact_tolerance, is_exact_fit
from robustrank.linalg import TangentMap
from robustrank.metrics import balance
from robustrank.operators import WatchedTangent
from robustrank.problem import Problem
from robustrank.result import Attempt, Certificate, Recovery, Status, StopReason, singular_values
from robustrank.solvers.base import Solver
from robustrank.solvers.monitor import Outcome, zero_state

# Singular values below this share of the tolerance of an exact fit exist only because the given
# rank is too large.
_EMPTY = 0.01


class OutOfTime(Exception):  # noqa: N818  # not an error
    """The time limit was reached during the tests of the certificate."""


def assemble(
    problem: Problem,
    solver: Solver[Any],
    outcome: Outcome,
    check_time: Callable[[], None] = lambda: None,
) -> Recovery:
    """The result of a run, with its certificate and status.

    ``check_time`` is called before each product of the certificate's tests. If it raises
    ``OutOfTime``, the result is not certified. If the matrix is not finite in the user's units, the
    result is the zero matrix.
    """
    state, units = outcome.state, problem.units
    root = math.sqrt(units.matrix)
    if not math.isfinite(singular_values(state.U * root, state.V * root)[0]):
        zero = zero_state(problem.normalized(), solver)
        stopped = (StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED)
        reason = outcome.reason if outcome.reason in stopped else StopReason.DIVERGED
        return assemble(problem, solver, replace(outcome, state=zero, reason=reason))
    residual = problem.to_user_units(state.residual)
    inliers = namespace(residual).astype(state.weights > 0, residual.dtype)

    def linearize() -> TangentMap:
        check_time()
        return WatchedTangent(solver.tangent(problem.normalized(), state), check_time)

    certificate, status = _certified(problem, residual, inliers, outcome.reason, linearize)
    if status is Status.SETTLED and problem.is_mostly_constant:
        status = Status.UNEXPLAINED  # noise does not leave most measurements exactly equal
    left, right = state.U, state.V
    if certificate.is_exact:
        left, right = _without_empty_columns(left, right, _EMPTY * exact_tolerance(problem))
    cutoff = solver.cutoff(state)
    last = outcome.history.checks[-1] if outcome.history.checks else None
    return Recovery(
        left=left * root,
        right=right * root,
        outliers=(inliers == 0) & ~is_exact_fit(problem, residual),
        status=status,
        certificate=certificate,
        residual=residual,
        cutoff=None if cutoff is None else float(cutoff * units.measurement),
        history=outcome.history,
        solver=solver.name,
        iterations=outcome.iterations,
        passes=last.passes if last else 0.0,
        seconds=last.seconds if last else 0.0,
    )


def _certified(
    problem: Problem,
    residual: Array,
    inliers: Array,
    reason: StopReason,
    linearize: Callable[[], TangentMap],
) -> tuple[Certificate, Status]:
    """The certificate and the status; without the certificate's tests if the time is up."""
    try:
        return certify(problem, residual, inliers, reason=reason, linearize=linearize)
    except OutOfTime:  # the result of an interrupted run is not tested either
        untested = StopReason.INTERRUPTED
        evidence, _ = certify(problem, residual, inliers, reason=untested, linearize=linearize)
        return evidence, Status.TIME_LIMIT


def summarize(recovery: Recovery) -> Attempt:
    """A result as one of several attempts."""
    return Attempt(
        solver=recovery.solver,
        status=recovery.status,
        rank=recovery.rank,
        exact_fits=recovery.certificate.exact_fits,
        misfit=recovery.certificate.misfit,
        iterations=recovery.iterations,
        seconds=recovery.seconds,
    )


def _without_empty_columns(left: Array, right: Array, negligible: float) -> tuple[Array, Array]:
    """Factors of the same matrix without columns whose singular value is negligible."""
    values = singular_values(left, right)
    rank = int((values > negligible * values[0]).sum())
    if rank in (0, left.shape[1]):  # 0 if the values are not finite
        return left, right
    left, right = balance(left, right)
    return left[:, :rank], right[:, :rank]
