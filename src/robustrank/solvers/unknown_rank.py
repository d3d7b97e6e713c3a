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

# If the rank that was found does not lead to a certified result, bounds on it are tried in turn:
# the least bound, and the number of solvers of the portfolio that are tried with it. The other
# solvers found none of 53 results that were certified with a bound, in twice the time.
_BOUNDS = ((4, 3), (20, 1))


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
        self.recovery = self._solved(
            grown.rank, grown.factors() if continues else None, self.chosen
        )
        if was_stopped(self.recovery):
            return not_worse_than(self._unsolved(StopReason.INTERRUPTED), self.recovery)
        if isinstance(self.chosen, Portfolio) and not table.is_clear:
            self.recovery = self._solved_with_bounds(self.chosen, self.recovery, grown.rank)
        return replace(self.recovery, rank_table=_with_result(table, self.recovery))

    def _solved_with_bounds(self, chosen: Portfolio, found: Recovery, rank: int) -> Recovery:
        """The best result with bounds on the rank, until one is certified, or the one so far."""
        for least, solvers in _BOUNDS:
            bound = min(max(least, 2 * rank), self.growth.most)
            if found.certified or was_stopped(found) or bound <= rank:
                break
            some = replace(chosen, solvers=chosen.solvers[:solvers])
            other = self._solved(bound, None, some)
            attempts = found.attempts + other.attempts
            found, rank = replace(max(found, other, key=standing), attempts=attempts), bound
        return found

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

    def _solved(self, rank: int, start: Any, chosen: Solver[Any] | Portfolio) -> Recovery:
        """The result with a rank."""
        ends = self.growth.ends
        (recovery,) = solve(
            [self.growth.problem.of_rank(rank)],
            chosen,
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
