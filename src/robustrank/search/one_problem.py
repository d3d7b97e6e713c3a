"""Trying solvers in turn until the certificate accepts a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from robustrank.result import Result, Status, StopReason
from robustrank.run import Run
from robustrank.search.final_fit import FinalFit, Fitted
from robustrank.search.rank_growth import RankGrowth, largest_rank
from robustrank.search.results import Found, assemble, best_attempt, nothing_found, summarize
from robustrank.search.second_solution import second_solution
from robustrank.search.sensors import MOST_ARE_WRONG, counted_groups, table_of_groups
from robustrank.solvers import Drive, GaussNewton, Outcome, Portfolio, Solver, State, TwoStage
from robustrank.solvers.base import EstimatingSolver, normalized_factors
from robustrank.solvers.evidence_fit import EvidenceFit

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
        # For a run that is stopped: what the present solver and its final fits have found so far,
        # and its result before the last tests.
        self._found: list[Found] = []
        self._tested: Result | None = None

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

    def _found_by(self, solver: Solver[Any], first: Outcome | None) -> Iterator[Found]:
        """What a solver finds: one or two outcomes to begin the final fit at."""
        if first is not None:
            yield Found(self.problem, solver, lambda: first)
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
        if self.problem.groups is not None and best.groups is None:
            best = replace(best, groups=counted_groups(self.problem, best))
        return replace(
            best,
            attempts=tuple(map(summarize, tried)),
            stopped=self.run.stopped or best.stopped,
            rank_table=None if self._growth is None else self._growth.table(best),
        )

    def _gathered(self) -> list[Result]:
        """All results; if the run was stopped, also what it was working on."""
        if self._tested is not None:
            return [*self.attempts, _without_search(self._tested)]
        working = list(self._found)
        if self._growth is not None and not self.attempts:
            working = self._growth.found + working
        if working:  # the latest of those with the smallest misfit
            return [*self.attempts, self._unfinished(min(reversed(working), key=Found.misfit))]
        return self.attempts or [nothing_found(self.problem, self._solvers[0])]

    def _unfinished(self, found: Found) -> Result:
        """What a solver had found when it was stopped; tested if there is time for that."""
        stopped = replace(found.outcome(), reason=self.run.stopped)
        if self.run.stopped is StopReason.TIME_LIMIT:
            try:
                tested = assemble(found.problem, found.solver, stopped, self.run.check)
                return _without_search(tested) if tested.certificate.contested else tested
            except OutOfTime:
                pass
        return assemble(found.problem, found.solver, stopped, tested=False)

    def _first(self, solver: Solver[Any]) -> Found:
        """What the first solver finds, with the given rank or the one that is found for it."""
        start = self._start
        if self._growth is not None:
            fit = self._growth.grow()
            self.problem = self.problem.of_rank(self._growth.rank)
            self._largest_rank = self._growth.bound
            if fit is not None and (fit.found.solver, fit.rank) == (solver, self.problem.rank):
                return self._continued(fit.found.outcome(), solver, self.problem, fit.state)
            continues = start is not None or isinstance(solver, GaussNewton)
            start = self._growth.factors() if continues else None
        if start is not None:
            solver = _starting_at(start, solver, self.problem)
        return self._driven(solver, self.problem)

    def _estimated(self, solver: TwoStage) -> Iterator[Found]:
        """What the second stage finds from the estimate of the first one, with its rank.

        The rank of an estimate that is not credible is not used, but the given one or the bound.
        Nothing is found if there are too few measurements for the given rank, and the estimated one
        is no lower.
        """
        bounded = self.problem.of_rank(min(self._largest_rank, largest_rank(self.problem)))
        first = solver.named(solver.first)
        before = self._aside(first, bounded)
        if type(before.state) is State:  # it was never finite
            return
        estimate = first.estimate(bounded.with_unit_rows.normalized(), before.state)
        rank = min(self.problem.rank, bounded.rank)
        if bool(estimate.is_credible):
            rank = estimate.rank or rank
        elif self._growth is not None:
            self.problem, rank = bounded, bounded.rank
        if self.attempts[-1].status is Status.UNDERDETERMINED and rank >= self.problem.rank:
            return
        problem, second = bounded.of_rank(rank), solver.named(solver.second, before.iterations)
        started = second.start_from(second.solved(problem).normalized(), estimate.truncated(rank))
        yield self._continued(before, second, problem, started)

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

    def _attempt(self, found: Found) -> None:
        """Add the result of a solver, after the final fit, with a second solution if any."""
        self._found = [found]
        result = self._tested = _with_groups(found.problem, self._fitted(found))
        if self._is_portfolio and result.certified and result.certificate.contested:
            other = second_solution(found.problem, result, self._factors_of)
            result = replace(result, alternative=other)
        if self.attempts and found.problem.rank < self._largest_rank:
            result = _with_rank_checked(found.problem.of_rank(self._largest_rank), result)
        self.attempts.append(result)
        self._found, self._tested = [], None

    def _fitted(self, found: Found) -> Result:
        """The result of a solver or of the final fit, of the rank of the problem or a lower one."""
        problem, solver, before = found.problem, found.solver, found.outcome()
        final, fitted = FinalFit(self._driven), None
        if self._is_portfolio and solver.unit_rows and _can_improve(problem, before):
            point = point_of(before.state.U, before.state.V)
            fitted = final.best(problem, EvidenceFit(point, name=solver.name))
        if fitted is None:
            return assemble(problem, solver, before, self.run.check)
        self._tested = self._result_of(problem, fitted, before)
        return self._with_lower_rank(problem, before, final, fitted, self._tested)

    def _result_of(self, problem: Problem, fitted: Fitted, before: Outcome) -> Result:
        """The result of a final fit, as the continuation of the solver before it."""
        iterations = before.iterations + fitted.outcome.iterations
        joined = replace(fitted.outcome, history=before.history, iterations=iterations)
        return assemble(problem, fitted.solver, joined, self.run.check)

    def _with_lower_rank(
        self, problem: Problem, before: Outcome, final: FinalFit, fitted: Fitted, result: Result
    ) -> Result:
        """The result, or one of lower rank if that has more evidence.

        If only the lower rank is certified, it needs no more evidence.
        """
        if result.status in _DECIDED:
            return result
        ranks = {rank_above_noise(problem, result)}
        # With few inliers, a surplus column could fit outliers.
        few = result.certificate.inliers < FEW_INLIERS * problem.degrees_of_freedom
        if result.certified and few:
            ranks.add(result.rank - 1)
        for rank in sorted(ranks & set(range(1, result.rank))):
            lower_problem, truncated = problem.of_rank(rank), fitted.state.point.truncated(rank)
            lower_fit = final.best(lower_problem, replace(fitted.solver, initial=truncated))
            if lower_fit is None:
                continue
            lower = self._result_of(lower_problem, lower_fit, before)
            lower = _with_rank_checked(problem, lower)
            # Sensors with a fault are explained by one fit or by both.
            has_more_evidence = lower_fit.evidence > fitted.evidence or (
                lower.certificate.evidence > result.certificate.evidence
            )
            if has_more_evidence if result.certified else lower.certified:
                return lower
        return result

    def _factors_of(self, problem: Problem) -> Factors:
        """The factors that the first solver finds for another problem, in the user's units."""
        outcome = self._aside(self._solvers[0], problem)
        root = math.sqrt(problem.with_unit_rows.units.matrix)
        return outcome.state.U * root, outcome.state.V * root

    def _aside(self, solver: Solver[Any], problem: Problem) -> Outcome:
        """What a solver finds that could not be a result."""
        return Drive([solver.solved(problem)], solver, self.run).to_the_end(self._rng)[0]

    def _driven(self, solver: Solver[Any], problem: Problem) -> Found:
        """What a solver finds."""
        self._watched(solver, problem).to_the_end(self._rng)
        return self._found[-1]

    def _continued(
        self, before: Outcome, solver: Solver[Any], problem: Problem, state: State
    ) -> Found:
        """What a solver finds from a state to which another run has led."""
        (after,) = self._watched(solver, problem).to_the_end(self._rng, state)
        joined = before.followed_by(after)
        return Found(problem, solver, lambda: joined)

    def _watched(self, solver: Solver[Any], problem: Problem) -> Drive[Any]:
        """The iterations of a solver; the run may be stopped while they go on.

        What was found before the final fits is kept. Of these, only the latest is: each has a
        tangent map in memory.
        """
        drive = Drive([solver.solved(problem)], solver, self.run)
        self._found = [*self._found[:1], Found(problem, solver, drive.outcome)]
        return drive


