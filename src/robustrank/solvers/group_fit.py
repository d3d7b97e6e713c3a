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
    plain_least_squares,
    relative_length,
    retract,
    shortest_half,
)
from robustrank.problem import Problem
from robustrank.solvers.base import (
    PATIENCE,
    Best,
    PointState,
    Solver,
    linearize,
    state_at,
)
from robustrank.solvers.weights import leave_one_out_residuals, leverages

# Values are far from a group beyond this number of standard deviations or, at first, of half
# lengths of the shortest interval with half of them.
_FAR = CLEARLY
_SMALLEST_GROUP = 0.05  # of the measurements
_NARROW = 0.3  # of the distance between the groups

Pair = tuple[float, float]


class Fault(Enum):
    """What distinguishes the measurements of the two groups: the parameter of a group."""

    OFFSET = "offset"
    GAIN = "gain"

    def gain(self, parameter: float) -> float:
        """The factor of the true values in the measurements of a group."""
        return parameter if self is Fault.GAIN else 1.0

    def measured(self, values: Array, row_factors: Array) -> tuple[Array, Array]:
        """(base, slope): sensors with the parameter p measure base + p · slope."""
        if self is Fault.OFFSET:  # the same for all sensors before rows are scaled
            return values, row_factors
        return namespace(values).zeros_like(values), values


@dataclass(frozen=True, eq=False)
class Groups:
    """Two groups of measurements."""

    parameters: Pair  # the offset or the gain of each group
    second: Array  # (m,) the probability that a measurement belongs to the second group
    share: float  # of the second group
    deviation: float  # of the measurements from their groups

    @property
    def probabilities(self) -> tuple[Array, Array]:
        """The probability of each group for every measurement."""
        return 1 - self.second, self.second


@dataclass(frozen=True, eq=False)
class Explanation(Best):
    """The matrix and the groups with the most evidence so far."""

    smaller: Array  # boolean: the measurements of the smaller group


