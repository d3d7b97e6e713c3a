"""Trying solvers in turn until the certificate accepts a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import as_generator, full_precision, like, namespace, to_numpy
from robustrank.certificate import (
    NoiseStatistics,
    is_exact_fit,
    rank_above_noise,
    rank_may_be_too_low,
    required_fits,
)
from robustrank.linalg import Factors
from robustrank.operators import OutOfTime
from robustrank.problem import Problem
from robustrank.result import History, Result, Status, StopReason
from robustrank.run import Run
from robustrank.search.final_fit import FinalFit, Fitted, rows_differ
from robustrank.search.results import assemble, best_attempt, nothing_found, standing, summarize
from robustrank.search.second_solution import second_solution
from robustrank.solvers import Drive, Outcome, Portfolio, RankEstimator, Solver
from robustrank.solvers.base import normalized_factors

# No other solver would find more.
_DECIDED = {Status.RECOVERED, Status.AMBIGUOUS, Status.NOT_IDENTIFIED}
_LOW_NOISE, _AMPLE = 0.02, 1.25
# A fit without the last column is tried if that adds less than 30 standard deviations of the noise
# to the typical inlier, or if there are fewer than 3 inliers for each degree of freedom, because a
# surplus column could then fit outliers.
_LITTLE, _FEW = 30.0, 3.0
# A column that is needed reduces the noise by more than this.
_MORE_NOISE, _NO_NOISE = 3.0, 1e-12
_SAME = 1e-6  # relative difference of the evidence of two fits with the same inliers
_NO_SEARCH = "the run ended before a second solution was looked for"
_RANK_TOO_LOW = "the residuals may be more than noise: the rank may be too low"


def solve(
    problem: Problem,
    chosen: Solver[Any] | Portfolio,
    rng: np.random.Generator,
    run: Run,
    *,
    start: Factors | None = None,
    first: Outcome | None = None,
) -> Result:
    """The best result for a problem; ``run.stopped`` says whether it was stopped.

    The first solver begins at the factors ``start``, if they are given, or has ended with the
    outcome ``first``.
    """
    search = Search(problem, chosen, rng, run, start)
    with full_precision(problem.y), np.errstate(all="ignore"):
        with run:
            search.explore(first)
            return search.best()
        return search.best()  # what was found by then


@dataclass(frozen=True, eq=False)
class _Explored:
    """The first final fit of a solver, and what came of it."""

    evidence: float
    inliers: np.ndarray[Any, Any]  # boolean
    result: Result


class Search:
    """The search for the matrix behind one problem, whose rank is given."""

    def __init__(
        self,
        problem: Problem,
        chosen: Solver[Any] | Portfolio,
        rng: np.random.Generator,
        run: Run,
        start: Factors | None = None,
    ) -> None:
        self.problem, self.run, self._rng, self._start = problem, run, rng, start
        self._portfolio = chosen if isinstance(chosen, Portfolio) else None
        self._solvers = chosen.solvers
        self.attempts: list[Result] = []  # of the solvers that have ended
        # What the search is working on, for a run that is stopped:
        self._pending: list[Result] = []  # of the present solver, one for each start of its fit
        self._ended: tuple[Solver[Any], Outcome] | None = None  # the present solver, if it has
        self._driving: tuple[Solver[Any], Drive[Any]] | None = None  # it, or its final fit
        self._at_lower_rank: Search | None = None
        self._explored: list[_Explored] = []

    def explore(self, first: Outcome | None = None, after: Outcome | None = None) -> None:
        """Try the solvers until a result is certified.

        The first one may have ended already, or goes on after an outcome.
        """
        if after is not None:
            first = self._drive(self._solvers[0], self.problem, after=after)
        estimator = self._portfolio and self._portfolio.rank_estimator
        for solver in self._solvers:
            if not _is_wanted(solver, self.attempts):
                continue
            result = self._attempt(solver, first)
            first, only_lower = None, _only_lower_rank_helps(self.problem, result)
            if estimator and (only_lower or not (self._is_decided or result.certified)):
                self._try_lower_rank(estimator)
            estimator = None  # once, after the first solver
            if only_lower or self._is_decided:
                break

    def best(self) -> Result:
        """The best result so far, with a summary of all."""
        tried = self._gathered()
        best = best_attempt(tried)
        stopped = self.run.stopped or best.stopped
        return replace(best, attempts=tuple(map(summarize, tried)), stopped=stopped)

    @property
    def _is_decided(self) -> bool:
        return any(attempt.status in _DECIDED for attempt in self.attempts)

    def _gathered(self) -> list[Result]:
        """All results; if the run was stopped, also what it was working on."""
        found = list(self.attempts)
        if self._at_lower_rank is not None:
            return found + self._with_rank_checked(self._at_lower_rank._gathered())
        if self._pending:
            return [*found, _without_search(max(self._pending, key=standing))]
        latest = self._latest()
        if latest is not None:
            found.append(self._unfinished(*latest))
        return found or [nothing_found(self.problem, self._solvers[0])]

    def _latest(self) -> tuple[Solver[Any], Outcome] | None:
        """The solver that is running and what it has found, or else what the one before it had."""
        if self._driving is not None:
            solver, drive = self._driving
            (outcome,) = drive.outcomes()
            if outcome.history.checks or self._ended is None:
                return solver, outcome
        return self._ended

    def _unfinished(self, solver: Solver[Any], found: Outcome) -> Result:
        """What a solver had found when it was stopped; tested if there is time for that."""
        outcome = replace(found, reason=self.run.stopped)
        if self.run.stopped is StopReason.TIME_LIMIT:
            try:
                tested = assemble(self.problem, solver, outcome, self.run.check)
                return _without_search(tested) if tested.certificate.contested else tested
            except OutOfTime:
                pass
        return assemble(self.problem, solver, outcome, tested=False)

    def _attempt(self, solver: Solver[Any], outcome: Outcome | None) -> Result:
        """The result of a solver; the first one also tries the larger rows by themselves."""
        problem = self.problem
        if outcome is None:
            if self._start is not None and not self.attempts:
                solver = _starting_at(self._start, solver, problem)
            outcome = self._drive(solver, problem)
        self._ended = solver, outcome
        result = self._explained(solver, outcome, outcome)
        if self._portfolio and not self.attempts and _needs_larger_rows(problem, result):
            part = problem.of_rows(_larger_rows(problem))
            if part.with_unit_rows.scale > 0:  # otherwise most of them read zero
                larger = self._drive(solver, part, aside=True)
                other = self._explained(solver, outcome, larger)
                result = max(result, other, key=standing)
        self.attempts.append(result)
        self._driving, self._ended, self._pending = None, None, []
        return result

    def _explained(self, solver: Solver[Any], outcome: Outcome, started_at: Outcome) -> Result:
        """The result after the final fit from where a solver ended, with a second solution if any.

        The final fit begins at ``started_at``, the outcome with all or with some measurements.
        """
        problem, before = self.problem, self._pending
        if not (self._portfolio and solver.unit_rows and _can_improve(problem, outcome)):
            result = self._assembled(problem, solver, outcome)
        else:
            result = self._fitted(solver, outcome, started_at)
        self._pending = [*before, result]
        if self._portfolio and result.certified and result.certificate.contested:
            other = second_solution(problem, result, self._factors_of_part)
            result = replace(result, alternative=other)
        return result

    def _fitted(self, solver: Solver[Any], outcome: Outcome, started_at: Outcome) -> Result:
        """The result of the final fit, of the given rank or a lower one."""
        problem, final = self.problem, FinalFit(self._drive)
        first = final.best(problem, solver, started_at)
        if first is None:
            return self._assembled(problem, solver, outcome)
        known = self._known_result(first)
        if known is not None:
            iterations = outcome.iterations + first.outcome.iterations
            name, history = solver.name, outcome.history
            return replace(known, solver=name, iterations=iterations, history=history)
        fitted = final.without_faults(problem, first)
        result = self._continued(problem, fitted, outcome)
        self._pending = [*self._pending, result]
        result = self._with_lower_rank(final, fitted, result, outcome)
        inliers = to_numpy(first.state.weights) > 0
        self._explored.append(_Explored(first.evidence, inliers, result))
        return result

    def _known_result(self, fitted: Fitted) -> Result | None:
        """The result for an earlier solver whose first fit was the same."""
        inliers = to_numpy(fitted.state.weights) > 0
        for one in self._explored:
            same = math.isclose(one.evidence, fitted.evidence, rel_tol=_SAME)
            if same and np.array_equal(one.inliers, inliers):
                return one.result
        return None

    def _continued(self, problem: Problem, fitted: Fitted, before: Outcome) -> Result:
        """The result of a final fit, as the continuation of the solver before it."""
        iterations = before.iterations + fitted.outcome.iterations
        joined = replace(fitted.outcome, history=before.history, iterations=iterations)
        return self._assembled(problem, fitted.solver, joined)

    def _assembled(self, problem: Problem, solver: Solver[Any], outcome: Outcome) -> Result:
        return assemble(problem, solver, outcome, self.run.check)

    def _with_lower_rank(
        self, final: FinalFit, fitted: Fitted, result: Result, before: Outcome
    ) -> Result:
        """The result, or one of lower rank if that has more evidence and not much more noise.

        If only the lower rank is certified, it needs no more evidence.
        """
        if result.status in _DECIDED:
            return result
        problem, certified = self.problem, result.certified
        ranks = {rank_above_noise(problem, result)}
        few = result.certificate.inliers < _FEW * problem.degrees_of_freedom
        if certified and (few or fitted.loss_by_truncation() < _LITTLE):
            ranks.add(result.rank - 1)
        for rank in sorted(ranks & set(range(1, result.rank))):
            lower_problem = problem.of_rank(rank)
            lower_fit = final.of_rank(lower_problem, fitted)
            if lower_fit is None:
                continue
            (lower,) = self._with_rank_checked([self._continued(lower_problem, lower_fit, before)])
            noise = lower.certificate.noise / max(result.certificate.noise, _NO_NOISE)
            better = lower.certified
            if certified:  # sensors with a fault are explained by one fit or by both
                better = lower_fit.evidence > fitted.evidence or (
                    lower.certificate.evidence > result.certificate.evidence
                )
            if better and noise < _MORE_NOISE:
                return lower
        return result

    def _factors_of_part(self, part: Problem) -> Factors:
        """The factors that the first solver finds for a part of the measurements."""
        outcome = self._drive(self._solvers[0], part, aside=True)
        root = math.sqrt(part.with_unit_rows.units.matrix)
        return outcome.state.U * root, outcome.state.V * root

    def _try_lower_rank(self, estimator: RankEstimator) -> None:
        """Add attempts with the estimated rank if it is lower than the given one."""
        problem = self.problem
        if problem.rank == 1:
            return
        outcome = self._drive(estimator.messages, problem, aside=True)
        rank = estimator.rank(problem.with_unit_rows, outcome)
        if rank is None or rank >= problem.rank:
            if not _only_lower_rank_helps(problem, self.attempts[-1]):
                return
            rank = problem.rank - 1
        chosen = self._portfolio or self._solvers[0]
        lower = Search(problem.of_rank(rank), chosen, self._rng, self.run, self._start)
        self._at_lower_rank = lower
        lower.explore()
        self.attempts += self._with_rank_checked(lower.attempts)
        self._at_lower_rank = None

    def _with_rank_checked(self, results: Sequence[Result]) -> list[Result]:
        """Results with a lower rank than the given one; not certified if that may be too low."""
        return [
            replace(one, certificate=one.certificate.with_objections(_RANK_TOO_LOW))
            if one.status is Status.ESTIMATED and rank_may_be_too_low(self.problem, one)
            else one
            for one in results
        ]

    def _drive(
        self,
        solver: Solver[Any],
        problem: Problem,
        *,
        aside: bool = False,
        after: Outcome | None = None,
    ) -> Outcome:
        """Run a solver, from its start or after an outcome.

        One that runs ``aside`` finds nothing that could be a result.
        """
        solved = problem.with_unit_rows if solver.unit_rows else problem
        drive = Drive([solved], solver, self.run)
        if not aside:
            self._driving = solver, drive
        if after is None:
            (outcome,) = drive.to_the_end(self._rng)
            return outcome
        outcome = drive.continued(after.state, after.iterations)
        checks = after.history.checks[:-1] + outcome.history.checks
        return replace(outcome, history=History(checks))


def _starting_at(start: Factors, solver: Solver[Any], problem: Problem) -> Solver[Any]:
    """The solver, beginning at factors in the user's units."""
    solved = problem.with_unit_rows if solver.unit_rows else problem
    U, V = normalized_factors(solved, start)
    missing = problem.rank - U.shape[1]
    if missing > 0:  # directions along which the matrix is zero
        rng = as_generator(0)
        more = (rng.standard_normal((factor.shape[0], missing)) for factor in (U, V))
        dU, dV = (namespace(U).asarray(extra, **like(U)) for extra in more)
        U, V = (namespace(U).concat(pair, axis=1) for pair in ([U, 0 * dU], [V, dV]))
    return solver.starting_at((U, V))


