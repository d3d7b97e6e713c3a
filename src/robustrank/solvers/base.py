"""The contract between a solver and the loop that drives it, and where solvers begin.

The states of a batch of problems are one state whose arrays have a leading axis.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from robustrank.backend import Array, check_count, is_array, like, namespace
from robustrank.linalg import Factors, Point, TangentMap, lower_median, scale_columns, weighted
from robustrank.noise import PROPORTIONAL, NoiseModel
from robustrank.operators import UnstoredTangent
from robustrank.problem import Problem
from robustrank.solvers.weights import CUTOFF_MEDIANS, TruncatedWeights, WeightFunction

# With noise, a solver has converged when the steps are shorter than this share of the error that
# the noise causes.
SMALL_STEP = 0.1
# The largest number of steps of Gauss–Newton.
MOST_STEPS = 80
# Fits that maximize the evidence end after this number of steps without more of it.
PATIENCE = 8

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class State:
    """Factors with their residuals and weights.

    Every array may have a leading axis of the problems of a batch.
    """

    U: Array
    V: Array
    residual: Array  # y − A(U Vᵀ); finite unless the run diverges
    median: Array  # lower median of |residual|
    weights: Array  # of each measurement, between 0 and 1

    def change(self) -> Array | float:
        """The change of the factors in the last step, relative to their size."""
        return math.inf


@dataclass(frozen=True, eq=False)
class PointState(State):
    """The state of a solver that moves on the manifold of matrices of the given rank."""

    moved: Array | float  # relative change in the last step
    point: Point
    iteration: int

    def change(self) -> Array | float:
        return self.moved


@dataclass(frozen=True, eq=False)
class Best:
    """The point with the most evidence so far."""

    point: Point
    evidence: float
    iteration: int

    def or_better(self, other: Self) -> Self:
        """The other one if it has more evidence, else this one."""
        return other if other.evidence > self.evidence else self


@dataclass(frozen=True, eq=False)
class Estimate:
    """An approximate solution that one solver passes to the next."""

    point: Point
    error: Array  # the size of the errors of its predicted measurements
    is_credible: Array  # boolean: whether its estimated error is below half of its norm

    @property
    def rank(self) -> int:
        """The number of singular values that are not zero."""
        return int(namespace(self.error).count_nonzero(self.point.values))

    def truncated(self, rank: int) -> Estimate:
        """The estimate with the leading singular values only."""
        return replace(self, point=self.point.truncated(rank))


StateT = TypeVar("StateT", bound=State)


def observe(problem: Problem, U: Array, V: Array, weight_function: WeightFunction) -> State:
    """The state at (U, V): one pass over the sensing data."""
    residual = problem.y - problem.operator.measure(U, V)
    magnitudes = namespace(residual).abs(residual)
    median = lower_median(magnitudes)
    weights = weight_function.weights(magnitudes, median)
    return State(U=U, V=V, residual=residual, median=median, weights=weights)


def state_at(point: Point, residual: Array, weights: Array) -> State:
    """The state at a point whose residuals are known."""
    return State(
        U=point.scaled_left,
        V=point.right,
        residual=residual,
        median=lower_median(namespace(residual).abs(residual)),
        weights=weights,
    )


def linearize(problem: Problem, point: Point, *, precise: bool = False) -> tuple[TangentMap, Array]:
    """The tangent map at a point, and its residuals: one pass over the sensing data."""
    tangent = problem.operator.tangent(point.left, point.right, precise=precise)
    return tangent, problem.y - tangent.measure(point.values)


class Solver(ABC, Generic[StateT]):
    """A frozen set of parameters with two pure functions, ``start`` and ``step``.

    ``driver.Drive`` owns the loop.
    """

    name: str  # shown to users
    max_iterations: int
    tolerance: float  # stop when the relative change of the factors per step is smaller; 0: never
    # Steps between two progress checks; a tenfold number while a CUDA graph is replayed.
    check_every: int = 1
    # The relative change per step due to rounding, in epsilons: √4096, that of sums over thousands
    # of measurements.
    rounding: ClassVar[float] = 64.0
    # What the size of noise depends on: that of the A_i, unless a solver finds out more.
    noise: NoiseModel = PROPORTIONAL
    # Whether to solve the problem with rows of equal norm; the paper's method uses them as given.
    unit_rows: ClassVar[bool] = True
    batchable: ClassVar[bool] = False  # whether states may have a leading axis of problems
    # Whether steps never read values on the host, so that a CUDA graph can be captured.
    graph_capturable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count(max_iterations=self.max_iterations)

    @property
    def solvers(self) -> tuple[Solver[Any], ...]:
        """The solvers to try in turn: this one. A ``Portfolio`` has several."""
        return (self,)

    def solved(self, problem: Problem) -> Problem:
        """The problem that is solved instead of a given one: with rows of equal norm, or as it is.

        A solver works in the units of its ``normalized()``.
        """
        return problem.with_unit_rows if self.unit_rows else problem

    @property
    def weight_function(self) -> WeightFunction:
        """The weight function that decides which measurements are inliers."""
        return TruncatedWeights(CUTOFF_MEDIANS)

    @abstractmethod
    def start(self, problem: Problem, rng: np.random.Generator) -> StateT:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Problem, state: StateT) -> StateT:
        """The state after one more step."""

    def tangent(self, problem: Problem, state: StateT) -> TangentMap:
        """The measurements linearized at the state, with orthonormal factors."""
        xp = namespace(state.U)
        left, right = (xp.linalg.qr(factor)[0] for factor in (state.U, state.V))
        return UnstoredTangent(problem.operator, left, right)

    def starting_at(self, factors: Factors) -> Solver[StateT]:
        """The solver that begins at factors of the normalized problem."""
        raise ValueError(f"the solver {self.name} cannot continue from a result")

    def cutoff(self, state: State) -> float | None:
        """The absolute residual beyond which every weight is zero; None if there is none."""
        return self.weight_function.cutoff(float(state.median))

    def is_exhausted(self, state: StateT) -> bool:
        """Whether to stop although there are iterations left."""
        return False


class ContinuableSolver(Solver[StateT]):
    """A solver that can continue from the estimate of another one."""

    @abstractmethod
    def start_from(self, problem: Problem, estimate: Estimate) -> StateT:
        """The state before the first step from an estimate."""


class EstimatingSolver(Solver[StateT]):
    """A solver that approaches the solution and then hands its estimate to another one.

    It learns how outliers are distributed, so that it may find other ones than the other does.
    """

    faults: bool  # whether it learns offsets and gains that sensors share

    @abstractmethod
    def is_finished(self, state: StateT) -> Array:
        """Whether there is nothing more to gain, for each problem."""

    @abstractmethod
    def estimate(self, problem: Problem, state: StateT) -> Estimate:
        """The best estimate so far."""


def spectral_initialization(
    problem: Problem,
    weight_function: WeightFunction,
    rng: np.random.Generator,
    *,
    sample_split: bool = False,
    approximate: bool = False,
) -> tuple[Array, Array]:
    """(U0, V0) = (C_L Σ^½, C_R Σ^½) from the rank-r SVD of the weighted mean of y_i A_i.

    With ``sample_split`` the surrogate is the mean over the first ⌈m/2⌉ measurements, truncated by
    the median of the others, as in the paper's theory. Without it, all measurements are used for
    both, as in its experiments. The SVD may be ``approximate`` where that is faster.
    """
    y, m = problem.y, problem.operator.measurements
    xp = namespace(y)
    if sample_split and m < 2:
        raise ValueError("a sample split needs at least two measurements")
    count, reference = (-(-m // 2), y[-(m // 2) :]) if sample_split else (m, y)
    weights = weight_function.weights(xp.abs(y), lower_median(xp.abs(reference)))
    used = xp.arange(m, device=like(y)["device"]) < count
    kept = weighted(y, xp.where(used, weights, xp.zeros_like(weights))) / count
    left, values, right = problem.operator.leading_svd(
        kept, problem.rank, rng, approximate=approximate
    )
    root = xp.sqrt(values)
    return scale_columns(left, root), scale_columns(right, root)


def normalized_factors(problem: Problem, factors: Factors) -> Factors:
    """Factors in the user's units, of any array library, as those of the normalized problem."""
    xp, root = namespace(problem.y), math.sqrt(problem.units.matrix)
    left, right = (xp.asarray(factor, **like(problem.y)) / root for factor in factors)
    return left, right


