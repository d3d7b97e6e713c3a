"""Trying candidates in turn until the certificate accepts a result."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
from robustrank.operators import DataLost, OutOfTime
from robustrank.problem import Problem
from robustrank.result import Recovery, Status, StopReason
from robustrank.solvers.assembly import assemble, nothing_found, summarize
from robustrank.solvers.base import Solver
from robustrank.solvers.best_attempt import best_attempt, standing, was_stopped
from robustrank.solvers.candidates import FAULTS, MESSAGES
from robustrank.solvers.challengers import challenged
from robustrank.solvers.driver import drive
from robustrank.solvers.final_fit import FinalFit, Fitted, Stopped, rows_differ
from robustrank.solvers.initialization import normalized_factors
from robustrank.solvers.monitor import Callback, Outcome, reason_of
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_estimate import RankEstimator

# No other candidate would find more.
_DECIDED = {Status.RECOVERED, Status.AMBIGUOUS, Status.NOT_IDENTIFIED}
_LOW_NOISE, _AMPLE = 0.02, 1.25
# A fit without the last column is tried if that adds less than this many standard deviations of the
# noise to the typical inlier, or if there are fewer inliers than this for each degree of freedom,
# because a surplus column could then fit outliers.
_LITTLE, _FEW = 30.0, 3.0
# A column that is needed reduces the noise by more than this.
_MORE_NOISE, _NO_NOISE = 3.0, 1e-12
_SAME = 1e-6  # relative difference of the evidence of two fits with the same inliers
# The share of the time limit that iterations may use; the rest is for the certificate.
_ITERATING = 0.9

Results = list[list[Recovery]]  # for each problem, the results of the candidates so far


def solve(
    problems: Sequence[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
    start: Factors | None = None,
) -> list[Recovery]:
    """The best result for each of several problems of one shape.

    The first candidate begins at the factors ``start``, if they are given.
    """
    ends = None if time_limit is None else time.perf_counter() + time_limit
    search = _Search(chosen, generator, callback, ends, start)
    # A diverging run is reported by its status, not by warnings.
    with full_precision(problems[0].y), np.errstate(all="ignore"):
        attempts = search.run(problems)
        try:
            return [_result(tried) for tried in attempts]
        except KeyboardInterrupt:
            search.interrupt(problems, attempts)
            return [_result(tried) for tried in attempts]


@dataclass(frozen=True, eq=False)
class _Explored:
    """The first final fit of a candidate, and what came of it."""

    evidence: float
    inliers: np.ndarray[Any, Any]  # boolean
    recovery: Recovery


@dataclass(frozen=True)
class _Search:
    chosen: Solver[Any] | Portfolio
    generator: np.random.Generator
    callback: Callback | None
    ends: float | None  # the time at which to stop
    start: Factors | None  # where the first candidate begins
    explored: dict[Problem, list[_Explored]] = field(default_factory=dict)

    def run(self, problems: Sequence[Problem]) -> Results:
        """Try the candidates on each problem until a result is certified or the run is stopped."""
        attempts: Results = [[] for _ in problems]
        try:
            self._run(problems, attempts)
        except (KeyboardInterrupt, DataLost):  # between the runs of two solvers
            self.interrupt(problems, attempts)
        except OutOfTime:
            for tried in attempts:
                if tried and not _is_over(tried):
                    tried[-1] = replace(tried[-1], status=Status.TIME_LIMIT)
        return attempts

    def interrupt(self, problems: Sequence[Problem], attempts: Results) -> None:
        """Mark the problems that are not solved as interrupted, or the last one if all are."""
        open_ones = [k for k, tried in enumerate(attempts) if not (tried and _is_over(tried))]
        for k in open_ones or [len(attempts) - 1]:
            if attempts[k]:
                attempts[k][-1] = replace(attempts[k][-1], status=Status.INTERRUPTED)
            else:  # before the first solver: the zero matrix
                solver = next(iter(self.chosen.candidates(problems[k])))
                attempts[k].append(nothing_found(problems[k], solver, StopReason.INTERRUPTED))

    def _run(self, problems: Sequence[Problem], attempts: Results) -> None:
        unsolved = list(range(len(problems)))
        estimator = self.chosen.rank_estimator if isinstance(self.chosen, Portfolio) else None
        for candidate in self.chosen.candidates(problems[0]):
            wanted = [k for k in unsolved if _is_wanted(candidate, attempts[k])]
            if not wanted:
                continue
            if self.start is not None and not attempts[0]:
                candidate = _starting_at(self.start, candidate, problems[0])
            self._try(candidate, problems, attempts, wanted)
            lower = [k for k in wanted if _only_lower_rank_helps(problems[k], attempts[k][-1])]
            unsolved = [k for k in unsolved if k not in lower and not _is_over(attempts[k])]
            uncertified = [k for k in unsolved if not attempts[k][-1].certified]
            if estimator is not None and not _is_interrupted(attempts) and uncertified + lower:
                self._try_lower_rank(estimator, problems, attempts, uncertified + lower)
                unsolved = [k for k in unsolved if not _is_over(attempts[k])]
            estimator = None  # once, after the first candidate
            if _is_interrupted(attempts):
                for k in unsolved:
                    attempts[k][-1] = replace(attempts[k][-1], status=Status.INTERRUPTED)
                break
            if not unsolved:
                break

    def _try(
        self,
        candidate: Solver[Any],
        problems: Sequence[Problem],
        attempts: Results,
        numbers: list[int],
    ) -> None:
        """Add the results of one candidate for some of the problems."""
        done: set[int] = set()
        outcomes = self._drive(candidate, [problems[number] for number in numbers])
        try:
            for number, outcome in zip(numbers, outcomes, strict=True):
                first = not attempts[number]
                result = self._result_of(problems[number], candidate, outcome, first=first)
                attempts[number].append(result)
                done.add(number)
        except (KeyboardInterrupt, OutOfTime, DataLost) as error:
            for number, outcome in zip(numbers, outcomes, strict=True):
                if number not in done:  # without the tests of the certificate
                    stopped = replace(outcome, reason=reason_of(error))
                    result = assemble(problems[number], candidate, stopped, self._check_time)
                    attempts[number].append(result)

    def _result_of(
        self, problem: Problem, candidate: Solver[Any], outcome: Outcome, *, first: bool
    ) -> Recovery:
        """The result of a candidate; the first one also tries the larger rows by themselves."""
        recovery = self._recovery(problem, candidate, outcome, outcome)
        portfolio = isinstance(self.chosen, Portfolio)
        if not (first and portfolio and _needs_larger_rows(problem, recovery)):
            return recovery
        part = problem.of_rows(_larger_rows(problem))
        if not part.with_unit_rows.scale > 0:  # most of them read zero
            return recovery
        (larger,) = self._drive(candidate, [part])
        if larger.reason.is_early:
            return replace(recovery, status=larger.reason.status)
        other = self._recovery(problem, candidate, outcome, larger)
        return max(recovery, other, key=standing)

    def _recovery(
        self, problem: Problem, candidate: Solver[Any], outcome: Outcome, started_at: Outcome
    ) -> Recovery:
        """The result after the final fit from where a run ended, challenged if it is certified."""
        portfolio = isinstance(self.chosen, Portfolio)
        if not (portfolio and candidate.unit_rows and _can_improve(problem, outcome)):
            recovery = assemble(problem, candidate, outcome, self._check_time)
        else:
            recovery = self._fitted(problem, candidate, outcome, started_at)
        return self._challenged(problem, recovery) if portfolio and recovery.certified else recovery

    def _fitted(
        self, problem: Problem, candidate: Solver[Any], outcome: Outcome, started_at: Outcome
    ) -> Recovery:
        """The result of the final fit, of the given rank or a lower one."""
        try:
            first = self._final_fit.best(problem, candidate, started_at)
            if first is None:
                return assemble(problem, candidate, outcome, self._check_time)
            known = self._known_result(problem, first)
            if known is not None:
                iterations = outcome.iterations + first.outcome.iterations
                name, history = candidate.name, outcome.history
                return replace(known, solver=name, iterations=iterations, history=history)
            fitted = self._final_fit.without_faults(problem, first)
        except Stopped as stopped:
            return assemble(problem, stopped.solver, stopped.outcome, self._check_time)
        recovery = self._assembled(problem, fitted, outcome)
        try:
            recovery = self._with_lower_rank(problem, fitted, recovery, outcome)
        except Stopped as stopped:
            return replace(recovery, status=stopped.outcome.reason.status)
        if not was_stopped(recovery):
            inliers = to_numpy(first.state.weights) > 0
            explored = _Explored(first.evidence, inliers, recovery)
            self.explored.setdefault(problem, []).append(explored)
        return recovery

    def _known_result(self, problem: Problem, fitted: Fitted) -> Recovery | None:
        """The result for an earlier candidate whose first fit was the same."""
        inliers = to_numpy(fitted.state.weights) > 0
        for one in self.explored.get(problem, []):
            same = math.isclose(one.evidence, fitted.evidence, rel_tol=_SAME)
            if same and np.array_equal(one.inliers, inliers):
                return one.recovery
        return None

    def _assembled(self, problem: Problem, fitted: Fitted, before: Outcome) -> Recovery:
        """The result of a final fit, as the continuation of the run before it."""
        iterations = before.iterations + fitted.outcome.iterations
        joined = replace(fitted.outcome, history=before.history, iterations=iterations)
        return assemble(problem, fitted.solver, joined, self._check_time)

    def _with_lower_rank(
        self, problem: Problem, fitted: Fitted, recovery: Recovery, before: Outcome
    ) -> Recovery:
        """The result, or one of lower rank if that has more evidence and not much more noise.

        If only the lower rank is certified, it needs no more evidence.
        """
        if recovery.status in _DECIDED or was_stopped(recovery):
            return recovery
        settled = recovery.status is Status.SETTLED
        ranks = {rank_above_noise(problem, recovery)}
        few = recovery.certificate.inliers < _FEW * problem.degrees_of_freedom
        if settled and (few or fitted.loss_by_truncation() < _LITTLE):
            ranks.add(recovery.rank - 1)
        for rank in sorted(ranks & set(range(1, recovery.rank))):
            lower_problem = problem.of_rank(rank)
            lower_fit = self._final_fit.of_rank(lower_problem, fitted)
            if lower_fit is None:
                continue
            lower = self._assembled(lower_problem, lower_fit, before)
            lower = _downgraded_if_rank_too_low(problem, lower)
            noise = lower.certificate.noise / max(recovery.certificate.noise, _NO_NOISE)
            better = lower.certified
            if settled:  # sensors with a fault are explained by one fit or by both
                better = lower_fit.evidence > fitted.evidence or (
                    lower.certificate.evidence > recovery.certificate.evidence
                )
            if was_stopped(lower) or (better and noise < _MORE_NOISE):
                return lower
        return recovery

    @property
    def _final_fit(self) -> FinalFit:
        return FinalFit(lambda solver, problem: self._drive(solver, [problem])[0])

    def _challenged(self, problem: Problem, recovery: Recovery) -> Recovery:
        """The result after the search for a second answer; not certified if that was stopped."""
        stopped: list[StopReason] = []

        def solve_part(part: Problem) -> Factors | None:
            """The factors that the first candidate finds for a part of the measurements."""
            candidate = next(iter(self.chosen.candidates(part)))
            (outcome,) = self._drive(candidate, [part])
            if outcome.reason.is_early:
                stopped.append(outcome.reason)
                return None
            root = math.sqrt(part.with_unit_rows.units.matrix)
            return outcome.state.U * root, outcome.state.V * root

        recovery = challenged(problem, recovery, solve_part)
        return replace(recovery, status=stopped[0].status) if stopped else recovery

    def _try_lower_rank(
        self,
        estimator: RankEstimator,
        problems: Sequence[Problem],
        attempts: Results,
        numbers: list[int],
    ) -> None:
        """Add attempts with the estimated rank where it is lower than the given one."""
        numbers = [number for number in numbers if problems[number].rank > 1]
        ranks = self._lower_ranks(estimator, problems, attempts, numbers)
        for rank in sorted(set(ranks.values())):
            group = [number for number in numbers if ranks.get(number) == rank]
            tried = self.run([problems[number].of_rank(rank) for number in group])
            for number, more in zip(group, tried, strict=True):
                attempts[number] += [
                    _downgraded_if_rank_too_low(problems[number], it) for it in more
                ]
            if _is_interrupted(tried):
                break

    def _lower_ranks(
        self,
        estimator: RankEstimator,
        problems: Sequence[Problem],
        attempts: Results,
        numbers: list[int],
    ) -> dict[int, int]:
        """The estimated ranks that are lower than the given ones; none after Ctrl-C.

        Where the run was stopped early, the best result so far is repeated as the last attempt.
        """
        lower: dict[int, int] = {}
        outcomes = self._drive(estimator.messages, [problems[number] for number in numbers])
        for number, outcome in zip(numbers, outcomes, strict=True):
            if outcome.reason.is_early:
                best = best_attempt(attempts[number])
                attempts[number].append(replace(best, status=outcome.reason.status))
                continue
            rank = estimator.rank(problems[number].with_unit_rows, outcome)
            if rank is not None and rank < problems[number].rank:
                lower[number] = rank
            elif _only_lower_rank_helps(problems[number], attempts[number][-1]):
                lower[number] = problems[number].rank - 1
        interrupted = any(outcome.reason is StopReason.INTERRUPTED for outcome in outcomes)
        return {} if interrupted else lower

    def _drive(self, solver: Solver[Any], problems: list[Problem]) -> list[Outcome]:
        if not problems:
            return []
        remaining = None
        if self.ends is not None:
            remaining = _ITERATING * (self.ends - time.perf_counter())
        if solver.unit_rows:
            problems = [problem.with_unit_rows for problem in problems]
        return drive(problems, solver, self.generator, callback=self.callback, time_limit=remaining)

    def _check_time(self) -> None:
        if self.ends is not None and time.perf_counter() > self.ends:
            raise OutOfTime


def _starting_at(start: Factors, candidate: Solver[Any], problem: Problem) -> Solver[Any]:
    """The candidate, beginning at factors in the user's units."""
    solved = problem.with_unit_rows if candidate.unit_rows else problem
    U, V = normalized_factors(solved, start)
    missing = problem.rank - U.shape[1]
    if missing > 0:  # directions along which the matrix is zero
        rng = as_generator(0)
        more = (rng.standard_normal((factor.shape[0], missing)) for factor in (U, V))
        dU, dV = (namespace(U).asarray(extra, **like(U)) for extra in more)
        U, V = (namespace(U).concat(pair, axis=1) for pair in ([U, 0 * dU], [V, dV]))
    return candidate.starting_at((U, V))


