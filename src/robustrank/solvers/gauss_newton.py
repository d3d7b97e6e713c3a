"""Gauss–Newton on the rank-r tangent space, over the measurements it believes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from robustrank.backend import (
    Array,
    check_count,
    check_positive,
    diagonal_times,
    epsilon,
    like,
    lower_median,
    median_among,
    namespace,
)
from robustrank.least_squares import damped_least_squares
from robustrank.operators import Tangent
from robustrank.problem import Problem
from robustrank.solvers.base import MovedState, Solver, State
from robustrank.solvers.retraction import Point, retract
from robustrank.spectral import truncated_start
from robustrank.trust import MedianTruncation, SoftTruncation, TrustRule, left_out, mean_leverage


class Phase:
    """Where the search stands; it never goes back. Plain numbers, to be held in arrays."""

    SEARCHING: Final = 0
    CONVERGING: Final = 1  # the misfit vanishes: no more damping
    SETTLING: Final = 2  # the steps do: least squares on what the trust rule believes


_SMALL_MISFIT = 1e-3
_SMALL_CHANGE = 1e-3
_SMALL_STEP = 0.1  # of the error that noise leaves
_LARGE_NOISE = 0.2  # a misfit above this is not taken for noise
# Without noise so many steps are enough. With it, weights that follow the median would in the end
# believe only what the answer happens to meet.
_CONVERGING_STEPS = 5
# After so many it is final which measurements are believed, once the steps are within the error
# that noise leaves or are what one or two at the edge make of them: some stand there for ever.
_SETTLING_STEPS = 8


@dataclass(frozen=True, eq=False)
class GaussNewtonState(MovedState):
    """Beside the state, the point in its orthonormal form and where the search stands."""

    point: Point
    tangent: Tangent
    width: Array  # of the soft truncation
    cutoff: Array  # the |residual| beyond which nothing is believed
    iteration: int
    phase: Array  # a Phase
    since: Array  # the iteration at which it began


@dataclass(frozen=True)
class GaussNewton(Solver[GaussNewtonState]):
    """Damped Gauss–Newton with a trust that tightens as the search goes on.

    The search weighs measurements softly, by (1 + (|residual|/width)²)^−power, over a width that
    starts at ``width`` typical measurements, shrinks by ``narrowing`` with every step and is never
    more than ``width_medians`` medians of the residuals: lenient while everything is far off,
    strict once the right answer shows. It damps the steps in proportion to the squared misfit,
    which is the size of what linearising leaves out. Near the answer there is no more damping, and
    it converges quadratically; what noise then leaves is settled by least squares on the
    measurements within ``alpha_h`` medians, each compared as if it had been left out of the fit.
    """

    stackable: ClassVar[bool] = True
    rounding: ClassVar[float] = 64.0
    alpha_y: float = 4.0  # truncation of the spectral start
    alpha_h: float = 6.0  # once the answer is found
    width: float = 3.0
    narrowing: float = 0.97
    width_medians: float = 6.0
    power: float = 2.0
    cut: float = 10.0  # medians beyond which nothing is believed during the search
    damping: float = 3.0  # at the first step, relative to the mean diagonal of JᵀJ
    damping_decay: float = 0.93
    damping_misfit: float = 1.0  # at most this many squared misfits
    # From this step on it is taken for noise if it gets no nearer; before, the search may be slow.
    settle_from: int = 40
    extra_rank: int = 0  # columns above the rank to start with
    shrink_every: int = 8  # steps after which one of them is dropped
    max_iterations: int = 80
    check_every: int = 1
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

    def cutoff(self, state: State) -> float | None:
        return float(state.cutoff) if isinstance(state, GaussNewtonState) else super().cutoff(state)

    def linearised(self, problem: Problem, state: GaussNewtonState) -> tuple[Tangent, Array, Array]:
        return state.tangent, state.point.left, state.point.right

    def start(self, problem: Problem, rng: np.random.Generator) -> GaussNewtonState:
        columns = min(problem.rank + self.extra_rank, *problem.operator.matrix_shape)
        return self.begin(problem, self.first_point(problem, rng, columns), problem.scale)

    def first_point(self, problem: Problem, rng: np.random.Generator, columns: int) -> Point:
        """Where the search starts, unless it is told: the spectral start."""
        U0, V0 = truncated_start(problem, MedianTruncation(self.alpha_y), rng, rank=columns)
        xp = namespace(U0)
        root = xp.sqrt(xp.sum(U0**2, axis=-2))  # the columns are orthogonal, of length √σ
        inverse = 1 / xp.where(root > 0, root, xp.ones_like(root))
        return Point(diagonal_times(U0, inverse), root**2, diagonal_times(V0, inverse))

    def begin(
        self,
        problem: Problem,
        point: Point,
        error: Array | float,
        phase: Array | int = Phase.SEARCHING,
    ) -> GaussNewtonState:
        """The state before the first step from a point whose measurements are off by ``error``."""
        xp = namespace(problem.y)
        width = xp.asarray(self.width * error, **like(problem.y))
        zero = xp.zeros(width.shape, **like(width) | {"dtype": xp.int32})
        return self._observe(
            problem,
            point,
            width,
            0,
            xp.ones_like(width),
            zero + phase,
            zero,
            xp.ones_like(problem.y),
        )

    def step(self, problem: Problem, state: GaussNewtonState) -> GaussNewtonState:
        xp = namespace(state.U)
        misfit = state.median / problem.scale
        W = damped_least_squares(
            state.tangent,
            (state.point.left, state.point.right),
            state.weights,
            state.residual,
            damping=self._damping(state, misfit) * xp.sum(state.weights, axis=-1),
            tolerance=xp.clip(0.1 * misfit, min=max(1e-12, 16 * epsilon(state.residual)), max=0.01),
        )
        iteration = state.iteration + 1
        columns = state.point.values.shape[-1]
        extra = max(self.extra_rank - iteration // self.shrink_every, 0)
        point = retract(state.point, W, min(problem.rank + extra, columns))
        size = xp.linalg.vector_norm(state.point.values, axis=-1)
        change = xp.linalg.vector_norm(W, axis=(-2, -1))
        change = change / xp.where(size > 0, size, xp.ones_like(size))
        if columns > problem.rank:
            # Nothing is small yet: a misfit may be bought with the columns that are to go.
            misfit, change = xp.clip(misfit, min=1.0), xp.clip(change, min=1.0)
        phase = self._next_phase(state, misfit, change, problem.degrees_of_freedom)
        since = xp.where(phase == state.phase, state.since, iteration)
        width = state.width * self.narrowing
        return self._observe(problem, point, width, iteration, change, phase, since, state.weights)

    def _damping(self, state: GaussNewtonState, misfit: Array) -> Array:
        """Relative to the mean diagonal of JᵀWJ, which is about Σ w_i."""
        xp = namespace(state.U)
        # Never less than rounding: moving both factors at once without moving X costs nothing.
        least = 16 * epsilon(state.residual)
        scheduled = max(self.damping * self.damping_decay**state.iteration, least)
        searching = xp.clip(self.damping_misfit * misfit**2, min=least, max=scheduled)
        return xp.where(state.phase == Phase.SEARCHING, searching, least)

    def _next_phase(
        self, state: GaussNewtonState, misfit: Array, change: Array, freedom: int
    ) -> Array:
        xp = namespace(state.phase)
        searching, converging = state.phase == Phase.SEARCHING, state.phase == Phase.CONVERGING
        found = searching & (misfit < _SMALL_MISFIT)
        leverage = mean_leverage(state.weights, freedom)
        error = _left_by_noise(misfit / (1 - leverage), leverage)
        late = state.iteration >= self.settle_from
        only_noise = late & (misfit < _LARGE_NOISE) & (change < _SMALL_STEP * error)
        stopped = searching & (only_noise | (change < _SMALL_CHANGE))
        settled = converging & (state.iteration >= state.since + _CONVERGING_STEPS)
        phase = xp.where(stopped | settled, Phase.SETTLING, state.phase)
        return xp.where(found, Phase.CONVERGING, phase)

    def _observe(
        self,
        problem: Problem,
        point: Point,
        width: Array,
        iteration: int,
        change: Array,
        phase: Array,
        since: Array,
        fitted_with: Array,
    ) -> GaussNewtonState:
        """The state at a point: one pass over the sensing data, which yields the tangent too."""
        xp = namespace(point.left)
        tangent = problem.operator.tangent(point.left, point.right)
        U = diagonal_times(point.left, point.values)
        fitted = tangent.apply(xp.concat([U, xp.zeros_like(point.right)], axis=-2))
        residual = problem.y - fitted
        magnitudes = xp.abs(residual)
        median = lower_median(magnitudes)
        width = xp.minimum(width, self.width_medians * median)
        least = float(xp.finfo(residual.dtype).smallest_normal)
        soft = SoftTruncation(xp.clip(width, min=least), self.power, self.cut)
        freedom = problem.degrees_of_freedom
        leverage = mean_leverage(fitted_with, freedom)
        fair = left_out(magnitudes, fitted_with, leverage)
        typical = median_among(fair, fitted_with > 0)
        settling = phase == Phase.SETTLING
        error = _left_by_noise(typical / problem.scale, leverage)
        at_the_edge = 2 * self.alpha_h * xp.sqrt(leverage / freedom)  # of that error
        near = change < error * xp.clip(at_the_edge, min=1.0)
        final = settling & (iteration >= since + _SETTLING_STEPS) & near
        hard = xp.where(final[..., None], fitted_with, self.trust.weights(fair, typical))
        weights = xp.where(settling[..., None], hard, soft.weights(magnitudes, median))
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
            xp.where(settling, self.alpha_h * typical, self.cut * median),
            iteration,
            phase,
            since,
        )


def _left_by_noise(misfit: Array, leverage: Array) -> Array:
    """The error of an answer, if it is noise that leaves this misfit of what was left out."""
    return misfit * namespace(misfit).sqrt(leverage)
