"""Gauss–Newton on the tangent space of the rank-r matrices, with weights that tighten."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

import numpy as np

from robustrank.backend import (
    Array,
    as_generator,
    epsilon,
    few_on_host,
    is_numpy,
    like,
    namespace,
)
from robustrank.linalg import (
    ROUNDINGS,
    TOLERANCE,
    Factors,
    Point,
    TangentMap,
    damped_least_squares,
    lower_median,
    median_of_selected,
    point_of,
    retract,
)
from robustrank.problem import Problem
from robustrank.solvers.base import (
    MOST_STEPS,
    SMALL_STEP,
    ContinuableSolver,
    Estimate,
    PointState,
    State,
    linearize,
    point_of_factors,
    select,
    spectral_initialization,
)
from robustrank.solvers.schedules import Damping, Settling, Weighting
from robustrank.solvers.weights import (
    TruncatedWeights,
    WeightFunction,
    as_factor,
    beside,
    check_cutoffs,
    leave_one_out_residuals,
    mean_leverage,
)


class Phase:
    """The phases of a run. Plain integers, so that they can be stored in arrays."""

    SEARCHING: Final = 0
    CONVERGING: Final = 1  # the misfit is small: no more damping
    SETTLING: Final = 2  # only noise is left: least squares on truncated measurements


# With the tolerance of 1e-6, the last step is at most this times 1e-6 of the smallest singular
# value; but steps below some roundings of the largest one cannot be asked for.
_SMALLEST_VALUES, _ROUNDINGS = 3e4, 1e9
_SMALL = 1e-3  # a misfit or a change of the factors
# With a tangent map in single precision, most problems converge in two steps.
_QUICK_STEPS = 2
_LARGE_NOISE = 0.2  # a larger misfit is not taken for noise
_LEAST_ACCURACY = 0.03  # of a linear solve
# Without noise, five steps are enough to converge. With noise, soft weights would go on to reject
# everything but the measurements that the estimate happens to fit. When it settles, the set of
# inliers is frozen after that number of steps once they are small: otherwise measurements near the
# cutoff could be accepted and rejected in turn forever.
_ENOUGH_STEPS = 5


@dataclass(eq=False)
class HeldTangent:
    """The tangent map at a point, until a step from there has used it.

    Two maps at a time would need twice the memory.
    """

    tangent: TangentMap | None


@dataclass(frozen=True, eq=False)
class GaussNewtonState(PointState):
    """The point with its tangent map, and the progress of the schedules."""

    held: HeldTangent
    width: Array  # of the soft weights
    cutoff: Array  # the |residual| beyond which weights are zero
    phase: Array
    since: Array  # the iteration at which the phase began


@dataclass(frozen=True)
class GaussNewton(ContinuableSolver[GaussNewtonState]):
    """Damped Gauss–Newton whose weights tighten as the iteration proceeds.

    While it searches, measurements have soft weights (``weighting``) and steps are damped
    (``damping``). Once the misfit is small there is no damping, and convergence is quadratic. If
    noise keeps the misfit from vanishing, the solver settles: least squares on the measurements
    within a cutoff, each compared with its leave-one-out prediction (``settling``).

    Parameters
    ----------
    alpha_y
        Truncation of the spectral initialization, in medians of ``|y|``: larger measurements are
        not used for it.
    weighting, damping, settling
        The weights and the damping during the search, and the final fit in the presence of noise.
    initial
        Factors of shape (n1, r) and (n2, r) to start from instead of the spectral initialization.
        They are in the units of ``Problem.normalized``; for factors in the units of the data, use
        ``start`` of ``recover``.
    max_iterations, tolerance
        The largest number of steps; the solver also stops when the relative change of the factors
        in a step is smaller than the tolerance. Convergence is quadratic: the error is then about
        the square of that change.
    name
        The name shown to users.

    See Also
    --------
    robustrank.recover : Its parameter ``solver`` takes this solver.
    robustrank.solvers.Weighting : The weights.
    robustrank.solvers.Damping : The damping.
    robustrank.solvers.Settling : The final fit.
    robustrank.solvers.Portfolio : The default, which tries several variants of it.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> solver = rr.solvers.GaussNewton(max_iterations=40)
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    batchable: ClassVar[bool] = True
    alpha_y: float = 4.0
    weighting: Weighting = field(default_factory=Weighting)
    damping: Damping = field(default_factory=Damping)
    settling: Settling = field(default_factory=Settling)
    initial: Factors | None = field(default=None, compare=False, repr=False)
    max_iterations: int = MOST_STEPS
    tolerance: float = TOLERANCE
    name: str = "Gauss–Newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoffs(alpha_y=self.alpha_y)

    @property
    def weight_function(self) -> WeightFunction:
        return TruncatedWeights(self.settling.alpha_h)

    def cutoff(self, state: State) -> float | None:
        return float(state.cutoff) if isinstance(state, GaussNewtonState) else super().cutoff(state)

    def tangent(self, problem: Problem, state: GaussNewtonState) -> TangentMap:
        if state.held.tangent is None:  # a step from here was interrupted
            state.held.tangent = problem.operator.tangent(state.point.left, state.point.right)
        return state.held.tangent

    def is_exhausted(self, state: GaussNewtonState) -> bool:
        return state.iteration >= self.max_iterations

    def start(self, problem: Problem, rng: np.random.Generator) -> GaussNewtonState:
        if self.initial is None:
            return self._begin(problem, self._initial_point(problem, rng), problem.scale)
        point = point_of(*self.initial)
        residual = problem.y - problem.operator.measure(point.scaled_left, point.right)
        return self._begin(problem, point, lower_median(namespace(residual).abs(residual)))

    def starting_at(self, factors: Factors) -> GaussNewton:
        return replace(self, initial=factors)

    def start_from(self, problem: Problem, estimate: Estimate) -> GaussNewtonState:
        """Start from an estimate, or from the spectral initialization if the estimate is zero."""
        xp = namespace(estimate.error)
        nonzero = estimate.point.values[..., 0] > 0
        point, error = estimate.point, estimate.error
        if not bool(xp.all(nonzero)):
            point = select(nonzero, point, self._initial_point(problem, as_generator(0)))
            error = xp.where(nonzero, error, problem.scale)
        return self._begin(problem, point, error)

    def step(self, problem: Problem, state: GaussNewtonState) -> GaussNewtonState:
        xp = namespace(state.median)
        misfit = state.median / problem.scale
        # Moving U and V without moving X must cost something.
        least = ROUNDINGS * epsilon(state.residual)
        damping = xp.where(
            state.phase == Phase.SEARCHING, self.damping.at(state.iteration, misfit, least), least
        )
        accuracy = self._accuracy(misfit, epsilon(state.residual))
        total = namespace(state.weights).sum(state.weights, axis=-1)
        tangent = self.tangent(problem, state)
        W = damped_least_squares(
            tangent,
            state.weights,
            state.residual,
            damping=as_factor(damping, state.weights) * total,
            tolerance=as_factor(accuracy, state.weights),
        )
        iteration = state.iteration + 1
        length = few_on_host(namespace(W).linalg.vector_norm(W, axis=(-2, -1)), 0)
        change = length / _reference_size(few_on_host(state.point.values, 1))
        phase = self._next_phase(state, misfit, change, problem.degrees_of_freedom)
        nearby = tangent if not is_numpy(W) and _is_tiny(change) else None
        if nearby is None:
            del tangent
            state.held.tangent = None
        return self._observe(
            problem,
            point=retract(state.point, W, state.point.values.shape[-1]),
            width=state.width * self.weighting.decay,
            iteration=iteration,
            change=change,
            phase=phase,
            since=xp.where(phase == state.phase, state.since, iteration),
            fitted_with=state.weights,
            nearby=nearby,
        )

    @staticmethod
    def _accuracy(misfit: Array, rounding: float) -> Array:
        """The relative accuracy of the linear solve: quadratic convergence, down to rounding."""
        xp = namespace(misfit)
        enough = (
            GaussNewton.rounding * rounding / xp.where(misfit > 0, misfit, xp.ones_like(misfit))
        )
        return xp.clip(xp.maximum(misfit / 2, enough), max=_LEAST_ACCURACY)

    def _initial_point(self, problem: Problem, rng: np.random.Generator) -> Point:
        weights = TruncatedWeights(self.alpha_y)
        return point_of_factors(*spectral_initialization(problem, weights, rng, approximate=True))

    def _begin(self, problem: Problem, point: Point, error: Array | float) -> GaussNewtonState:
        """The state before the first step, at a point whose measurements are off by ``error``."""
        measurements = namespace(problem.y)
        width = few_on_host(
            measurements.asarray(self.weighting.width * error, **like(problem.y)), 0
        )
        xp = namespace(width)
        zero = xp.zeros(width.shape, **like(width) | {"dtype": xp.int32})
        return self._observe(
            problem,
            point=point,
            width=width,
            iteration=0,
            change=xp.ones_like(width),
            phase=zero + Phase.SEARCHING,
            since=zero,
            fitted_with=measurements.ones_like(problem.y),
        )

    def _next_phase(
        self, state: GaussNewtonState, misfit: Array, change: Array, freedom: int
    ) -> Array:
        xp = namespace(state.phase)
        searching, converging = state.phase == Phase.SEARCHING, state.phase == Phase.CONVERGING
        found = searching & (misfit < _SMALL)
        leverage = mean_leverage(state.weights, freedom)
        error = _error_from_noise(misfit / (1 - leverage), leverage)
        late = state.iteration >= self.settling.start_after
        only_noise = late & (misfit < _LARGE_NOISE) & (change < SMALL_STEP * error)
        stopped = searching & (only_noise | (change < _SMALL))
        settled = converging & (state.iteration >= state.since + _ENOUGH_STEPS)
        phase = xp.where(stopped | settled, Phase.SETTLING, state.phase)
        return xp.where(found, Phase.CONVERGING, phase)

    def _observe(
        self,
        problem: Problem,
        *,
        point: Point,
        width: Array,
        iteration: int,
        change: Array,
        phase: Array,
        since: Array,
        fitted_with: Array,
        nearby: TangentMap | None = None,
    ) -> GaussNewtonState:
        """The state at a point: one pass over the sensing data gives residuals and tangent map.

        If the tangent map at a very near point is given, it is used again.
        """
        xp = namespace(phase)
        if nearby is not None:
            tangent = nearby
            residual = problem.y - problem.operator.measure(point.scaled_left, point.right)
        else:
            # A tangent map in single precision may be what delays convergence.
            slow = is_numpy(point.left) and bool(
                xp.all((phase == Phase.CONVERGING) & (iteration > since + _QUICK_STEPS))
            )
            tangent, residual = linearize(problem, point, precise=slow)
        magnitudes = namespace(residual).abs(residual)
        median = few_on_host(lower_median(magnitudes), 0)
        width = self.weighting.limited(width, median)
        soft = self.weighting.weights(width, magnitudes, median)
        settling = phase == Phase.SETTLING
        late = settling & (iteration >= since + _ENOUGH_STEPS)
        hard, typical = soft, median
        if settling.ndim or bool(settling):  # in a batch, some problem may be settling
            hard, typical = self._settled_weights(problem, magnitudes, fitted_with, change, late)
        return GaussNewtonState(
            U=point.scaled_left,
            V=point.right,
            residual=residual,
            median=median,
            weights=_chosen(settling, hard, soft),
            moved=change,
            point=point,
            held=HeldTangent(tangent),
            width=width,
            cutoff=xp.where(
                settling,
                self.settling.alpha_h * typical,
                self.weighting.cutoff_medians * median,
            ),
            iteration=iteration,
            phase=phase,
            since=since,
        )

    def _settled_weights(
        self, problem: Problem, magnitudes: Array, fitted_with: Array, change: Array, late: Array
    ) -> tuple[Array, Array]:
        """Truncated weights from leave-one-out residuals, and the median of those residuals.

        Once it is ``late`` and the steps are small, the weights stay as they are.
        """
        freedom = problem.degrees_of_freedom
        leverage = mean_leverage(fitted_with, freedom)
        xp = namespace(leverage)
        own = fitted_with * beside(leverage, fitted_with)
        left_out = leave_one_out_residuals(magnitudes, own)
        typical = few_on_host(median_of_selected(left_out, fitted_with > 0), 0)
        error = _error_from_noise(typical / problem.scale, leverage)
        near_cutoff = 2 * self.settling.alpha_h * xp.sqrt(leverage / freedom)  # of that error
        frozen = late & (change < error * xp.clip(near_cutoff, min=1.0))
        weights = self.weight_function.weights(left_out, typical)
        return _chosen(frozen, fitted_with, weights), typical


