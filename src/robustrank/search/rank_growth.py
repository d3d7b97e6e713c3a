"""The rank of the solution if none is given: fits of increasing rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustrank.backend import Array, as_generator, namespace, to_numpy
from robustrank.certificate import edge_of_noise, exact_tolerance, required_fits
from robustrank.linalg import Factors, lower_median, scale_columns, weighted
from robustrank.problem import Problem
from robustrank.result import FIRST_RANKS, PROGRESS, RankRow, RankTable, Result, left_out_error
from robustrank.run import Run
from robustrank.search.results import Found
from robustrank.solvers import Drive, GaussNewtonState, TruncatedWeights
from robustrank.solvers.base import normalized_factors
from robustrank.solvers.driver import Until
from robustrank.solvers.portfolio import SOFT

# A fit ends when a step no longer reduces the misfit by this factor. The damping of the first steps
# may delay that.
_FIRST_STEPS = 3
# A fit with larger prediction errors, relative to a typical measurement, leads nowhere.
_USELESS = 0.5


@dataclass(frozen=True, eq=False)
class RankFit:
    """A fit of one rank, in the units of the normalized problem."""

    found: Found
    state: GaussNewtonState
    row: RankRow
    typical: Array  # (m,) one for the measurements whose residual is typical, zero for the others
    is_exact: bool

    @property
    def rank(self) -> int:
        """The number of its components."""
        return self.row.rank

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """Its singular values."""
        return to_numpy(self.state.point.values)


@dataclass(eq=False)
class RankGrowth:
    """Fits of increasing rank, until another component no longer helps.

    The components to add are those of the back-projected residuals that are larger than noise would
    be; at least one is tried. They are kept if they reduce the error of predictions. The fits are
    continued from each other, so that the search takes about as long as one or two solutions of the
    rank that it finds. The rank of the problem is not used.
    """

    problem: Problem
    run: Run
    start: Factors | None = None  # of the first fit, in the user's units
    best: RankFit | None = None
    rows: dict[int, RankRow] = field(default_factory=dict)
    # The best fit so far, or the present one before the first has ended:
    found: list[Found] = field(default_factory=list)
    _compared: dict[int, RankRow] | None = None  # at the end, also ranks that were not fitted

    def grow(self) -> RankFit | None:
        """The fit of the rank to use; None if there is none that is finite."""
        self._grow()
        self._try_bound()
        if self.best is not None:
            self._compared = self._comparison(self.best)
        return self.best

    def _grow(self) -> None:
        most, y = largest_rank(self.problem), self._normalized.y
        if self.start is None:
            factors = self._components(y, _typical(y), min(most, FIRST_RANKS))
        else:
            factors = normalized_factors(self.problem.with_unit_rows, self.start)
        while True:
            fit = self._fit(factors, int(factors[0].shape[1]))
            if fit is None or not self._is_kept(fit) or fit.is_exact or fit.rank >= most:
                return
            more = min(most - fit.rank, max(fit.rank, FIRST_RANKS))
            state, xp = fit.state, namespace(fit.state.U)
            left, right = self._components(state.residual, state.weights, more)
            factors = xp.concat([state.U, left], axis=1), xp.concat([state.V, right], axis=1)

    def _try_bound(self) -> None:
        """If the best fit leads nowhere, try one of the largest possible rank, if that is near.

        With few measurements, fits of lower ranks may explain nothing.
        """
        most, best = largest_rank(self.problem), self.best
        if best is not None and best.row.error > _USELESS and most <= 2 * best.rank:
            fit = self._fit(None, most)
            if fit is not None:
                self._is_kept(fit)

    def _is_kept(self, fit: RankFit) -> bool:
        """Whether a fit is exact or reduces the error of predictions; it is the best one then."""
        if self.best is not None:
            freedom = self._fitted_freedom(fit.rank, self.best.rank)
            compared = self._row(fit.values, fit.state.residual, self.best.typical, freedom)
            if not (fit.is_exact or compared.error < self.best.row.error):
                self.rows.setdefault(fit.rank, compared)
                return False
        self.rows[fit.rank] = fit.row
        self.best, self.found = fit, [fit.found]
        return True

    @property
    def rank(self) -> int:
        """The rank of the best fit without components that are due to rounding; 1 without one."""
        if self.best is None:
            return 1
        negligible = exact_tolerance(self.problem) * self.best.values[0]
        return max(int(np.count_nonzero(self.best.values > negligible)), 1)

    @property
    def bound(self) -> int:
        """An upper bound on the rank if the best fit does not lead to a certified result."""
        return min(largest_rank(self.problem), max(FIRST_RANKS, 2 * self.rank))

    def factors(self) -> Factors | None:
        """The factors of the best fit without empty components, in the user's units."""
        if self.best is None:
            return None
        root = math.sqrt(self.problem.with_unit_rows.units.matrix)
        point = self.best.state.point.truncated(self.rank)
        return point.scaled_left * root, point.right * root

    def table(self, result: Result) -> RankTable | None:
        """The comparison of the ranks up to that of the best fit, with the one of a result.

        None if there is no fit, or if the search for the rank was stopped.
        """
        if self._compared is None:
            return None
        rows, certificate = dict(self._compared), result.certificate
        error = certificate.misfit if certificate.is_exact else certificate.prediction_error
        known = rows.get(result.rank)
        if known is None or (result.certified and error < known.error):
            rows[result.rank] = RankRow.of(result.singular_values(), error)
        ordered = tuple(rows[rank] for rank in sorted(rows))
        return RankTable(ordered, result.rank, min(result.shape))

    def _comparison(self, best: RankFit) -> dict[int, RankRow]:
        """The row of each rank; lower ranks that were not fitted are those of the truncated fit."""
        rows = {rank: row for rank, row in self.rows.items() if rank != best.rank}
        rows[self.rank] = RankRow.of(best.values[: self.rank], best.row.error)
        lower = [rank for rank in range(1, self.rank) if rank not in rows]
        return rows | {rank: self._truncated_row(best, rank) for rank in lower}

    @property
    def _normalized(self) -> Problem:
        return self.problem.with_unit_rows.normalized()

    def _freedom(self, rank: int) -> float:
        return float(self.problem.of_rank(rank).degrees_of_freedom)

    def _components(self, residual: Array, weights: Array, most: int) -> Factors:
        """The leading components of what residuals measure: those above noise, or one."""
        xp, operator = namespace(residual), self._normalized.operator
        kept = weighted(residual, weights)
        total, squares = (float(xp.sum(weights**power)) for power in (1, 2))
        gain = float(operator.gain)
        left, values, right = operator.leading_svd(
            kept / (total * gain**2), most, as_generator(0), approximate=True
        )
        deviation = math.sqrt(float(xp.sum(kept**2)) / squares)
        edge = edge_of_noise(self._normalized, deviation, total**2 / squares)
        count = max(int(np.count_nonzero(to_numpy(values) > edge)), 1)
        return scale_columns(left[:, :count], values[:count]), right[:, :count]

    def _fit(self, factors: Factors | None, rank: int) -> RankFit | None:
        """The fit of a rank, continued from factors if they are given; None if it is not finite."""
        problem, exact = self.problem.of_rank(rank), exact_tolerance(self.problem)
        solver = SOFT if factors is None else SOFT.starting_at(factors)
        reduction = math.inf if factors is None else PROGRESS
        until = Until(misfit=exact, reduction=reduction, after=_FIRST_STEPS)
        drive = Drive([solver.solved(problem)], solver, self.run, until)
        found = Found(problem, solver, drive.outcome)
        if self.best is None:
            self.found = [found]
        state = drive.to_the_end(as_generator(0))[0].state
        if not isinstance(state, GaussNewtonState):
            return None
        typical = _typical(state.residual)
        row = self._row(state.point.values, state.residual, typical, self._freedom(rank))
        is_exact = float(state.median) < exact * float(self._normalized.scale)
        return RankFit(found, state, row, typical, is_exact)

    def _fitted_freedom(self, rank: int, before: int) -> float:
        """The degrees of freedom of a fit whose components beyond some fit noise.

        A component that is fitted to noise follows its largest singular value. It takes as much of
        the noise as (√n1 + √n2)² degrees of freedom, about twice the number that it has.
        """
        spread = sum(math.sqrt(max(n - before, 0)) for n in self.problem.operator.matrix_shape)
        added = (rank - before) * spread**2 / (2 if self.problem.symmetric else 1)
        return max(self._freedom(rank), self._freedom(before) + added)

    def _row(self, values: Array, residual: Array, typical: Array, freedom: float) -> RankRow:
        """The row of a fit, with its error for the measurements that are marked as typical."""
        y, count = self._normalized.y, float(namespace(typical).sum(typical))
        noise = _root_mean_square(residual, typical) / _root_mean_square(y, _typical(y))
        return RankRow.of(to_numpy(values), left_out_error(noise, count, freedom))

    def _truncated_row(self, best: RankFit, rank: int) -> RankRow:
        """The row of a lower rank, by dropping components of the best fit."""
        state, values, xp = best.state, best.state.point.values, namespace(best.state.U)
        dropped = xp.concat([xp.zeros_like(values[:rank]), values[rank:]], axis=0)
        residual = state.residual + SOFT.tangent(self._normalized, state).measure(dropped)
        return self._row(values[:rank], residual, _typical(residual), self._freedom(rank))


def largest_rank(problem: Problem) -> int:
    """The largest rank that all measurements together could determine; at least one."""
    m, ranks = problem.operator.measurements, range(2, min(problem.operator.matrix_shape) + 1)
    return max((r for r in ranks if required_fits(problem.of_rank(r), m) <= m), default=1)


def _typical(residual: Array) -> Array:
    """One for the values that spectral initialization uses, zero for the others."""
    magnitudes = namespace(residual).abs(residual)
    return TruncatedWeights(SOFT.alpha_y).weights(magnitudes, lower_median(magnitudes))


def _root_mean_square(values: Array, weights: Array) -> float:
    xp = namespace(values)
    return math.sqrt(float(xp.sum(weighted(values, weights) ** 2)) / float(xp.sum(weights)))
