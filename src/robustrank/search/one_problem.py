"""Trying solvers in turn until the certificate accepts a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import as_generator, full_precision, like, namespace, to_numpy
from robustrank.certificate import (
    FEW_INLIERS,
    NoiseStatistics,
    is_exact_fit,
    rank_above_noise,
    rank_may_be_too_low,
    required_fits,
)
from robustrank.linalg import Factors, point_of
from robustrank.operators import OutOfTime
from robustrank.problem import Problem
from robustrank.result import History, Result, Status, StopReason
from robustrank.run import Run
from robustrank.search.final_fit import FinalFit, Fitted
from robustrank.search.rank_growth import RankGrowth, largest_rank
from robustrank.search.results import assemble, best_attempt, nothing_found, standing, summarize
from robustrank.search.second_solution import second_solution
from robustrank.solvers import Drive, GaussNewton, Outcome, Portfolio, Solver, State, TwoStage
from robustrank.solvers.base import EstimatingSolver, normalized_factors

# No other solver would find more.
_DECIDED = {Status.RECOVERED, Status.AMBIGUOUS, Status.NOT_IDENTIFIED}
_LOW_NOISE = 0.02
_NO_SEARCH = "the run ended before a second solution was looked for"
_RANK_TOO_LOW = "the residuals may be more than noise: the rank may be too low"


def solve(
    problem: Problem,
    chosen: Solver[Any] | Portfolio,
    rng: np.random.Generator,
    run: Run,
    *,
    rank_is_known: bool = True,
    start: Factors | None = None,
    first: Outcome | None = None,
) -> Result:
    """The best result for a problem; ``run.stopped`` says whether it was stopped.

    If the rank is not known, that of the problem is not used, and the result has a comparison of
    ranks in ``rank_table``. The first solver, or the search for the rank, begins at the factors
    ``start``, in the user's units, if they are given. ``first`` is what the first solver has
    found, if it has run already.
    """
    growth = None if rank_is_known else RankGrowth(problem, run, start)
    search = Search(problem, chosen, rng, run, start, growth)
    with full_precision(problem.y), np.errstate(all="ignore"):
        with run:
            search.explore(first)
            return search.best()
        return search.best()  # what was found by then


class Search:
    """The search for the matrix behind one problem.

    The rank of the problem is an upper bound: solvers that estimate it may find a lower one. If
    the rank is not given, ``growth`` finds it for the first solver.
    """

    def __init__(
        self,
        problem: Problem,
        chosen: Solver[Any] | Portfolio,
        rng: np.random.Generator,
        run: Run,
        start: Factors | None = None,
        growth: RankGrowth | None = None,
    ) -> None:
        self.problem, self.run, self._rng, self._start = problem, run, rng, start
        self._growth, self._largest_rank = growth, problem.rank
        self._is_portfolio, self._solvers = isinstance(chosen, Portfolio), chosen.solvers
        self.attempts: list[Result] = []  # of the solvers that have ended
        # What the search is working on, for a run that is stopped:
        self._pending: list[Result] = []  # of the present solver, before its last tests
        self._ended: _Found | None = None  # what the present solver has found
        self._driving: tuple[Problem, Solver[Any], Drive[Any]] | None = None  # it, or its final fit

    def explore(self, first: Outcome | None = None) -> None:
        """Try the solvers until a result is certified; the first one may have ended already."""
        for solver in self._solvers:
            if not _is_wanted(solver, self.attempts):
                continue
            for found in self._found_by(solver, first):
                self._attempt(found)
                if _is_decided(self.attempts[-1]):
                    return
            first = None
        if not any(attempt.certified for attempt in self.attempts):
            self._try_from_twice_the_rank()

    def _found_by(self, solver: Solver[Any], first: Outcome | None) -> Iterator[_Found]:
        """What a solver finds: one or two outcomes to begin the final fit at."""
        if first is not None:
            yield _Found(self.problem, solver, first)
        elif not self.attempts:
            yield self._first(solver)
        elif isinstance(solver, TwoStage):
            yield from self._estimated(solver)
        else:
            yield self._driven(solver, self.problem)

    def best(self) -> Result:
        """The best result so far, with a summary of all."""
        tried = self._gathered()
        best = best_attempt(tried)
        return replace(
            best,
            attempts=tuple(map(summarize, tried)),
            stopped=self.run.stopped or best.stopped,
            rank_table=None if self._growth is None else self._growth.table(best),
        )

    def _gathered(self) -> list[Result]:
        """All results; if the run was stopped, also what it was working on."""
        found = list(self.attempts)
        if self._pending:
            return [*found, _without_search(max(self._pending, key=standing))]
        latest = self._latest()
        if latest is not None:
            found.append(self._unfinished(latest))
        return found or [nothing_found(self.problem, self._solvers[0])]

    def _latest(self) -> _Found | None:
        """What the solver that is running has found, or else what the one before it had."""
        grown = None
        if self._growth is not None and self._growth.latest is not None and not self.attempts:
            grown = _Found(*self._growth.latest)
        if self._driving is None:
            return self._ended or grown
        problem, solver, drive = self._driving
        (outcome,) = drive.outcomes()
        found = _Found(problem, solver, outcome)
        if self._ended is not None:
            return found if outcome.history.checks else self._ended
        return grown if grown is not None and grown.misfit < found.misfit else found

    def _unfinished(self, found: _Found) -> Result:
        """What a solver had found when it was stopped; tested if there is time for that."""
        stopped = replace(found.outcome, reason=self.run.stopped)
        if self.run.stopped is StopReason.TIME_LIMIT:
            try:
                tested = assemble(found.problem, found.solver, stopped, self.run.check)
                return _without_search(tested) if tested.certificate.contested else tested
            except OutOfTime:
                pass
        return assemble(found.problem, found.solver, stopped, tested=False)

    def _first(self, solver: Solver[Any]) -> _Found:
        """What the first solver finds, with the given rank or the one that is found for it."""
        if self._growth is None:
            if self._start is not None:
                solver = _starting_at(self._start, solver, self.problem)
            return self._driven(solver, self.problem)
        fit = self._growth.grow()
        self.problem = self.problem.of_rank(self._growth.rank)
        self._largest_rank = self._growth.bound
        if fit is None:
            return self._driven(solver, self.problem)
        if fit.solver == solver and fit.rank == self.problem.rank:  # where it begins may differ
            return self._driven(solver, self.problem, after=fit.outcome)
        if self._start is not None or isinstance(solver, GaussNewton):
            solver = _starting_at(self._growth.factors(fit), solver, self.problem)
        return self._driven(solver, self.problem)

    def _estimated(self, solver: TwoStage) -> Iterator[_Found]:
        """What the second stage finds from the estimate of the first one, with its rank.

        The rank of an estimate that is not credible is not used; if none is given, the first solver
        is tried with the bound, too. Nothing is found if there are too few measurements for the
        given rank, and the estimated one is no lower.
        """
        bounded = self.problem.of_rank(min(self._largest_rank, largest_rank(self.problem)))
        first = solver.named_first
        before = self._drive(first, bounded, aside=True)
        if type(before.state) is State:  # it was never finite
            return
        estimate = first.estimate(bounded.with_unit_rows.normalized(), before.state)
        rank = min(self.problem.rank, bounded.rank)
        if bool(estimate.is_credible):
            rank = estimate.rank or rank
        elif self._growth is not None and rank < bounded.rank:
            self.problem = bounded
            yield self._driven(self._solvers[0], bounded)
            rank = bounded.rank
        if self.attempts[-1].status is Status.UNDERDETERMINED and rank >= self.problem.rank:
            return
        problem, second = bounded.of_rank(rank), solver.named_second(before.iterations)
        unit = problem.with_unit_rows
        drive = Drive([unit], second, self.run)
        self._driving = problem, second, drive
        started = second.start_from(unit.normalized(), estimate.truncated(rank))
        yield _Found(problem, second, before.followed_by(drive.continued(started, 0)))

    def _try_from_twice_the_rank(self) -> None:
        """Add what the first solver of a portfolio finds from a fit of twice the rank, truncated.

        With few measurements, such a fit passes by solutions that are only locally the best ones.
        """
        solver, problem = self._solvers[0], self.problem
        twice = problem.of_rank(min(2 * problem.rank, *problem.operator.matrix_shape))
        few = self.attempts[-1].status is Status.UNDERDETERMINED
        if few or not (self._is_portfolio and isinstance(solver, GaussNewton)):
            return
        point = point_of(*self._factors_of(twice)).truncated(problem.rank)
        start = point.scaled_left, point.right
        named = replace(solver, name=f"{solver.name}, from twice the rank")
        self._attempt(self._driven(_starting_at(start, named, problem), problem))

    def _attempt(self, found: _Found) -> None:
        """Add the result of a solver, after the final fit, with a second solution if any."""
        self._ended = found
        if self._is_portfolio and found.solver.unit_rows and _can_improve(found):
            result = self._fitted(found)
        else:
            result = self._assembled(found)
        self._pending = [*self._pending, result]
        if self._is_portfolio and result.certified and result.certificate.contested:
            other = second_solution(found.problem, result, self._factors_of)
            result = replace(result, alternative=other)
        if self.attempts and found.problem.rank < self._largest_rank:
            result = _with_rank_checked(found.problem.of_rank(self._largest_rank), result)
        self.attempts.append(result)
        self._driving, self._ended, self._pending = None, None, []

    def _fitted(self, found: _Found) -> Result:
        """The result of the final fit, of the rank of the problem or a lower one."""
        final = FinalFit(self._drive)
        first = final.best(found.problem, found.solver, found.outcome)
        if first is None:
            return self._assembled(found)
        fitted = final.without_faults(found.problem, first)
        result = self._continued(found.problem, fitted, found.outcome)
        self._pending = [result]
        return self._with_lower_rank(found, final, fitted, result)

    def _continued(self, problem: Problem, fitted: Fitted, before: Outcome) -> Result:
        """The result of a final fit, as the continuation of the solver before it."""
        iterations = before.iterations + fitted.outcome.iterations
        joined = replace(fitted.outcome, history=before.history, iterations=iterations)
        return self._assembled(_Found(problem, fitted.solver, joined))

    def _assembled(self, found: _Found) -> Result:
        return assemble(found.problem, found.solver, found.outcome, self.run.check)

    def _with_lower_rank(
        self, found: _Found, final: FinalFit, fitted: Fitted, result: Result
    ) -> Result:
        """The result, or one of lower rank if that has more evidence.

        If only the lower rank is certified, it needs no more evidence.
        """
        if result.status in _DECIDED:
            return result
        problem, certified = found.problem, result.certified
        ranks = {rank_above_noise(problem, result)}
        # With few inliers, a surplus column could fit outliers.
        few = result.certificate.inliers < FEW_INLIERS * problem.degrees_of_freedom
        if certified and few:
            ranks.add(result.rank - 1)
        for rank in sorted(ranks & set(range(1, result.rank))):
            lower_problem = problem.of_rank(rank)
            lower_fit = final.of_rank(lower_problem, fitted)
            if lower_fit is None:
                continue
            lower = self._continued(lower_problem, lower_fit, found.outcome)
            lower = _with_rank_checked(problem, lower)
            better = lower.certified
            if certified:  # sensors with a fault are explained by one fit or by both
                better = lower_fit.evidence > fitted.evidence or (
                    lower.certificate.evidence > result.certificate.evidence
                )
            if better:
                return lower
        return result

    def _factors_of(self, problem: Problem) -> Factors:
        """The factors that the first solver finds for another problem, in the user's units."""
        outcome = self._drive(self._solvers[0], problem, aside=True)
        root = math.sqrt(problem.with_unit_rows.units.matrix)
        return outcome.state.U * root, outcome.state.V * root

    def _driven(
        self, solver: Solver[Any], problem: Problem, after: Outcome | None = None
    ) -> _Found:
        return _Found(problem, solver, self._drive(solver, problem, after=after))

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
            self._driving = problem, solver, drive
        if after is None:
            (outcome,) = drive.to_the_end(self._rng)
            return outcome
        outcome = drive.continued(after.state, after.iterations)
        checks = after.history.checks[:-1] + outcome.history.checks
        return replace(outcome, history=History(checks))


