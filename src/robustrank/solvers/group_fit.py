"""Two groups of sensors, one of which has a fault: a matrix that explains both."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from robustrank.backend import Array, epsilon, namespace, to_numpy
from robustrank.certificate import CLEARLY, best_set, log_choices
from robustrank.linalg import (
    TOLERANCE,
    Point,
    TangentMap,
    leverages,
    lower_median,
    plain_least_squares,
    relative_length,
    retract,
    shortest_half,
)
from robustrank.problem import Problem
from robustrank.solvers.base import (
    MOST_STEPS,
    PATIENCE,
    Best,
    PointState,
    Solver,
    linearize,
    state_at,
)
from robustrank.solvers.weights import leave_one_out_residuals

# Values are far from a group beyond this number of standard deviations or, at first, of half
# lengths of the shortest interval with half of them.
_FAR = CLEARLY
_SMALLEST_GROUP = 0.05  # of the measurements
_NARROW = 0.3  # of the distance between the groups

Pair = tuple[float, float]


class Fault(Enum):
    """What distinguishes the measurements of the two groups."""

    OFFSET = "offset"
    GAIN = "gain"


@dataclass(frozen=True, eq=False)
class Explanation(Best):
    """The matrix and the groups with the most evidence so far."""

    smaller: Array  # boolean: the measurements of the smaller group


@dataclass(frozen=True, eq=False)
class GroupFitState(PointState):
    """The current point, the groups, and the best explanation so far."""

    tangent: TangentMap
    parameters: Pair  # the offset or the gain of each group
    second: Array  # (m,) the probability that a measurement belongs to the second group
    share: float  # of the second group
    deviation: float  # of the measurements from their groups
    best: Explanation


@dataclass(frozen=True)
class GroupFit(Solver[GroupFitState]):
    """From a fit that compromises between two groups of sensors to one that explains both.

    If many sensors share an offset or a gain, least squares ends between the two groups, and its
    residuals look like noise. The solver alternates between the probability that each measurement
    belongs to each group, and least squares for the matrix and the offsets or gains of the groups:
    expectation–maximization. The group of a measurement is judged by what the other measurements
    predict, because a fit follows each measurement to some extent and would confirm a wrong group.
    The explanation with the most evidence is kept. Its evidence is comparable with that of
    ``EvidenceFit``: the choice of the group of each measurement counts against it.

    Parameters
    ----------
    initial
        The fit to start from.
    fault
        What distinguishes the groups.
    max_iterations, tolerance
        The largest number of steps; the solver also stops when the relative change of the factors
        in a step is smaller than the tolerance.
    name
        The name shown to users.
    """

    initial: Point
    fault: Fault
    max_iterations: int = MOST_STEPS
    tolerance: float = TOLERANCE
    name: str = "two groups"

    def is_exhausted(self, state: GroupFitState) -> bool:
        return state.iteration - state.best.iteration >= PATIENCE

    def start(self, problem: Problem, rng: np.random.Generator) -> GroupFitState:
        initial, xp = self.initial, namespace(problem.y)
        tangent, residual = linearize(problem, initial)
        own = leverages(tangent, xp.ones_like(residual), problem.degrees_of_freedom)
        predicted = problem.y - leave_one_out_residuals(residual, own)
        if self.fault is Fault.OFFSET:
            values, unit = (problem.y - predicted) / problem.row_factors, 1.0
        else:  # the gains of the larger half of the predictions
            unit = float(lower_median(xp.abs(predicted)))
            large = xp.abs(predicted) > unit
            values = problem.y[large] / predicted[large]
        parameters = _two_centers(to_numpy(values))
        deviation = abs(parameters[1] - parameters[0]) / 3 * unit
        return self._observe(problem, initial, parameters, 0.5, deviation)

    def step(self, problem: Problem, state: GroupFitState) -> GroupFitState:
        if self.fault is Fault.OFFSET:
            W, parameters = self._fitted_with_offsets(problem, state)
        else:
            W, parameters = self._fitted_with_gains(problem, state)
        point = retract(state.point, W, problem.rank)
        moved = relative_length(W, point)
        return self._observe(
            problem, point, parameters, state.share, state.deviation, before=state, moved=moved
        )

    def _fitted_with_offsets(self, problem: Problem, state: GroupFitState) -> tuple[Array, Pair]:
        """Least squares for the matrix and the two offsets, which are eliminated."""
        xp = namespace(state.U)
        groups = [share * problem.row_factors for share in (1 - state.second, state.second)]
        W, *along = (
            plain_least_squares(state.tangent, state.weights, target)
            for target in (state.residual, *groups)
        )
        rest = state.residual - state.tangent.apply(W)
        left = [group - state.tangent.apply(V) for group, V in zip(groups, along, strict=True)]
        matrix = np.asarray([[float(xp.sum(state.weights * a * b)) for b in left] for a in groups])
        right = np.asarray([float(xp.sum(state.weights * a * rest)) for a in groups])
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            return W, state.parameters
        first, second = (float(it) for it in np.linalg.lstsq(matrix, right, rcond=None)[0])
        return W - first * along[0] - second * along[1], (first, second)

    def _fitted_with_gains(self, problem: Problem, state: GroupFitState) -> tuple[Array, Pair]:
        """Least squares for the matrix, then for the gain of each group."""
        xp = namespace(state.U)
        fitted = problem.y - state.residual
        values, precision = self._true_values(problem, state.second, state.parameters)
        weights = state.weights * precision
        W = plain_least_squares(state.tangent, weights, values - fitted)
        fitted = fitted + state.tangent.apply(W)
        gains = []
        for share, before in zip((1 - state.second, state.second), state.parameters, strict=True):
            weights = state.weights * share * fitted
            square = float(xp.sum(weights * fitted))
            gains.append(float(xp.sum(weights * problem.y)) / square if square > 0 else before)
        return W, (gains[0], gains[1])

    def _observe(
        self,
        problem: Problem,
        point: Point,
        parameters: Pair,
        share: float,
        deviation: float,
        before: GroupFitState | None = None,
        moved: float = 1.0,
    ) -> GroupFitState:
        """The state at a point: one pass over the data."""
        xp = namespace(point.left)
        tangent, residual = linearize(problem, point)
        fitted, iteration = problem.y - residual, 0
        values, weights = problem.y, xp.ones_like(fitted)
        if before is not None:
            iteration, weights = before.iteration + 1, before.weights
            values, _ = self._true_values(problem, before.second, parameters)
        # The true values that the other measurements predict.
        own = leverages(tangent, weights, problem.degrees_of_freedom)
        predicted = values - leave_one_out_residuals(values - fitted, own)
        # The variance of such a prediction is in proportion to 1 / (1 − leverage).
        precision = xp.sqrt(1 - own)
        errors = [
            precision * (problem.y - self._measured(problem, predicted, one)) for one in parameters
        ]
        second = _probability(errors, share, deviation)
        near = xp.minimum(*map(xp.abs, errors)) <= _FAR * deviation
        weights = xp.astype(near, fitted.dtype)
        count = max(float(xp.sum(weights)), 1.0)
        squares = weights * ((1 - second) * errors[0] ** 2 + second * errors[1] ** 2)
        least = epsilon(residual) * float(problem.trivial_deviation)
        best = self._explanation(problem, point, fitted, second > 0.5, parameters, iteration)
        if before is not None:
            best = before.best.or_better(best)
        return GroupFitState(
            **vars(state_at(point, residual, weights)),
            moved=moved,
            point=point,
            tangent=tangent,
            parameters=parameters,
            second=second,
            share=float(xp.sum(weights * second)) / count,
            deviation=max(float(xp.sqrt(xp.sum(squares) / count)), least),
            best=best,
            iteration=iteration,
        )

    def _explanation(
        self,
        problem: Problem,
        point: Point,
        fitted: Array,
        second: Array,
        parameters: Pair,
        iteration: int,
    ) -> Explanation:
        """The matrix of the larger group, and the evidence for both; ``second`` is boolean."""
        xp = namespace(fitted)
        groups = ~second, second
        measured = [self._measured(problem, fitted, one) for one in parameters]
        distance = xp.abs(problem.y - xp.where(second, measured[1], measured[0]))
        inliers = best_set(
            distance,
            xp.ones_like(distance),
            problem.trivial_deviation,
            problem.degrees_of_freedom + 1,
        )
        near = distance <= inliers.cutoff
        counts = [int(xp.count_nonzero(near & group)) for group in groups]
        chosen = np.asarray([float(sum(counts)), float(min(counts))])
        evidence = float(inliers.evidence) - float(log_choices(chosen[:1], chosen[1:])[0])
        larger = int(counts[1] > counts[0])
        gain = parameters[larger] if self.fault is Fault.GAIN else 1.0
        if gain > 0:
            point = replace(point, values=point.values * gain)
        return Explanation(point, evidence, iteration, groups[1 - larger])

    def _true_values(
        self, problem: Problem, second: Array, parameters: Pair
    ) -> tuple[Array, Array | float]:
        """The expected true value of each measurement, and its relative precision."""
        if self.fault is Fault.OFFSET:
            offset = (1 - second) * parameters[0] + second * parameters[1]
            return problem.y - offset * problem.row_factors, 1.0
        precision = (1 - second) * parameters[0] ** 2 + second * parameters[1] ** 2
        gain = (1 - second) * parameters[0] + second * parameters[1]
        return problem.y * gain / precision, precision

    def _measured(self, problem: Problem, values: Array, parameter: float) -> Array:
        """What a sensor with this offset or gain measures."""
        if self.fault is Fault.OFFSET:  # the same for all sensors before rows are scaled
            return values + parameter * problem.row_factors
        return values * parameter


def _probability(errors: list[Array], share: float, deviation: float) -> Array:
    """The probability of the second group, which has this share, for normal errors."""
    xp = namespace(errors[0])
    tiny = float(xp.finfo(errors[0].dtype).smallest_normal)
    unit = max(deviation, tiny)
    exponent = ((errors[1] / unit) ** 2 - (errors[0] / unit) ** 2) / 2
    log_odds = math.log((1 - share + tiny) / (share + tiny))
    return (1 - xp.tanh((exponent + log_odds) / 2)) / 2


def _two_centers(values: np.ndarray[Any, Any]) -> Pair:
    """The centers of two groups of values, the lower one first, beside some unrelated values.

    Either a second group is away from most values, and much narrower than its distance; or the
    groups overlap, and are the two sides of the value for which the sum of squared distances from
    the means is smallest.
    """
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return 0.0, 0.0
    middle, length = (float(it) for it in shortest_half(values))
    far = np.abs(values - middle) > _FAR * length
    away, near = values[far], np.sort(values[~far])
    if len(away) >= _SMALLEST_GROUP * len(values):
        other, spread = (float(it) for it in shortest_half(away))
        if spread < _NARROW * abs(other - middle):
            return min(middle, other), max(middle, other)
    if len(near) < 2:
        return middle - length, middle + length
    count, sums = np.arange(1, len(near)), np.cumsum(near)
    low, high = sums[:-1] / count, (sums[-1] - sums[:-1]) / count[::-1]
    best = int(np.argmax(count * count[::-1] * (high - low) ** 2))
    return float(low[best]), float(high[best])
