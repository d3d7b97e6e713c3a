"""The final fit: least squares on the set of inliers that has the most evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from robustrank.backend import Array, epsilon, namespace, tiny
from robustrank.certificate import best_set, beyond_use
from robustrank.linalg import (
    TOLERANCE,
    Point,
    TangentMap,
    gauss_newton_step,
    leverages,
)
from robustrank.noise import PROPORTIONAL, NoiseModel
from robustrank.problem import Problem
from robustrank.solvers.base import (
    MOST_STEPS,
    PATIENCE,
    SMALL_STEP,
    Best,
    PointState,
    Solver,
    State,
    linearize,
    state_at,
)
from robustrank.solvers.weights import leave_one_out_residuals

_FIRST_WIDTH, _DECAY = 2.5, 0.7  # of the weights, in standard deviations of the residuals
_BEYOND_WIDTH = 10.0  # widths; measurements with larger residuals have no weight


@dataclass(frozen=True, eq=False)
class EvidenceFitState(PointState):
    """The current point, the inliers with the most evidence there, and the best point so far."""

    tangent: TangentMap
    inlier_weights: Array  # of least squares on these inliers
    width: float  # of the weights
    cutoff: float  # of |residual| / spread
    evidence: float
    level: float  # of the noise, relative to what a trivial prediction leaves
    best: Best
    fitting_since: int | None  # the iteration at which the final fit began


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
    without
        Measurements of groups that are wrong altogether, boolean; None: no such ones. They are no
        part of the problem: rejecting them costs no evidence here.
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
    without: Array | None = None
    noise: NoiseModel = PROPORTIONAL
    max_iterations: int = MOST_STEPS
    tolerance: float = TOLERANCE
    name: str = "evidence fit"

    def cutoff(self, state: State) -> float | None:
        return state.cutoff if isinstance(state, EvidenceFitState) else super().cutoff(state)

    def tangent(self, problem: Problem, state: EvidenceFitState) -> TangentMap:
        return state.tangent

    def start(self, problem: Problem, rng: np.random.Generator) -> EvidenceFitState:
        return self._observe(problem, self.initial)

    def step(self, problem: Problem, state: EvidenceFitState) -> EvidenceFitState:
        if state.fitting_since is None and self._is_narrow_enough(state):
            best = self._observe(problem, state.best.point, before=state)
            return replace(best, weights=best.inlier_weights, fitting_since=best.iteration)
        point, moved = gauss_newton_step(state.tangent, state.point, state.weights, state.residual)
        after = self._observe(problem, point, before=state, moved=moved)
        if state.fitting_since is None:
            return after
        if moved < SMALL_STEP * self._error_from_noise(problem, state):
            after = replace(after, moved=0.0)  # converged, as far as the noise allows
        better = after.evidence > state.best.evidence
        if better or after.iteration - state.fitting_since <= PATIENCE // 2:
            return replace(after, weights=after.inlier_weights)
        return replace(after, cutoff=state.cutoff)

    def _error_from_noise(self, problem: Problem, state: EvidenceFitState) -> float:
        """The relative error of the matrix that the noise causes, if rows are independent."""
        xp, freedom = namespace(state.residual), problem.degrees_of_freedom
        count = int(xp.count_nonzero(state.weights))
        norm = float(xp.linalg.vector_norm(state.point.values)) * float(problem.operator.gain)
        if count <= freedom or norm == 0:
            return 0.0
        # The weights of the final fit are the relative precision of the inliers.
        squares = float(xp.sum(state.weights * state.residual**2))
        return math.sqrt(squares * freedom) / (count * norm)

    def _is_narrow_enough(self, state: EvidenceFitState) -> bool:
        least = epsilon(state.residual) * float(namespace(state.U).max(state.point.values))
        stalled = state.iteration - state.best.iteration >= PATIENCE
        empty = not float(namespace(state.weights).max(state.weights)) > 0  # no step is defined
        return stalled or empty or not state.width > least

    def _observe(
        self,
        problem: Problem,
        point: Point,
        before: EvidenceFitState | None = None,
        moved: float = 1.0,
    ) -> EvidenceFitState:
        """The state at a point, with narrower weights than before: one pass over the data.

        In the final fit, the weights stay as they are.
        """
        xp = namespace(point.left)
        tangent, residual = linearize(problem, point)
        magnitudes = xp.abs(residual)
        if self.excluded is not None:
            magnitudes = xp.where(self.excluded, xp.full_like(residual, xp.inf), magnitudes)
        spread = self.noise.sizes(problem.y - residual, problem.conditions)
        precision = (xp.min(spread) / spread) ** 2
        if self.without is not None:
            magnitudes, spread = beyond_use(self.without, magnitudes, spread)
        freedom = problem.degrees_of_freedom
        inliers = best_set(
            magnitudes,
            spread,
            problem.trivial_deviation,
            freedom,
            of_one_size=self.noise.may_reject_by_size,
        )
        evidence, cutoff = float(inliers.evidence), float(inliers.cutoff)
        iteration, since = 0, None
        width, weights = _FIRST_WIDTH * float(inliers.deviation), xp.ones_like(magnitudes)
        best = Best(point, evidence, iteration)
        if before is not None:
            iteration, since = before.iteration + 1, before.fitting_since
            width, weights = _DECAY * before.width, before.weights
            best = before.best.or_better(Best(point, evidence, iteration))
        if since is None:
            left_out = leave_one_out_residuals(magnitudes, leverages(tangent, weights, freedom))
            weights = precision * _soft_weights(left_out / spread, width)
        inlier = magnitudes <= cutoff * spread
        return EvidenceFitState(
            **vars(state_at(point, residual, weights)),
            moved=moved,
            point=point,
            iteration=iteration,
            tangent=tangent,
            inlier_weights=xp.where(inlier, precision, xp.zeros_like(precision)),
            width=width,
            cutoff=cutoff,
            evidence=evidence,
            level=float(inliers.deviation / problem.trivial_deviation),
            best=best,
            fitting_since=since,
        )


def _soft_weights(left_out: Array, width: float) -> Array:
    """Weights that decrease with the leave-one-out residual, zero far beyond the width."""
    xp = namespace(left_out)
    ratio = left_out / max(width, tiny(left_out))
    soft = 1 / (1 + xp.clip(ratio, max=_BEYOND_WIDTH) ** 2)
    return xp.where(ratio <= _BEYOND_WIDTH, soft, xp.zeros_like(soft))
