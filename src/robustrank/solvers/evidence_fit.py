"""The final fit: least squares on the set of inliers that has the most evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import Array, check_count, epsilon, namespace, tiny
from robustrank.certificate import best_set
from robustrank.linalg import (
    TOLERANCE,
    Point,
    TangentMap,
    lower_median,
    plain_least_squares,
    relative_length,
    retract,
)
from robustrank.noise import PROPORTIONAL, NoiseModel
from robustrank.problem import Problem
from robustrank.solvers.base import PATIENCE, SMALL_STEP, Solver, State, linearize
from robustrank.solvers.weights import leave_one_out_residuals, leverages

_FIRST_WIDTH, _DECAY = 2.5, 0.7  # of the weights, in standard deviations of the residuals
_BEYOND_WIDTH = 10.0  # widths; measurements with larger residuals have no weight


@dataclass(frozen=True, eq=False)
class Best:
    """The point with the most evidence so far."""

    point: Point
    evidence: float
    iteration: int


@dataclass(frozen=True, eq=False)
class EvidenceFitState(State):
    """The current point, the inliers with the most evidence there, and the best point so far."""

    moved: float
    point: Point
    tangent: TangentMap
    width: float  # of the weights
    cutoff: float  # of |residual| / spread
    evidence: float
    level: float  # of the noise, relative to what a trivial prediction leaves
    best: Best
    fitting_since: int | None  # the iteration at which the final fit began
    iteration: int

    def change(self) -> float:
        return self.moved


@dataclass(frozen=True)
class EvidenceFit(Solver[EvidenceFitState]):
    """From an estimate to the fit with the most evidence.

    Residuals that look like noise may hide a better explanation: most measurements fitted far more
    closely, and a few outliers. The solver narrows its weights step by step, whatever the residuals
    do, and keeps the point and the set of inliers with the most evidence. If the noise is really
    noise, narrower weights have less evidence, and the first point is kept. The final fit is least
    squares on that set.

    Parameters
    ----------
    initial
        The estimate to start from.
    excluded
        Measurements that are no inliers although they may be near, boolean; None: no such ones.
    noise
        What the size of the noise of a measurement depends on.
    max_iterations, tolerance
        The largest number of steps; the solver also stops when the relative change of the factors
        in a step is smaller than the tolerance.
    name
        The name shown to users.
    """

    initial: Point
    excluded: Array | None = None
    noise: NoiseModel = PROPORTIONAL
    max_iterations: int = 80
    tolerance: float = TOLERANCE
    name: str = "evidence fit"

    def __post_init__(self) -> None:
        check_count(max_iterations=self.max_iterations)

    def cutoff(self, state: State) -> float | None:
        return state.cutoff if isinstance(state, EvidenceFitState) else super().cutoff(state)

    def tangent(self, problem: Problem, state: EvidenceFitState) -> TangentMap:
        return state.tangent

    def start(self, problem: Problem, rng: np.random.Generator) -> EvidenceFitState:
        return self._observe(problem, self.initial, iteration=0)

    def step(self, problem: Problem, state: EvidenceFitState) -> EvidenceFitState:
        iteration = state.iteration + 1
        if state.fitting_since is None and self._is_narrow_enough(state):
            best = self._observe(problem, state.best.point, iteration, before=state)
            return self._with_inliers(problem, replace(best, fitting_since=iteration))
        W = plain_least_squares(state.tangent, state.weights, state.residual)
        moved = relative_length(W, state.point)
        after = self._observe(
            problem, retract(state.point, W, problem.rank), iteration, before=state, moved=moved
        )
        if state.fitting_since is None:
            return after
        if moved < SMALL_STEP * self._error_from_noise(problem, state):
            after = replace(after, moved=0.0)  # converged, as far as the noise allows
        better = after.evidence > state.best.evidence
        if better or iteration - state.fitting_since <= PATIENCE // 2:
            return self._with_inliers(problem, after)
        return replace(after, weights=state.weights, cutoff=state.cutoff)

    def _error_from_noise(self, problem: Problem, state: EvidenceFitState) -> float:
        """The relative error of the matrix that the noise causes, if rows are independent."""
        xp, spread = namespace(state.residual), self._sizes(problem, state.residual)
        inlier = state.weights > 0
        count = int(xp.count_nonzero(inlier))
        freedom = problem.degrees_of_freedom
        norm = float(xp.linalg.vector_norm(state.point.values)) * float(problem.operator.gain)
        if count <= freedom or norm == 0:
            return 0.0
        scaled = xp.where(inlier, state.residual / spread, xp.zeros_like(spread))
        deviation = float(xp.min(spread)) * float(xp.linalg.vector_norm(scaled)) / math.sqrt(count)
        return deviation * math.sqrt(freedom / count) / norm

    def _is_narrow_enough(self, state: EvidenceFitState) -> bool:
        least = epsilon(state.residual) * float(namespace(state.U).max(state.point.values))
        stalled = state.iteration - state.best.iteration >= PATIENCE
        empty = not float(namespace(state.weights).max(state.weights)) > 0  # no step is defined
        return stalled or empty or not state.width > least

    def _with_inliers(self, problem: Problem, state: EvidenceFitState) -> EvidenceFitState:
        """The state with the weights of least squares on the inliers with the most evidence."""
        xp, spread = namespace(state.residual), self._sizes(problem, state.residual)
        inlier = self._magnitudes(state.residual) <= state.cutoff * spread
        precision = (xp.min(spread) / spread) ** 2
        return replace(state, weights=xp.where(inlier, precision, xp.zeros_like(precision)))

    def _sizes(self, problem: Problem, residual: Array) -> Array:
        """The relative size of the noise of each measurement."""
        return self.noise.sizes(problem.y - residual, problem.row_factors)

    def _magnitudes(self, residual: Array) -> Array:
        """|residual|, infinite where a measurement is excluded."""
        xp = namespace(residual)
        if self.excluded is None:
            return xp.abs(residual)
        return xp.where(self.excluded, xp.full_like(residual, xp.inf), xp.abs(residual))

    def _observe(
        self,
        problem: Problem,
        point: Point,
        iteration: int,
        before: EvidenceFitState | None = None,
        moved: float = 1.0,
    ) -> EvidenceFitState:
        """The state at a point, with narrower weights than before: one pass over the data."""
        xp = namespace(point.left)
        tangent, residual = linearize(problem, point)
        magnitudes, spread = self._magnitudes(residual), self._sizes(problem, residual)
        inliers = best_set(
            magnitudes, spread, problem.trivial_deviation, problem.degrees_of_freedom
        )
        evidence = float(inliers.evidence)
        width = _FIRST_WIDTH * float(inliers.deviation) if before is None else _DECAY * before.width
        weights = xp.ones_like(magnitudes) if before is None else before.weights
        if before is None or before.fitting_since is None:
            own = leverages(tangent, weights, problem.degrees_of_freedom)
            weights = _soft_weights(leave_one_out_residuals(magnitudes, own), spread, width)
        best = Best(point, evidence, iteration)
        if before is not None and not evidence > before.best.evidence:
            best = before.best
        return EvidenceFitState(
            U=point.scaled_left,
            V=point.right,
            residual=residual,
            median=lower_median(xp.abs(residual)),
            weights=weights,
            moved=moved,
            point=point,
            tangent=tangent,
            width=width,
            cutoff=float(inliers.cutoff),
            evidence=evidence,
            level=float(inliers.deviation / problem.trivial_deviation),
            best=best,
            fitting_since=None if before is None else before.fitting_since,
            iteration=iteration,
        )


def _soft_weights(left_out: Array, spread: Array, width: float) -> Array:
    """Weights that decrease with the leave-one-out residual, zero far beyond the width."""
    xp = namespace(left_out)
    ratio = left_out / (spread * max(width, tiny(spread)))
    soft = (xp.min(spread) / spread) ** 2 / (1 + xp.clip(ratio, max=_BEYOND_WIDTH) ** 2)
    return xp.where(ratio <= _BEYOND_WIDTH, soft, xp.zeros_like(soft))
