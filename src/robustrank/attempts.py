"""Candidates, tried on problems in turn until an answer proves itself."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import Array, full_precision, namespace
from robustrank.certificate import certify, conclude, explained, explained_tolerance
from robustrank.columns import may_be_too_few, may_be_too_many
from robustrank.determination import all_are_checked, pins_down
from robustrank.metrics import balance
from robustrank.problem import Problem
from robustrank.result import Attempt, Recovery, Status, singular_values
from robustrank.solvers import Callback, Outcome, Portfolio, RankSearch, Solver, State, drive

_TOLD_TO_STOP = {Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED}
# Singular values below this share of what counts as explained come of a rank given too large.
_EMPTY = 0.01


def solve(
    problems: Sequence[Problem],
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> list[Recovery]:
    """The answers to problems of one shape, each with the best of what the candidates came to."""
    ends = None if time_limit is None else time.perf_counter() + time_limit
    search = _Search(chosen, generator, callback, ends)
    with full_precision(problems[0].y):
        attempts = search.attempts(problems)
    return [replace(_best(tried), attempts=tuple(map(_attempt, tried))) for tried in attempts]


@dataclass(frozen=True)
class _Search:
    """The candidates, tried on problems in turn."""

    chosen: Solver[Any] | Portfolio
    generator: np.random.Generator
    callback: Callback | None
    ends: float | None  # the time at which to stop

    def attempts(self, problems: Sequence[Problem]) -> list[list[Recovery]]:
        """For each problem what the candidates came to, until an answer was good enough."""
        attempts: list[list[Recovery]] = [[] for _ in problems]
        unsolved = list(range(len(problems)))
        doubtful: list[int] = []  # those that nothing helps but a lower rank than was given
        for candidate in self.chosen.candidates(problems[0]):
            if isinstance(candidate, RankSearch):
                self._try_lower_rank(candidate, problems, attempts, unsolved + doubtful)
                doubtful = []
            else:
                self._try(candidate, problems, attempts, unsolved)
                doubtful += [k for k in unsolved if _is_doubtful(problems[k], attempts[k][-1])]
            unsolved = [k for k in unsolved if k not in doubtful and not _is_over(attempts[k])]
            if any(tried[-1].status is Status.INTERRUPTED for tried in attempts):
                for number in unsolved:
                    attempts[number][-1] = replace(attempts[number][-1], status=Status.INTERRUPTED)
                break
            if not unsolved + doubtful:
                break
        return attempts

    def _try(
        self,
        candidate: Solver[Any],
        problems: Sequence[Problem],
        attempts: list[list[Recovery]],
        numbers: list[int],
    ) -> None:
        """Add what a candidate comes to on some of the problems."""
        outcomes = self._drive(candidate, [problems[number] for number in numbers])
        for number, outcome in zip(numbers, outcomes, strict=True):
            attempts[number].append(_recovery(problems[number], candidate, outcome))

    def _try_lower_rank(
        self,
        candidate: RankSearch,
        problems: Sequence[Problem],
        attempts: list[list[Recovery]],
        numbers: list[int],
    ) -> None:
        """Add the attempts at the rank that is seen, where that is lower than the one given."""
        numbers = [number for number in numbers if problems[number].rank > 1]
        seen = self._ranks_seen(candidate, problems, attempts, numbers)
        for rank in sorted(set(seen.values())):
            group = [number for number in numbers if seen.get(number) == rank]
            tried = self.attempts([problems[number].of_rank(rank) for number in group])
            for number, more in zip(group, tried, strict=True):
                attempts[number] += [_without_false_claim(problems[number], it) for it in more]
            if any(more[-1].status is Status.INTERRUPTED for more in tried):
                break

    def _ranks_seen(
        self,
        candidate: RankSearch,
        problems: Sequence[Problem],
        attempts: list[list[Recovery]],
        numbers: list[int],
    ) -> dict[int, int]:
        """The ranks that are lower than those given; none once Ctrl-C was pressed.

        Where it was told to stop, the best so far is the last attempt.
        """
        lower: dict[int, int] = {}
        outcomes = self._drive(candidate, [problems[number] for number in numbers])
        for number, outcome in zip(numbers, outcomes, strict=True):
            if outcome.ended in _TOLD_TO_STOP:
                attempts[number].append(replace(_best(attempts[number]), status=outcome.ended))
                continue
            rank = candidate.rank_seen(problems[number].normalised(), outcome.state)
            if rank is not None and rank < problems[number].rank:
                lower[number] = rank
        interrupted = any(outcome.ended is Status.INTERRUPTED for outcome in outcomes)
        return {} if interrupted else lower

    def _drive(self, solver: Solver[Any], problems: list[Problem]) -> list[Outcome]:
        if not problems:
            return []
        remaining = None if self.ends is None else self.ends - time.perf_counter()
        return drive(problems, solver, self.generator, callback=self.callback, time_limit=remaining)


def _is_over(tried: list[Recovery]) -> bool:
    """Whether there is no point in another candidate: there is an answer, or someone said stop."""
    return tried[-1].status in _TOLD_TO_STOP or any(attempt.converged for attempt in tried)


def _is_doubtful(problem: Problem, recovery: Recovery) -> bool:
    """Whether the rank may be too large, and no other candidate would do better with it."""
    if recovery.status is Status.SETTLED:
        return may_be_too_many(problem, recovery)
    return recovery.status is Status.UNDERDETERMINED


def _without_false_claim(problem: Problem, recovery: Recovery) -> Recovery:
    """What came of a rank lower than the one given, unclaimed where that may be too low."""
    if recovery.status is Status.SETTLED and may_be_too_few(problem, recovery):
        return replace(recovery, status=Status.UNEXPLAINED)
    return recovery


def _best(attempts: list[Recovery]) -> Recovery:
    """The answer that is best founded: recovered, or settled and the better at predicting.

    Without one, that with the most evidence, or which explains most if there is none. Where the
    callback stopped it, what it stopped.
    """
    last = attempts[-1]
    if last.status is Status.STOPPED:
        return last
    best = max(attempts, key=_standing)
    if last.status is Status.TIME_LIMIT and best.converged:
        return best  # only a better one was still looked for
    return replace(best, status=last.status) if last.status in _TOLD_TO_STOP else best


def _standing(recovery: Recovery) -> tuple[float, ...]:
    seen = recovery.certificate
    if recovery.status is Status.RECOVERED:
        return (2.0,)
    if recovery.status is Status.SETTLED:
        return (1.0, -seen.prediction_error)
    # Less than none is none: no answer at all has less than that.
    return (0.0, max(seen.evidence, 0.0), seen.explained, -seen.misfit)


def _attempt(recovery: Recovery) -> Attempt:
    seen = recovery.certificate
    return Attempt(
        recovery.solver,
        recovery.status,
        recovery.rank,
        seen.explained,
        seen.misfit,
        recovery.iterations,
        recovery.seconds,
    )


def _recovery(problem: Problem, solver: Solver[Any], outcome: Outcome) -> Recovery:
    state, units = outcome.state, problem.units
    residual = problem.in_its_units(state.residual)
    believed = namespace(residual).astype(state.weights > 0, residual.dtype)
    with np.errstate(over="ignore"):  # a run that diverged may leave anything
        certificate = certify(problem, residual, believed)
    status = conclude(outcome.ended, certificate)
    if status.converged:  # a claim: see whether what it rests on can bear it
        certificate = replace(
            certificate, determined=_is_determined(problem, solver, state, residual, believed)
        )
        status = conclude(outcome.ended, certificate)
    left, right = state.U, state.V
    if certificate.holds:
        left, right = _of_its_rank(left, right, _EMPTY * explained_tolerance(problem))
    root = math.sqrt(units.matrix)
    cutoff = solver.cutoff(state)
    return Recovery(
        left=left * root,
        right=right * root,
        outliers=(believed == 0) & ~explained(problem, residual),
        status=status,
        certificate=certificate,
        residual=residual,
        cutoff=None if cutoff is None else float(cutoff * units.measurement),
        history=outcome.history,
        solver=solver.name,
        iterations=outcome.iterations,
        passes=outcome.history.checks[-1].passes if outcome.history.checks else 0.0,
        seconds=outcome.history.checks[-1].seconds if outcome.history.checks else 0.0,
    )


def _is_determined(
    problem: Problem, solver: Solver[Any], state: State, residual: Array, believed: Array
) -> bool:
    """Whether the measurements that are met, or believed where none are met, leave nothing open."""
    xp = namespace(residual)
    met = explained(problem, residual)
    exact = int(xp.count_nonzero(met)) > problem.degrees_of_freedom
    rests_on = xp.astype(met if exact else believed > 0, residual.dtype)
    linearised = solver.linearised(problem.normalised(), state)
    return pins_down(*linearised, rests_on) and all_are_checked(*linearised, rests_on)


def _of_its_rank(left: Array, right: Array, negligible: float) -> tuple[Array, Array]:
    """Factors of the same matrix without the columns it has no use for."""
    values = singular_values(left, right)
    rank = int((values > negligible * values[0]).sum())
    if rank in (0, left.shape[1]):  # none where they are not finite
        return left, right
    left, right = balance(left, right)
    return left[:, :rank], right[:, :rank]