def _result(tried: list[Recovery]) -> Recovery:
    """The best of several attempts, with a summary of all."""
    return replace(best_attempt(tried), attempts=tuple(map(summarize, tried)))


def _can_improve(problem: Problem, outcome: Outcome) -> bool:
    """Whether a run ended by itself with a finite result that is not exact."""
    if outcome.reason not in (StopReason.CONVERGED, StopReason.ITERATION_LIMIT):
        return False
    unit, state = problem.with_unit_rows, outcome.state
    exact = is_exact_fit(unit, to_numpy(unit.to_user_units(state.residual)))
    count = int(np.count_nonzero(exact))
    nonzero = bool(np.any(to_numpy(state.U) != 0))
    return nonzero and count < required_fits(unit, unit.operator.measurements)


def _needs_larger_rows(problem: Problem, recovery: Recovery) -> bool:
    """Whether the measurements by small A_i may be mostly noise, which hides the others."""
    finished = recovery.certified or recovery.status in _DECIDED or was_stopped(recovery)
    return not finished and rows_differ(problem)


def _larger_rows(problem: Problem) -> Any:
    """The numbers of the half of the measurements that have the larger A_i."""
    factors = to_numpy(problem.row_factors)
    return np.sort(np.argsort(factors, kind="stable")[: -(-len(factors) // 2)])


def _is_over(tried: list[Recovery]) -> bool:
    """Whether no other candidate is needed: a result is certified, or the run was stopped."""
    if was_stopped(tried[-1]) or any(attempt.status in _DECIDED for attempt in tried):
        return True
    settled = any(attempt.status is Status.SETTLED for attempt in tried)
    done = {attempt.solver for attempt in tried}
    return settled and all(one.name in done for one in (MESSAGES, FAULTS) if _is_wanted(one, tried))


def _is_wanted(candidate: Solver[Any], tried: list[Recovery]) -> bool:
    """Whether a candidate could find a better result than those so far.

    Noise may hide a better explanation: faults that many sensors share or, at a higher level of
    noise, other outliers. These are looked for before a result with noise is used, unless the
    evidence for it is clear.
    """
    settled = [attempt for attempt in tried if attempt.status is Status.SETTLED]
    if not settled:
        return True
    if any(map(_has_clear_evidence, settled)):
        return False
    noise = min(attempt.certificate.noise for attempt in settled)
    return candidate.name == FAULTS.name or (candidate.name == MESSAGES.name and noise > _LOW_NOISE)


def _has_clear_evidence(recovery: Recovery) -> bool:
    """Whether a settled result has little noise, ample evidence and no sign of outliers."""
    certificate = recovery.certificate
    return (
        certificate.noise <= _LOW_NOISE
        and certificate.evidence >= _AMPLE * certificate.required_evidence
        and NoiseStatistics(*certificate.noise_statistics).are_inconspicuous()
    )


def _is_interrupted(attempts: Results) -> bool:
    return any(tried[-1].status is Status.INTERRUPTED for tried in attempts if tried)


def _only_lower_rank_helps(problem: Problem, recovery: Recovery) -> bool:
    """Whether the rank may be too high, and other candidates would have the same difficulty."""
    if recovery.status is Status.SETTLED:
        return recovery.rank == problem.rank > max(rank_above_noise(problem, recovery), 1)
    return recovery.status is Status.UNDERDETERMINED


def _downgraded_if_rank_too_low(problem: Problem, recovery: Recovery) -> Recovery:
    """A result with a lower rank than the given one; not certified if that may be too low."""
    if recovery.status is Status.SETTLED and rank_may_be_too_low(problem, recovery):
        return replace(recovery, status=Status.UNEXPLAINED)
    return recovery