@dataclass(frozen=True, eq=False)
class _Found:
    """What a solver has found for a problem."""

    problem: Problem
    solver: Solver[Any]
    outcome: Outcome

    @property
    def misfit(self) -> float:
        """The last misfit; infinite before the first check."""
        checks = self.outcome.history.checks
        return checks[-1].misfit if checks else math.inf


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


def _with_rank_checked(problem: Problem, result: Result) -> Result:
    """A result of a lower rank than that of the problem; not certified if it may be too low."""
    if result.status is Status.ESTIMATED and rank_may_be_too_low(problem, result):
        return replace(result, certificate=result.certificate.with_objections(_RANK_TOO_LOW))
    return result


def _without_search(result: Result) -> Result:
    """A result for which no second solution was looked for: it is not certified."""
    if not result.certified:
        return result
    return replace(result, certificate=result.certificate.with_objections(_NO_SEARCH))


def _is_decided(result: Result) -> bool:
    """Whether no other solver would find more; it could decide parts that this one does not."""
    undecided = len(result.undecided_rows) + len(result.undecided_columns)
    return result.status in _DECIDED and not (result.certified and undecided)


def _can_improve(found: _Found) -> bool:
    """Whether a solver ended with a finite result that is not exact."""
    if found.outcome.reason not in (None, StopReason.ITERATIONS):
        return False
    unit, state = found.problem.with_unit_rows, found.outcome.state
    exact = is_exact_fit(unit, to_numpy(unit.to_user_units(state.residual)))
    count = int(np.count_nonzero(exact))
    nonzero = bool(np.any(to_numpy(state.U) != 0))
    return nonzero and count < required_fits(unit, unit.operator.measurements)


def _is_wanted(solver: Solver[Any], tried: Sequence[Result]) -> bool:
    """Whether a solver could find a better result than those so far.

    With too few measurements for the rank, only a lower rank helps. Noise may hide a better
    explanation: faults that many sensors share or, at a higher level of noise, other outliers.
    These are looked for before a result with noise is used, unless the evidence for it is clear.
    """
    if tried and tried[-1].status is Status.UNDERDETERMINED:
        # That the last one diverged says nothing about others.
        return tried[-1].stopped is StopReason.DIVERGED or isinstance(solver, TwoStage)
    estimated = [attempt for attempt in tried if attempt.status is Status.ESTIMATED]
    if not estimated:
        return True
    if any(map(_has_clear_evidence, estimated)):
        return False
    noise = min(attempt.certificate.noise for attempt in estimated)
    first = solver.first if isinstance(solver, TwoStage) else solver
    return isinstance(first, EstimatingSolver) and (first.faults or noise > _LOW_NOISE)


def _has_clear_evidence(result: Result) -> bool:
    """Whether a result has little noise and no sign of outliers."""
    certificate = result.certificate
    return (
        certificate.noise <= _LOW_NOISE
        and NoiseStatistics(*certificate.noise_statistics).are_inconspicuous()
    )
