"""Solving a problem whose rank is not given: find the rank, then solve with it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import full_precision
from robustrank.operators import DataLost, OutOfTime
from robustrank.problem import Problem
from robustrank.result import RankRow, RankTable, Recovery, StopReason
from robustrank.solvers.assembly import assemble
from robustrank.solvers.base import Solver
from robustrank.solvers.best_attempt import standing, was_stopped
from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.monitor import Callback, reason_of
from robustrank.solvers.portfolio import Portfolio
from robustrank.solvers.rank_growth import GrownRank, RankFit, RankGrowth
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
) -> Recovery:
    """The best result of any rank, with the comparison of ranks in ``rank_table``.

    The rank of ``problem`` is not used.
    """
    ends = None if time_limit is None else time.perf_counter() + time_limit
    growth = RankGrowth(problem, callback, ends)
    try:
        with full_precision(problem.y), np.errstate(all="ignore"):
            best = growth.run()
    except (KeyboardInterrupt, OutOfTime, DataLost) as error:
        if growth.best is None:
            raise
        return _stopped(problem, growth.best, reason_of(error))
    if growth.stopped is not None:
        return _stopped(problem, best, growth.stopped)
    grown = GrownRank(problem, best, growth.rows)
    table = grown.table()

    def solved(rank: int, first: Any) -> Recovery:
        remaining = None if ends is None else ends - time.perf_counter()
        (recovery,) = solve(
            [problem.of_rank(rank)],
            chosen,
            generator,
            callback=callback,
            time_limit=remaining,
            start=first,
        )
        return recovery

    start = grown.factors() if _can_start(chosen, problem) else None
    recovery = solved(grown.rank, start)
    unsolved = not (recovery.certified or was_stopped(recovery) or table.is_clear)
    bound = min(growth.most, _LARGEST_BOUND)
    if unsolved and isinstance(chosen, Portfolio) and bound > grown.rank:
        other = solved(bound, None)
        attempts = recovery.attempts + other.attempts
        recovery = replace(max(recovery, other, key=standing), attempts=attempts)
    return replace(recovery, rank_table=_with_result(table, recovery))


def _with_result(table: RankTable, recovery: Recovery) -> RankTable:
    """The comparison of ranks with that of the result."""
    rows = {row.rank: row for row in table.rows}
    if recovery.rank not in rows:
        certificate, values = recovery.certificate, recovery.singular_values()
        error = certificate.misfit if certificate.is_exact else certificate.prediction_error
        rows[recovery.rank] = RankRow.of(values, error)
    return replace(table, rows=tuple(rows[k] for k in sorted(rows)), chosen=recovery.rank)


def _can_start(chosen: Solver[Any] | Portfolio, problem: Problem) -> bool:
    """Whether the solver, or the first of a portfolio, is one that can begin anywhere."""
    return isinstance(next(iter(chosen.candidates(problem))), GaussNewton)


def _stopped(problem: Problem, fit: RankFit, reason: StopReason) -> Recovery:
    """The result if the search for the rank was stopped."""
    with full_precision(problem.y), np.errstate(all="ignore"):
        outcome = replace(fit.outcome, reason=reason)
        return assemble(problem.of_rank(fit.rank), fit.solver, outcome)
