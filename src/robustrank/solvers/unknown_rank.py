"""Solving a problem whose rank is not given: find the rank, then solve with it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robustrank.backend import full_precision
from robustrank.linalg import Factors
from robustrank.operators import DataLost, OutOfTime
from robustrank.problem import Problem
from robustrank.result import RankRow, RankTable, Recovery, StopReason
from robustrank.solvers.assembly import assemble, nothing_found
from robustrank.solvers.base import Solver
from robustrank.solvers.best_attempt import not_worse_than, standing, was_stopped
from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.monitor import Callback, reason_of
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_growth import GrownRank, RankGrowth
from robustrank.solvers.search import solve

# A bound on the rank for solvers that find a lower one by themselves.
_LARGEST_BOUND = 20


def solve_without_rank(
    problem: Problem,
    chosen: Solver[Any] | Portfolio,
    generator: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
    start: Factors | None = None,
) -> Recovery:
    """The best result of any rank, with the comparison of ranks in ``rank_table``.

    The rank of ``problem`` is not used. The search for the rank begins at the factors ``start``, in
    the user's units, if they are given.
    """
    ends = None if time_limit is None else time.perf_counter() + time_limit
    run = _Run(RankGrowth(problem, callback, ends, start), chosen, generator)
    try:
        return run.result()
    except (KeyboardInterrupt, OutOfTime, DataLost) as error:
        return run.stopped(reason_of(error))


@dataclass(eq=False)
class _Run:
    """The search for the rank, and the solution with the rank that it finds."""

    growth: RankGrowth
    chosen: Solver[Any] | Portfolio
    generator: np.random.Generator
    recovery: Recovery | None = None

    def result(self) -> Recovery:
        """The result, certified if possible."""
        growth = self.growth
        with full_precision(growth.problem.y), np.errstate(all="ignore"):
            best = growth.run()
            if best is None or growth.stopped is not None:
                return self.stopped(growth.stopped or StopReason.INTERRUPTED)
            grown = GrownRank(growth.problem, best, growth.rows)
            table = grown.table()
        continues = growth.start is not None or self._can_start
        self.recovery = self._solved(grown.rank, grown.factors() if continues else None)
        if was_stopped(self.recovery):
            return not_worse_than(self._unsolved(StopReason.INTERRUPTED), self.recovery)
        bound = min(growth.most, _LARGEST_BOUND)
        unsolved = not (self.recovery.certified or table.is_clear)
        if unsolved and isinstance(self.chosen, Portfolio) and bound > grown.rank:
            other = self._solved(bound, None)
            attempts = self.recovery.attempts + other.attempts
            self.recovery = replace(max(self.recovery, other, key=standing), attempts=attempts)
        return replace(self.recovery, rank_table=_with_result(table, self.recovery))

    def stopped(self, reason: StopReason) -> Recovery:
        """What was found when the run was stopped."""
        if self.recovery is None:
            return self._unsolved(reason)
        return replace(self.recovery, status=reason.status)

    def _unsolved(self, reason: StopReason) -> Recovery:
        """The best fit of the search for the rank, or the zero matrix if there is none."""
        best, problem = self.growth.best, self.growth.problem
        with full_precision(problem.y), np.errstate(all="ignore"):
            if best is None:
                return nothing_found(problem, GaussNewton(), reason)
            outcome = replace(best.outcome, reason=reason)
            return assemble(problem.of_rank(best.rank), best.solver, outcome)

    def _solved(self, rank: int, start: Any) -> Recovery:
        """The result with a rank."""
        ends = self.growth.ends
        (recovery,) = solve(
            [self.growth.problem.of_rank(rank)],
            self.chosen,
            self.generator,
            callback=self.growth.callback,
            time_limit=None if ends is None else ends - time.perf_counter(),
            start=start,
        )
        return recovery

    @property
    def _can_start(self) -> bool:
        """Whether the solver, or the first of a portfolio, is one that can begin anywhere."""
        first = next(iter(self.chosen.candidates(self.growth.problem)))
        return isinstance(first, GaussNewton)


def _with_result(table: RankTable, recovery: Recovery) -> RankTable:
    """The comparison of ranks with that of the result."""
    rows = {row.rank: row for row in table.rows}
    if recovery.rank not in rows:
        certificate, values = recovery.certificate, recovery.singular_values()
        error = certificate.misfit if certificate.is_exact else certificate.prediction_error
        rows[recovery.rank] = RankRow.of(values, error)
    return replace(table, rows=tuple(rows[k] for k in sorted(rows)), chosen=recovery.rank)