@dataclass(frozen=True, eq=False)
class GroupFitState(PointState):
    """The current point, the groups, and the best explanation so far."""

    tangent: TangentMap
    groups: Groups
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
    max_iterations: int = 25
    tolerance: float = TOLERANCE
    name: str = "two groups"

    def is_exhausted(self, state: GroupFitState) -> bool:
        return state.iteration - state.best.iteration >= PATIENCE

    def start(self, problem: Problem, rng: np.random.Generator) -> GroupFitState:
        xp = namespace(problem.y)
        tangent, residual = linearize(problem, self.initial)
        ones = xp.ones_like(residual)
        own = leverages(tangent, ones, problem.degrees_of_freedom)
        predicted = problem.y - leave_one_out_residuals(residual, own)
        base, slope = self.fault.measured(predicted, problem.row_factors)
        typical = xp.sqrt(xp.mean(slope**2))
        clear = xp.abs(slope) >= typical / 2  # the others hardly show the parameter
        parameters = _two_centers(to_numpy((problem.y - base)[clear] / slope[clear]))
        deviation = _NARROW * abs(parameters[1] - parameters[0]) * float(typical)
        groups = Groups(parameters, ones / 2, 0.5, deviation)
        nothing = Explanation(self.initial, -math.inf, 0, smaller=ones > 1)
        return self._observe(problem, self.initial, groups, ones, nothing)

    def step(self, problem: Problem, state: GroupFitState) -> GroupFitState:
        fitted = problem.y - state.residual
        target, precision = self._target(problem, fitted, state.groups)
        W = plain_least_squares(state.tangent, state.weights * precision, target)
        point = retract(state.point, W, problem.rank)
        parameters = self._parameters(problem, fitted + state.tangent.apply(W), state)
        groups = replace(state.groups, parameters=parameters)
        moved, iteration = relative_length(W, point), state.iteration + 1
        return self._observe(problem, point, groups, state.weights, state.best, moved, iteration)

    def _parameters(self, problem: Problem, values: Array, state: GroupFitState) -> Pair:
        """Least squares for the parameter of each group, given the true values."""
        xp, groups, weights = namespace(values), state.groups, state.weights
        base, slope = self.fault.measured(values, problem.row_factors)
        columns = [probability * slope for probability in groups.probabilities]
        targets = *columns, problem.y - base
        products = np.asarray(
            [[float(xp.sum(weights * column * b)) for b in targets] for column in columns]
        )
        if not np.isfinite(products).all():
            return groups.parameters
        first, second = np.linalg.lstsq(products[:, :2], products[:, 2], rcond=None)[0]
        return float(first), float(second)

    def _errors(self, problem: Problem, values: Array, parameters: Pair) -> list[Array]:
        """The measurements without what each group would measure of these true values."""
        base, slope = self.fault.measured(values, problem.row_factors)
        return [problem.y - base - parameter * slope for parameter in parameters]

    def _target(self, problem: Problem, fitted: Array, groups: Groups) -> tuple[Array, Array]:
        """The expected true values without the fitted ones, and their relative precision."""
        errors = self._errors(problem, fitted, groups.parameters)
        gains = map(self.fault.gain, groups.parameters)
        terms = [
            (probability * gain, gain, error)
            for probability, gain, error in zip(groups.probabilities, gains, errors, strict=True)
        ]
        precision = sum(weight * gain for weight, gain, _ in terms)
        return sum(weight * error for weight, _, error in terms) / precision, precision

    def _observe(
        self,
        problem: Problem,
        point: Point,
        groups: Groups,
        weights: Array,
        best: Explanation,
        moved: float = 1.0,
        iteration: int = 0,
    ) -> GroupFitState:
        """The state at a point with new probabilities of the groups: one pass over the data.

        ``weights`` are those of the fit that has led there.
        """
        xp = namespace(point.left)
        tangent, residual = linearize(problem, point)
        fitted = problem.y - residual
        target = residual
        if iteration > 0:  # which group a measurement belongs to is known to some extent
            target, _ = self._target(problem, fitted, groups)
        own = leverages(tangent, weights, problem.degrees_of_freedom)
        # The true values that the other measurements predict; the variance of such a prediction is
        # in proportion to 1 / (1 − leverage).
        predicted = fitted + target - leave_one_out_residuals(target, own)
        errors = [
            xp.sqrt(1 - own) * error
            for error in self._errors(problem, predicted, groups.parameters)
        ]
        second = _probability(errors, groups.share, groups.deviation)
        near = xp.minimum(*map(xp.abs, errors)) <= _FAR * groups.deviation
        weights = xp.astype(near, fitted.dtype)
        count = max(float(xp.sum(weights)), 1.0)
        squares = weights * ((1 - second) * errors[0] ** 2 + second * errors[1] ** 2)
        least = epsilon(residual) * float(problem.trivial_deviation)
        groups = Groups(
            parameters=groups.parameters,
            second=second,
            share=float(xp.sum(weights * second)) / count,
            deviation=max(float(xp.sqrt(xp.sum(squares) / count)), least),
        )
        explained = self._explanation(problem, point, fitted, groups, iteration)
        return GroupFitState(
            **vars(state_at(point, residual, weights)),
            moved=moved,
            point=point,
            tangent=tangent,
            iteration=iteration,
            groups=groups,
            best=best.or_better(explained),
        )

    def _explanation(
        self, problem: Problem, point: Point, fitted: Array, groups: Groups, iteration: int
    ) -> Explanation:
        """The matrix of the larger group, and the evidence for both."""
        xp = namespace(fitted)
        second = groups.second > 0.5
        errors = self._errors(problem, fitted, groups.parameters)
        distance = xp.abs(xp.where(second, errors[1], errors[0]))
        inliers = best_set(
            distance,
            xp.ones_like(distance),
            problem.trivial_deviation,
            problem.degrees_of_freedom + 1,
        )
        near = distance <= inliers.cutoff
        first_count, second_count = (int(xp.count_nonzero(near & it)) for it in (~second, second))
        total, fewer = first_count + second_count, min(first_count, second_count)
        choices = log_choices(np.asarray([float(total)]), np.asarray([float(fewer)]))
        second_is_larger = second_count > first_count
        gain = self.fault.gain(groups.parameters[second_is_larger])
        if gain > 0:
            point = replace(point, values=point.values * gain)
        smaller = ~second if second_is_larger else second
        return Explanation(point, float(inliers.evidence) - float(choices[0]), iteration, smaller)


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
    if len(values) < 2:
        return 0.0, 0.0
    middle, length = (float(it) for it in shortest_half(values))
    far = np.abs(values - middle) > _FAR * length
    away, near = values[far], np.sort(values[~far])
    if len(away) >= _SMALLEST_GROUP * len(values):
        other, spread = (float(it) for it in shortest_half(away))
        if spread < _NARROW * abs(other - middle):
            return min(middle, other), max(middle, other)
    count, sums = np.arange(1, len(near)), np.cumsum(near)
    low, high = sums[:-1] / count, (sums[-1] - sums[:-1]) / count[::-1]
    best = int(np.argmax(count * count[::-1] * (high - low) ** 2))
    return float(low[best]), float(high[best])
