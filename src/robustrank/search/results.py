"""From the last state of a solver to a result with its certificate, and which result to return."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.certificate import (
    CLEARLY,
    NEGLIGIBLE,
    Fit,
    Support,
    count,
    exact_tolerance,
    examine,
    is_exact_fit,
    untested,
)
from robustrank.linalg import TangentView, frobenius_norm, symmetric_point
from robustrank.metrics import balance, normalized_error
from robustrank.problem import Problem
from robustrank.result import (
    Alternative,
    Attempt,
    History,
    Measurements,
    Result,
    Status,
    StopReason,
    singular_values,
)
from robustrank.solvers import Outcome, Solver
from robustrank.solvers.driver import zero_state
from robustrank.solvers.evidence_fit import EvidenceFit

_ASYMMETRIC = "the fit is not symmetric"


@dataclass(frozen=True, eq=False)
class Found:
    """What a solver has found for a problem, also while it is running."""

    problem: Problem
    solver: Solver[Any]
    outcome: Callable[[], Outcome]

    def misfit(self) -> float:
        """The median absolute residual relative to that of the zero matrix."""
        median, solved = self.outcome().state.median, self.solver.solved(self.problem)
        return float(median) / float(solved.normalized().scale)


def nothing_found(problem: Problem, solver: Solver[Any]) -> Result:
    """The zero matrix, as the result of a run that was stopped before its first state."""
    state = zero_state(solver.solved(problem).normalized(), solver)
    outcome = Outcome(state, StopReason.INTERRUPTED, History(()), 0)
    return assemble(problem, solver, outcome, tested=False)


def assemble(
    problem: Problem,
    solver: Solver[Any],
    outcome: Outcome,
    check_time: Callable[[], None] = lambda: None,
    *,
    tested: bool = True,
) -> Result:
    """The result of a run, with its certificate.

    ``check_time`` is called before each product of the certificate's tests, and may raise an
    exception. A result that is not to be ``tested`` is not certified. If the matrix is not finite
    in the user's units, the result is the zero matrix.
    """
    state, unit, solved = outcome.state, problem.with_unit_rows, solver.solved(problem)
    units = solved.units
    representable = math.isfinite(units.matrix)
    root = math.sqrt(units.matrix) if representable else 1.0
    largest = singular_values(state.U * root, state.V * root)[0]
    if not (math.isfinite(largest) and (representable or largest == 0)):
        zero = zero_state(solved.normalized(), solver)
        diverged = replace(outcome, state=zero, reason=StopReason.DIVERGED)
        return assemble(problem, solver, diverged, tested=tested)
    residual = solved.to_user_units(state.residual)
    if not solver.unit_rows:
        residual = residual * problem.row_factors
    normalized = solved.normalized()

    left, right = state.U, state.V
    with np.errstate(over="ignore"):  # a diverged run has factors of any size
        norm = float(frobenius_norm(singular_values(left, right)))
    norm *= units.matrix / unit.units.matrix
    noise = solver.noise
    sizes = noise.sizes(normalized.y - state.residual, normalized.conditions)
    without = solver.without if isinstance(solver, EvidenceFit) else None
    fit = Fit(unit, residual, state.weights, sizes, norm, without)
    certificate = count(fit, outcome.reason) if tested else untested(fit)
    if problem.symmetric and not _is_symmetric(unit, left, right):
        certificate = certificate.with_objections(_ASYMMETRIC)
    support: Support | None = None
    if not certificate.objections:
        check_time()
        tangent = TangentView(solver.tangent(normalized, state), before=lambda _: check_time())
        if not solver.unit_rows:
            tangent = TangentView(tangent, factors=problem.row_factors)
        certificate, support = examine(fit, tangent, outcome.reason)
    if certificate.is_exact:  # smaller values exist only because the given rank is too large
        negligible = NEGLIGIBLE * exact_tolerance(problem)
        left, right = _without_empty_columns(left, right, negligible)
    if problem.symmetric:
        left, right = symmetric_point(left, right).balanced
    exact = is_exact_fit(unit, to_numpy(residual))  # in host memory, without launches on a GPU
    exact = namespace(residual).asarray(exact, device=like(residual)["device"])
    cutoff = solver.cutoff(state)
    decided: tuple[Any, Any] = (np.ones(0, bool), np.ones(0, bool))
    if support is not None and not certificate.objections:
        decided = support.rows, support.columns
    last = outcome.history.checks[-1] if outcome.history.checks else None
    return Result(
        left=left * root,
        right=right * root,
        outliers=(state.weights == 0) & ~exact,
        certificate=certificate,
        observations=Measurements(residual / problem.row_factors),
        noise=0.0 if certificate.is_exact else certificate.sigma,
        noise_model=noise.in_unit(units.measurement),
        noise_sizes=sizes / problem.row_factors,
        typical_size=float(problem.typical_deviation),
        cutoff=None if cutoff is None else float(cutoff * units.measurement),
        stopped=outcome.reason if certificate.objections else None,
        history=outcome.history,
        solver=solver.name,
        iterations=outcome.iterations,
        passes=last.passes if last else 0.0,
        seconds=last.seconds if last else 0.0,
        undecided_rows=np.flatnonzero(~decided[0]),
        undecided_columns=np.flatnonzero(~decided[1]),
    )


def _is_symmetric(problem: Problem, left: Array, right: Array) -> bool:
    """Whether a matrix is symmetric as exactly as exact fits are exact."""
    symmetric, xp = symmetric_point(left, right), namespace(left)
    difference = singular_values(
        xp.concat([left, -symmetric.scaled_left], axis=1),
        xp.concat([right, symmetric.right], axis=1),
    )
    least = exact_tolerance(problem) * float(frobenius_norm(symmetric.values))
    return float(frobenius_norm(difference)) <= least


def summarize(result: Result) -> Attempt:
    """A result as one of several attempts."""
    return Attempt(
        solver=result.solver,
        status=result.status,
        rank=result.rank,
        exact_fits=result.certificate.exact_fits,
        misfit=result.certificate.misfit,
        iterations=result.iterations,
        seconds=result.seconds,
        stopped=result.stopped,
    )


def _without_empty_columns(left: Array, right: Array, negligible: float) -> tuple[Array, Array]:
    """Factors of the same matrix without columns whose singular value is negligible."""
    values = singular_values(left, right)
    rank = int((values > negligible * values[0]).sum())
    if rank in (0, left.shape[1]):  # 0 if the values are not finite
        return left, right
    left, right = balance(left, right)
    return left[:, :rank], right[:, :rank]


# From the best to the worst.
_ORDER = (Status.RECOVERED, Status.AMBIGUOUS, Status.ESTIMATED, Status.NOT_IDENTIFIED)
# The digits of prediction errors that are compared: of equal fits, the first one is returned.
_DIGITS = 4
_HIGHER_RANK = "a result of higher rank explains more, and leaves less noise"


def best_attempt(attempts: Sequence[Result]) -> Result:
    """The result to return.

    A RECOVERED result comes first, then the ESTIMATED result with the smallest prediction error,
    then the result with the most evidence.
    """
    best = max(attempts, key=standing)
    if best.status is not Status.ESTIMATED:
        return best
    for other in attempts:
        if _contradicts(other, best):
            inliers = other.certificate.inliers
            second = Alternative(other.left, other.right, inliers, "the whole matrix")
            return replace(best, alternative=second)
    if any(_explains_more(other, best) for other in attempts):
        return replace(best, certificate=best.certificate.with_objections(_HIGHER_RANK))
    return best


def standing(result: Result) -> tuple[float, ...]:
    """A key by which results are ordered, the best one last."""
    certificate = result.certificate
    match result.status:
        case Status.RECOVERED:
            quality = float(certificate.decided_rows + certificate.decided_columns)
        case Status.ESTIMATED:
            quality = -float(f"{certificate.prediction_error:.{_DIGITS}g}")
        case _:
            quality = 0.0
    if result.status in _ORDER:
        return (-_ORDER.index(result.status), quality)
    # Negative evidence counts as none, which is what the zero matrix has; then a lower rank is
    # the simpler answer.
    evidence = max(certificate.evidence, 0.0)
    fits, misfit = certificate.exact_fits, certificate.misfit
    return (-len(_ORDER), evidence, fits, -result.rank, -misfit)


def _contradicts(other: Result, best: Result) -> bool:
    """Whether two noisy results differ by more than their noise."""
    if other is best or other.status is not Status.ESTIMATED:
        return False
    expected = best.certificate.matrix_error + other.certificate.matrix_error
    difference = normalized_error((other.left, other.right), (best.left, best.right))
    return difference > CLEARLY * expected


def _explains_more(other: Result, best: Result) -> bool:
    """Whether a result of higher rank has more evidence, and leaves less noise."""
    one, two = best.certificate, other.certificate
    return other.rank > best.rank and two.evidence > one.evidence and two.noise < one.noise