def _starting_at(start: Factors, solver: Solver[Any], problem: Problem) -> Solver[Any]:
    """The solver, beginning at factors in the user's units."""
    U, V = normalized_factors(solver.solved(problem), start)
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


def _with_groups(problem: Problem, result: Result) -> Result:
    """The result with what is known about each group, if the measurements have groups.

    A certified result needs the majority of the groups, too.
    """
    if problem.groups is None:
        return result
    groups = table_of_groups(problem, result)
    if result.certified and 2 * len(groups.wrong) >= len(groups.rows):
        certificate = result.certificate.with_objections(MOST_ARE_WRONG)
        result = replace(result, certificate=certificate)
    return replace(result, groups=groups)


def _without_search(result: Result) -> Result:
    """A result for which no second solution was looked for: it is not certified."""
    if not result.certified:
        return result
    return replace(result, certificate=result.certificate.with_objections(_NO_SEARCH))


def _is_decided(result: Result) -> bool:
    """Whether no other solver would find more; it could decide parts that this one does not."""
    undecided = len(result.undecided_rows) + len(result.undecided_columns)
    return result.status in _DECIDED and not (result.certified and undecided)


def _can_improve(problem: Problem, outcome: Outcome) -> bool:
    """Whether a solver ended with a finite result that is not exact."""
    if outcome.reason not in (None, StopReason.ITERATIONS):
        return False
    unit, state = problem.with_unit_rows, outcome.state
    exact = is_exact_fit(unit, to_numpy(unit.to_user_units(state.residual)))
    nonzero = bool(np.any(to_numpy(state.U) != 0))
    return nonzero and int(exact.sum()) < required_fits(unit, unit.operator.measurements)


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
