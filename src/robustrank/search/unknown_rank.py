"""Solving a problem whose rank is not given: find the rank, then solve with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robustrank.backend import full_precision
from robustrank.linalg import Factors
from robustrank.problem import Problem
from robustrank.result import RankRow, RankTable, Result
from robustrank.run import Run
from robustrank.search.one_problem import Search
from robustrank.search.rank_growth import GrownRank, RankGrowth
from robustrank.search.results import assemble, nothing_found, standing
from robustrank.solvers import GaussNewton, Outcome, Portfolio, Solver

# If the rank that was found does not lead to a certified result, bounds on it are tried in turn:
# the least bound, and the number of solvers of the portfolio that are tried with it. The other
# solvers found none of 53 results that were certified with a bound, in twice the time.
_BOUNDS = ((4, 3), (20, 1))


def solve_without_rank(
    problem: Problem,
    chosen: Solver[Any] | Portfolio,
    rng: np.random.Generator,
    run: Run,
    *,
    start: Factors | None = None,
) -> Result:
    """The best result of any rank, with the comparison of ranks in ``rank_table``.

    The rank of ``problem`` is not used. The search for the rank begins at the factors ``start``, in
    the user's units, if they are given.
    """
    search = _RankSearch(problem, chosen, rng, run, RankGrowth(problem, run, start))
    with full_precision(problem.y), np.errstate(all="ignore"):
        with run:
            return search.result()
        return search.stopped()


@dataclass(eq=False)
class _RankSearch:
    """The search for the rank, and the solutions with the rank that it finds or a bound on it."""

    problem: Problem
    chosen: Solver[Any] | Portfolio
    rng: np.random.Generator
    run: Run
    growth: RankGrowth
    table: RankTable | None = None
    searches: list[Search] = field(default_factory=list)  # one for each rank

    def result(self) -> Result:
        """The result, certified if possible."""
        best = self.growth.grow()
        if best is None:
            rank = 1
            self._solve(rank, self.chosen)
        else:
            grown = GrownRank(self.problem, best, self.growth.rows)
            rank, self.table = grown.rank, grown.table()
            self._continue(grown)
        if isinstance(self.chosen, Portfolio) and not (self.table and self.table.is_clear):
            self._solve_with_bounds(self.chosen, rank)
        return self._best()

    def stopped(self) -> Result:
        """The best result when the run was stopped: of a search, or of the search for the rank."""
        if not self.searches:
            return self._of_growth()
        best = self._best()
        known = None if best.certified else self._of_growth()
        if known is None or best.certificate.misfit <= known.certificate.misfit:
            return best
        return replace(known, attempts=best.attempts)

    def _best(self) -> Result:
        found = [search.best() for search in self.searches]
        best = max(found, key=standing)
        attempts = tuple(one for result in found for one in result.attempts)
        table = None if self.table is None else _with_result(self.table, best)
        return replace(best, attempts=attempts, rank_table=table)

    def _solve(
        self,
        rank: int,
        chosen: Solver[Any] | Portfolio,
        start: Factors | None = None,
        after: Outcome | None = None,
    ) -> None:
        search = Search(self.problem.of_rank(rank), chosen, self.rng, self.run, start)
        self.searches.append(search)
        search.explore(after=after)

    def _continue(self, grown: GrownRank) -> None:
        """Solve with the rank of the best fit, going on from there if the first solver can."""
        fit, rank, first = grown.best, grown.rank, self.chosen.solvers[0]
        if fit.solver == first and rank == fit.rank:  # where a solver begins is not compared
            self._solve(rank, self.chosen, after=fit.outcome)
        else:
            can_start = self.growth.start is not None or isinstance(first, GaussNewton)
            self._solve(rank, self.chosen, grown.factors() if can_start else None)

    def _solve_with_bounds(self, chosen: Portfolio, rank: int) -> None:
        """Try bounds on the rank until a result is certified."""
        for least, solvers in _BOUNDS:
            bound = min(max(least, 2 * rank), self.growth.most)
            if self.searches[-1].best().certified or bound <= rank:
                break
            self._solve(bound, replace(chosen, solvers=chosen.solvers[:solvers]))
            rank = bound

    def _of_growth(self) -> Result:
        """The best fit of the search for the rank, or the zero matrix if there is none."""
        growth = self.growth
        if growth.best is not None:
            fit = growth.best
            problem, solver, outcome = self.problem.of_rank(fit.rank), fit.solver, fit.outcome
        elif growth.driving is not None:
            solver, drive = growth.driving
            (outcome,) = drive.outcomes()
            problem = self.problem.of_rank(int(outcome.state.U.shape[1]))
        else:
            return replace(nothing_found(self.problem, GaussNewton()), stopped=self.run.stopped)
        result = assemble(problem, solver, outcome, tested=False)
        return replace(result, stopped=self.run.stopped)


def _with_result(table: RankTable, result: Result) -> RankTable:
    """The comparison of ranks with that of the result."""
    rows = {row.rank: row for row in table.rows}
    if result.rank not in rows:
        certificate, values = result.certificate, result.singular_values()
        error = certificate.misfit if certificate.is_exact else certificate.prediction_error
        rows[result.rank] = RankRow.of(values, error)
    return replace(table, rows=tuple(rows[k] for k in sorted(rows)), chosen=result.rank)