def _without_search(result: Result) -> Result:
    """A result for which no second solution was looked for: it is not certified."""
    if not result.certified:
        return result
    return replace(result, certificate=result.certificate.with_objections(_NO_SEARCH))


def _can_improve(problem: Problem, outcome: Outcome) -> bool:
    """Whether a solver ended with a finite result that is not exact."""
    if outcome.reason not in (None, StopReason.ITERATIONS):
        return False
    unit, state = problem.with_unit_rows, outcome.state
    exact = is_exact_fit(unit, to_numpy(unit.to_user_units(state.residual)))
    count = int(np.count_nonzero(exact))
    nonzero = bool(np.any(to_numpy(state.U) != 0))
    return nonzero and count < required_fits(unit, unit.operator.measurements)


def _needs_larger_rows(problem: Problem, result: Result) -> bool:
    """Whether the measurements by small A_i may be mostly noise, which hides the others."""
    return not (result.certified or result.status in _DECIDED) and rows_differ(problem)


def _larger_rows(problem: Problem) -> Any:
    """The numbers of the half of the measurements that have the larger A_i."""
    factors = to_numpy(problem.row_factors)
    return np.sort(np.argsort(factors, kind="stable")[: -(-len(factors) // 2)])


def _is_wanted(solver: Solver[Any], tried: Sequence[Result]) -> bool:
    """Whether a solver could find a better result than those so far.

    Noise may hide a better explanation: faults that many sensors share or, at a higher level of
    noise, other outliers. These are looked for before a result with noise is used, unless the
    evidence for it is clear.
    """
    estimated = [attempt for attempt in tried if attempt.status is Status.ESTIMATED]
    if not estimated:
        return True
    if any(map(_has_clear_evidence, estimated)):
        return False
    noise = min(attempt.certificate.noise for attempt in estimated)
    return solver.models_faults or (solver.models_outliers and noise > _LOW_NOISE)


def _has_clear_evidence(result: Result) -> bool:
    """Whether a result has little noise, ample evidence and no sign of outliers."""
    certificate = result.certificate
    return (
        certificate.noise <= _LOW_NOISE
        and certificate.evidence >= _AMPLE * certificate.required_evidence
        and NoiseStatistics(*certificate.noise_statistics).are_inconspicuous()
    )


def _only_lower_rank_helps(problem: Problem, result: Result) -> bool:
    """Whether the rank may be too high, and other solvers would have the same difficulty."""
    if result.status is Status.ESTIMATED:
        return result.rank == problem.rank > max(rank_above_noise(problem, result), 1)
    diverged = result.stopped is StopReason.DIVERGED  # which says nothing about other solvers
    return result.status is Status.UNDERDETERMINED and not diverged
