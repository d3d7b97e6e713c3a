"""Approximate message passing: a way to the answer that knows how far off it still is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from robustrank.backend import (
    Array,
    as_generator,
    check_count,
    check_positive,
    frobenius_norm,
    like,
    lower_median,
    namespace,
)
from robustrank.determination import Linearised
from robustrank.problem import Problem
from robustrank.solvers.base import MovedState, Solver
from robustrank.solvers.gauss_newton import GaussNewton, GaussNewtonState
from robustrank.solvers.mixture import Belief, Mixture
from robustrank.solvers.retraction import Point
from robustrank.solvers.shrinkage import shrink
from robustrank.trust import TrustRule

_LEAST_PRECISION = 0.05
_LEARNING_STEPS = 5
_STALLED = 1e-3


@dataclass(frozen=True, eq=False)
class Best:
    """The estimate that was nearest, by its own account."""

    point: Point
    error: float
    iteration: int


@dataclass(frozen=True, eq=False)
class MessageState(MovedState):
    """Beside the state, what the measurements say of it and the best that was seen."""

    point: Point
    belief: Belief
    mixture: Mixture
    iteration: int
    best: Best


@dataclass(frozen=True)
class MessagePassing(Solver[MessageState | GaussNewtonState]):
    """Approximate message passing until the answer is near, then Gauss–Newton.

    A fit is too close to the measurements it was made from, outliers included, so its residuals
    say little about which to believe. Message passing takes out of every prediction what the
    measurement itself put in; what is left differs from y by the error of the estimate, and a
    mixture of right, flipped and garbage measurements tells them apart. The estimate in turn is
    the best guess at a low-rank matrix seen in white noise of known size. This holds for sensing
    entries that are independent, or nearly; where they are not it may go astray, and the error it
    believes in then stops falling.
    """

    check_every: ClassVar[int] = 1
    rounding: ClassVar[float] = GaussNewton.rounding
    near: float = 0.25  # hand over when the error is below this share of the estimate
    patience: int = 50  # or when this many steps did not lower it
    max_steps: int = 200  # or after this many
    finish: GaussNewton = field(default_factory=GaussNewton)
    max_iterations: int = 280
    tolerance: float = 1e-6
    name: str = "message passing"

    def __post_init__(self) -> None:
        check_positive(near=self.near)
        check_count(
            patience=self.patience, max_steps=self.max_steps, max_iterations=self.max_iterations
        )

    @property
    def trust(self) -> TrustRule:
        return self.finish.trust

    def linearised(
        self, problem: Problem, state: MessageState | GaussNewtonState
    ) -> tuple[Linearised, Array, Array]:
        if isinstance(state, GaussNewtonState):
            return self.finish.linearised(problem, state)
        return super().linearised(problem, state)

    def start(self, problem: Problem, rng: np.random.Generator) -> MessageState:
        xp = namespace(problem.y)
        n1, n2 = problem.operator.matrix_shape
        zero = Point(
            xp.eye(n1, problem.rank, **like(problem.y)),
            xp.zeros(problem.rank, **like(problem.y)),
            xp.eye(n2, problem.rank, **like(problem.y)),
        )
        mixture = Mixture.of(problem.y, problem.scale)
        best = Best(zero, math.inf, 0)
        return self._state(problem, zero, xp.zeros_like(problem.y), 0.0, mixture, 0, best, math.inf)

    def step(
        self, problem: Problem, state: MessageState | GaussNewtonState
    ) -> MessageState | GaussNewtonState:
        if isinstance(state, GaussNewtonState):
            return self.finish.step(problem, state)
        if self._is_over(problem, state):
            if float(state.best.point.values[0]) > 0:
                return self.finish.begin(problem, state.best.point, state.best.error)
            return self.finish.start(problem, as_generator(0))
        xp = namespace(state.U)
        m, gain = problem.operator.measurements, problem.operator.gain
        belief = state.belief
        least = xp.full_like(belief.precision, _LEAST_PRECISION)
        message = belief.correction / xp.where(belief.precision > least, belief.precision, least)
        left, values, right = problem.operator.leading_svd(
            message / (m * gain**2),
            problem.rank,
            as_generator(state.iteration),
            plus=(state.U, state.V),
        )
        noise = xp.sqrt(xp.mean(message**2) / m) / gain
        shrunk = shrink(values, noise, problem.operator.matrix_shape)
        point = Point(left, shrunk.values, right)
        # It is not over before Gauss–Newton was: an estimate that stays where it is has stalled.
        moved = _distance(point, state.point) / (float(frobenius_norm(shrunk.values)) or 1.0)
        return self._state(
            problem,
            point,
            message,
            shrunk.divergence / m,
            state.mixture,
            state.iteration + 1,
            state.best,
            max(moved, _STALLED),
        )

    def _is_over(self, problem: Problem, state: MessageState) -> bool:
        # The estimate is the better measure: many outliers make a median measurement look large.
        size = problem.operator.gain * float(frobenius_norm(state.best.point.values))
        return (
            not math.isfinite(float(state.mixture.error))
            or state.best.error < self.near * size
            or state.iteration - state.best.iteration >= self.patience
            or state.iteration >= self.max_steps
        )

    def _state(
        self,
        problem: Problem,
        point: Point,
        message: Array,
        feedback: Array | float,
        mixture: Mixture,
        iteration: int,
        best: Best,
        change: float,
    ) -> MessageState:
        """The state at a point: one pass over the sensing data."""
        xp = namespace(message)
        U = point.left * point.values
        measured = problem.operator.measure(U, point.right)
        # Of each y_i, by an estimate that has in effect not seen it.
        predicted = measured - feedback * message
        for _ in range(_LEARNING_STEPS):
            mixture = mixture.learnt(predicted)
        error = float(mixture.error)
        if error < 0.999 * best.error:
            best = Best(point, error, iteration)
        residual = problem.y - measured
        belief = mixture.believe(predicted)
        return MessageState(
            U,
            point.right,
            residual,
            lower_median(xp.abs(residual)),
            xp.astype(belief.right > 0.5, residual.dtype),
            change,
            point,
            belief,
            mixture,
            iteration,
            best,
        )


def _distance(one: Point, other: Point) -> float:
    """The Frobenius norm of the difference of two low-rank matrices, without forming them."""
    xp = namespace(one.left)
    overlap = xp.sum(
        (xp.matrix_transpose(one.left * one.values) @ other.left)
        * (xp.matrix_transpose(one.right) @ (other.right * other.values))
    )
    squares = xp.sum(one.values**2) + xp.sum(other.values**2) - 2 * overlap
    return math.sqrt(max(float(squares), 0.0))
