"""Trying candidates in turn until the certificate accepts a result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import full_precision
from robustrank.certificate import rank_may_be_too_high, rank_may_be_too_low
from robustrank.problem import Problem
from robustrank.result import Recovery, Status, StopReason
from robustrank.solvers.assembly import OutOfTime, assemble, summarize
from robustrank.solvers.base import Solver
from robustrank.solvers.driver import drive
from robustrank.solvers.monitor import Callback, Monitor, Outcome
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_estimate import RankEstimator

# The share of the time limit that iterations may use; the rest is for the certificate.
_ITERATING = 0.9
_STOPPED_EARLY = {StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED}

Results = list[list[Recovery]]  # for each problem, the results of the candidates so far


def solve(
    problems: Sequence[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> list[Recovery]:
    """The best result for each of several problems of one shape."""
    ends = None if time_limit is None else time.perf_counter() + time_limit
    search = _Search(chosen, generator, callback, ends)
    # A diverging run is reported by its status, not by warnings.
    with full_precision(problems[0].y), np.errstate(all="ignore"):
        attempts = search.run(problems)
        try:
            return [_result(tried) for tried in attempts]
        except KeyboardInterrupt:
            search.interrupt(problems, attempts)
            return [_result(tried) for tried in attempts]


@dataclass(frozen=True)
class _Search:
    chosen: Solver[Any] | Portfolio
    generator: np.random.Generator
    callback: Callback | None
    ends: float | None  # the time at which to stop

    def run(self, problems: Sequence[Problem]) -> Results:
        """Try the candidates on each problem until a result is certified or the run is stopped."""
        attempts: Results = [[] for _ in problems]
        try:
            self._run(problems, attempts)
        except KeyboardInterrupt:  # between the runs of two solvers
            self.interrupt(problems, attempts)
        return attempts

    def interrupt(self, problems: Sequence[Problem], attempts: Results) -> None:
        """Mark the problems that are not solved as interrupted, or the last one if all are."""
        open_ones = [k for k, tried in enumerate(attempts) if not (tried and _is_over(tried))]
        for k in open_ones or [len(attempts) - 1]:
            if attempts[k]:
                attempts[k][-1] = replace(attempts[k][-1], status=Status.INTERRUPTED)
            else:  # before the first solver: the zero matrix
                solver = next(iter(self.chosen.candidates(problems[k])))
                nothing = Monitor(problems[k].normalized(), solver, problems[k].units, None)
                attempts[k].append(assemble(problems[k], solver, nothing.outcome()))

    def _run(self, problems: Sequence[Problem], attempts: Results) -> None:
        unsolved = list(range(len(problems)))
        estimator = self._rank_estimator(problems[0])
        for candidate in self.chosen.candidates(problems[0]):
            self._try(candidate, problems, attempts, unsolved)
            lower = [k for k in unsolved if _only_lower_rank_helps(problems[k], attempts[k][-1])]
            unsolved = [k for k in unsolved if k not in lower and not _is_over(attempts[k])]
            if estimator is not None and not _is_interrupted(attempts) and unsolved + lower:
                self._try_lower_rank(estimator, problems, attempts, unsolved + lower)
                unsolved = [k for k in unsolved if not _is_over(attempts[k])]
            estimator = None  # once, after the first candidate
            if _is_interrupted(attempts):
                for k in unsolved:
                    attempts[k][-1] = replace(attempts[k][-1], status=Status.INTERRUPTED)
                break
            if not unsolved:
                break

    def _rank_estimator(self, problem: Problem) -> RankEstimator | None:
        if isinstance(self.chosen, Portfolio):
            return self.chosen.rank_estimator_for(problem)
        return None

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
                result = assemble(problems[number], candidate, outcome, self._check_time)
                attempts[number].append(result)
                done.add(number)
        except KeyboardInterrupt:  # the others without the tests of the certificate
            for number, outcome in zip(numbers, outcomes, strict=True):
                if number not in done:
                    stopped = replace(outcome, reason=StopReason.INTERRUPTED)
                    attempts[number].append(assemble(problems[number], candidate, stopped))

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
            if outcome.reason in _STOPPED_EARLY:
                best = _best(attempts[number])
                attempts[number].append(replace(best, status=outcome.reason.status))
                continue
            rank = estimator.rank(problems[number], outcome)
            if rank is not None and rank < problems[number].rank:
                lower[number] = rank
        interrupted = any(outcome.reason is StopReason.INTERRUPTED for outcome in outcomes)
        return {} if interrupted else lower

    def _drive(self, solver: Solver[Any], problems: list[Problem]) -> list[Outcome]:
        if not problems:
            return []
        remaining = None
        if self.ends is not None:
            remaining = _ITERATING * (self.ends - time.perf_counter())
        return drive(problems, solver, self.generator, callback=self.callback, time_limit=remaining)

    def _check_time(self) -> None:
        if self.ends is not None and time.perf_counter() > self.ends:
            raise OutOfTime


def _result(tried: list[Recovery]) -> Recovery:
    """The best of several attempts, with a summary of all."""
    return replace(_best(tried), attempts=tuple(map(summarize, tried)))


def _is_over(tried: list[Recovery]) -> bool:
    """Whether no other candidate is needed: a result is certified, or the run was stopped."""
    return _was_stopped(tried[-1]) or any(attempt.certified for attempt in tried)


def _was_stopped(recovery: Recovery) -> bool:
    return recovery.status in {reason.status for reason in _STOPPED_EARLY}


def _is_interrupted(attempts: Results) -> bool:
    return any(tried[-1].status is Status.INTERRUPTED for tried in attempts if tried)


def _only_lower_rank_helps(problem: Problem, recovery: Recovery) -> bool:
    """Whether the rank may be too high, and other candidates would have the same difficulty."""
    if recovery.status is Status.SETTLED:
        return rank_may_be_too_high(problem, recovery)
    return recovery.status is Status.UNDERDETERMINED


def _downgraded_if_rank_too_low(problem: Problem, recovery: Recovery) -> Recovery:
    """A result with a lower rank than the given one; not certified if that may be too low."""
    if recovery.status is Status.SETTLED and rank_may_be_too_low(problem, recovery):
        return replace(recovery, status=Status.UNEXPLAINED)
    return recovery


def _best(attempts: list[Recovery]) -> Recovery:
    """The result to return.

    A RECOVERED result comes first, then the SETTLED result with the smallest prediction error, then
    the result with the most evidence. If the callback stopped the run, it is the last attempt.
    """
    last = attempts[-1]
    if last.status is Status.STOPPED:
        return last
    best = max(attempts, key=_standing)
    if last.status is Status.TIME_LIMIT and best.certified:
        return best  # time ran out while looking for a better one
    return replace(best, status=last.status) if _was_stopped(last) else best


def _standing(recovery: Recovery) -> tuple[float, ...]:
    certificate = recovery.certificate
    if recovery.status is Status.RECOVERED:
        return (2.0,)
    if recovery.status is Status.SETTLED:
        return (1.0, -certificate.prediction_error)
    # Negative evidence counts as none, which is what the zero matrix has.
    return (0.0, max(certificate.evidence, 0.0), certificate.exact_fits, -certificate.misfit)
