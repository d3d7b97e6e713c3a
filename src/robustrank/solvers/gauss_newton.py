"""Gauss–Newton on the rank-r tangent space, over the measurements it believes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np

from robustrank.backend import (
    Array,
    check_count,
    check_positive,
    epsilon,
    lower_median,
    namespace,
)
from robustrank.least_squares import damped_least_squares
from robustrank.operators import Tangent
from robustrank.problem import Problem
from robustrank.solvers.base import MovedState, Solver
from robustrank.solvers.retraction import Point, retract
from robustrank.spectral import truncated_start
from robustrank.trust import MedianTruncation, SoftTruncation, TrustRule


class Phase(IntEnum):
    """Where the search stands; it never goes back."""

    SEARCHING = 0
    CONVERGING = 1  # the misfit vanishes: no more damping
    SETTLING = 2  # the steps do: least squares on what the trust rule believes


_SMALL_MISFIT = 1e-3
_SMALL_CHANGE = 1e-3
# Without noise so many steps are enough. With it, weights that follow the median would in the end
# believe only what the answer happens to meet.
_CONVERGING_STEPS = 5


@dataclass(frozen=True, eq=False)
class GaussNewtonState(MovedState):
    """Beside the state, the point in its orthonormal form and where the search stands."""

    point: Point
    tangent: Tangent
    width: float  # of the soft truncation
    iteration: int
    phase: Phase
    since: int  # the iteration at which it began


@dataclass(frozen=True)
class GaussNewton(Solver[GaussNewtonState]):
    """Damped Gauss–Newton with a trust that tightens as the search goes on.

    The search weighs measurements softly, by (1 + (|residual|/width)²)^−power, over a width that
    starts at ``width`` typical measurements, shrinks by ``narrowing`` with every step and is never
    more than ``width_medians`` medians of the residuals: lenient while everything is far off,
    strict once the right answer shows. It damps the steps in proportion to the squared misfit,
    which is the size of what linearising leaves out. Near the answer there is no more damping, and
    it converges quadratically; what noise then leaves is settled by least squares on the
    measurements within ``alpha_h`` medians.
    """

    check_every: ClassVar[int] = 1
    rounding: ClassVar[float] = 64.0
    alpha_y: float = 4.0  # truncation of the spectral start
    # Once the answer is found. Twice the paper's: near the limit a measurement that is left out is
    # missed by twice what it is met by when kept, and would never be let in again.
    alpha_h: float = 12.0
    width: float = 3.0
    narrowing: float = 0.97
    width_medians: float = 6.0
    power: float = 2.0
    cut: float = 10.0  # medians beyond which nothing is believed during the search
    damping: float = 3.0  # at the first step, relative to the mean diagonal of JᵀJ
    damping_decay: float = 0.93
    damping_misfit: float = 1.0  # at most this many squared misfits
    extra_rank: int = 0  # columns above the rank to start with
    shrink_every: int = 8  # steps after which one of them is dropped
    max_iterations: int = 80
    tolerance: float = 1e-6  # convergence is quadratic: the error is then about the square of it
    name: str = "Gauss–Newton"

    def __post_init__(self) -> None:
        for alpha in (self.alpha_y, self.alpha_h, self.cut):
            MedianTruncation(alpha)  # refuses a truncation that makes no sense
        check_positive(
            width=self.width,
            narrowing=self.narrowing,
            power=self.power,
            damping=self.damping,
            damping_decay=self.damping_decay,
        )
        check_count(max_iterations=self.max_iterations, shrink_every=self.shrink_every)

    @property
    def trust(self) -> TrustRule:
        return MedianTruncation(self.alpha_h)

    def linearised(self, problem: Problem, state: GaussNewtonState) -> tuple[Tangent, Array, Array]:
        return state.tangent, state.point.left, state.point.right

    def start(self, problem: Problem, rng: np.random.Generator) -> GaussNewtonState:
        n1, n2 = problem.operator.matrix_shape
        columns = min(problem.rank + self.extra_rank, n1, n2)
        U0, V0 = truncated_start(problem, MedianTruncation(self.alpha_y), rng, rank=columns)
        xp = namespace(U0)
        root = xp.sqrt(xp.sum(U0**2, axis=0))  # the columns are orthogonal, of length √σ
        safe = xp.where(root > 0, root, xp.ones_like(root))
        point = Point(U0 / safe, root**2, V0 / safe)
        return self.begin(problem, point, problem.scale)

    def begin(self, problem: Problem, point: Point, error: float) -> GaussNewtonState:
        """The state before the first step from a point whose measurements are off by ``error``."""
        return self._observe(problem, point, self.width * error, 0, 1.0, Phase.SEARCHING, 0)

    def step(self, problem: Problem, state: GaussNewtonState) -> GaussNewtonState:
        misfit, total = float(state.median) / problem.scale, namespace(state.weights).sum
        W = damped_least_squares(
            state.tangent,
            (state.point.left, state.point.right),
            state.weights,
            state.residual,
            damping=self._damping(state, misfit) * float(total(state.weights)),
            tolerance=min(0.01, max(0.1 * misfit, 1e-12, 16 * epsilon(state.residual))),
        )
        iteration = state.iteration + 1
        rank = self._columns(problem, state, iteration)
        point = retract(state.point, W, rank)
        norm = namespace(W).linalg.vector_norm
        change = float(norm(W)) / (float(norm(state.point.values)) or 1.0)
        if state.point.values.shape[0] > problem.rank:
            # Nothing is small yet: a misfit may be bought with the columns that are to go.
            misfit, change = max(misfit, 1.0), max(change, 1.0)
        phase = _next_phase(state, misfit, change)
        since = state.since if phase is state.phase else iteration
        width = state.width * self.narrowing
        return self._observe(problem, point, width, iteration, change, phase, since)

    def _damping(self, state: GaussNewtonState, misfit: float) -> float:
        """Relative to the mean diagonal of JᵀWJ, which is about Σ w_i."""
        # Never less than rounding: moving both factors at once without moving X costs nothing.
        least = 16 * epsilon(state.residual)
        if state.phase > Phase.SEARCHING:
            return least
        scheduled = self.damping * self.damping_decay**state.iteration
        return max(min(scheduled, self.damping_misfit * misfit**2), least)

    def _columns(self, problem: Problem, state: GaussNewtonState, iteration: int) -> int:
        if state.phase > Phase.SEARCHING:
            return problem.rank
        left = self.extra_rank - iteration // self.shrink_every
        return min(problem.rank + max(left, 0), int(state.point.values.shape[0]))

    def _observe(
        self,
        problem: Problem,
        point: Point,
        width: float,
        iteration: int,
        change: float,
        phase: Phase,
        since: int,
    ) -> GaussNewtonState:
        """The state at a point: one pass over the sensing data, which yields the tangent too."""
        xp = namespace(point.left)
        tangent = problem.operator.tangent(point.left, point.right)
        U = point.left * point.values
        fitted = tangent.apply(xp.concat([U, xp.zeros_like(point.right)], axis=0))
        residual = problem.y - fitted
        magnitudes = xp.abs(residual)
        median = lower_median(magnitudes)
        width = min(width, self.width_medians * float(median))
        least = float(xp.finfo(residual.dtype).smallest_normal)
        soft = SoftTruncation(max(width, least), self.power, self.cut)
        rule = self.trust if phase is Phase.SETTLING else soft
        weights = rule.weights(magnitudes, median)
        return GaussNewtonState(
            U,
            point.right,
            residual,
            median,
            weights,
            change,
            point,
            tangent,
            width,
            iteration,
            phase,
            since,
        )


def _next_phase(state: GaussNewtonState, misfit: float, change: float) -> Phase:
    if state.phase is Phase.SEARCHING and misfit < _SMALL_MISFIT:
        return Phase.CONVERGING
    if state.phase is Phase.SEARCHING and change < _SMALL_CHANGE:
        return Phase.SETTLING
    if state.phase is Phase.CONVERGING and state.iteration >= state.since + _CONVERGING_STEPS:
        return Phase.SETTLING
    return state.phase