def point_of_factors(U: Array, V: Array) -> Point:
    """The point U Vᵀ for factors with orthogonal columns of length √σ."""
    xp = namespace(U)
    root = xp.sqrt(xp.sum(U**2, axis=-2))
    inverse = 1 / xp.where(root > 0, root, xp.ones_like(root))
    return Point(left=scale_columns(U, inverse), values=root**2, right=scale_columns(V, inverse))


def select(condition: Array, one: T, other: T) -> T:
    """``one`` for the problems where the condition is true, ``other`` elsewhere."""

    def choose(a: Array, b: Array) -> Array:
        shape = *condition.shape, *(1,) * (a.ndim - condition.ndim)
        mask = namespace(condition).reshape(condition, shape)
        return namespace(condition, a).where(mask, a, b)

    return _map(choose, one, other)


def take(state: T, positions: Sequence[int]) -> T:
    """The states of some of the problems, in the order given."""

    def pick(array: Array) -> Array:
        xp = namespace(array)
        index = xp.asarray(list(positions), **like(array) | {"dtype": xp.int32})
        return xp.take(array, index, axis=0)

    return _map(pick, state)


def take_one(state: T, position: int) -> T:
    """A copy of the state of one problem, without the leading axis."""
    return _map(lambda array: namespace(array).asarray(array[position, ...], copy=True), state)


def _map(function: Callable[..., Array], first: T, *others: T) -> T:
    """Apply a function to every array of a nested dataclass, or of several alike."""
    if is_array(first):
        result: T = function(first, *others)
        return result
    if not is_dataclass(first) or isinstance(first, type):
        return first
    parts = {
        field.name: _map(function, *(getattr(tree, field.name) for tree in (first, *others)))
        for field in fields(first)
    }
    return type(first)(**parts)