def _chosen(condition: Array, one: Array, other: Array) -> Array:
    """The measurements ``one`` of the problems where the condition is true, ``other`` elsewhere."""
    if condition.ndim == 0:
        return one if bool(condition) else other
    return namespace(one).where(condition[..., None], one, other)


def _is_tiny(change: Array) -> bool:
    """Whether a step is so short that the tangent map need not be computed again.

    Not used in a batch, nor with NumPy: there the map costs little more than the residuals, and
    the threads of BLAS, by which residuals are computed, would slow down the next kernels.
    """
    return change.ndim == 0 and bool(change < TOLERANCE)


def _reference_size(values: Array) -> Array:
    """What a step is compared with: the norm, or less if the smallest singular value is tiny.

    A step of length δ leaves an error of about δ²/σ_r, which must be small relative to σ_r.
    """
    xp = namespace(values)
    norm = xp.linalg.vector_norm(values, axis=-1)
    smallest = xp.min(values, axis=-1)
    least = xp.maximum(_SMALLEST_VALUES * smallest, _ROUNDINGS * epsilon(values) * norm)
    size = xp.minimum(least, norm)
    return xp.where(size > 0, size, xp.ones_like(size))


def _error_from_noise(misfit: Array, leverage: Array) -> Array:
    """The error of a fit if noise alone causes this misfit of measurements left out of it."""
    return misfit * namespace(misfit).sqrt(leverage)
