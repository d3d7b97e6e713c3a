"""Approximate message passing: a way to the answer that knows how far off it still is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from robustrank.backend import (
    Array,
    as_generator,
    check_count,
    check_positive,
    diagonal_times,
    like,
    lower_median,
    namespace,
)
from robustrank.determination import Linearised
from robustrank.problem import Problem
from robustrank.solvers.base import MovedState, Solver, State
from robustrank.solvers.gauss_newton import GaussNewton, GaussNewtonState, Phase
from robustrank.solvers.lanes import choose
from robustrank.solvers.mixture import Belief, Mixture
from robustrank.solvers.retraction import Point
from robustrank.solvers.shrinkage import shrink
from robustrank.trust import TrustRule

_LEAST_PRECISION = 0.05
_LEARNING_STEPS = 5
_STALLED = 1e-3
_LOST = 0.5  # an error above this share of the estimate


@dataclass(frozen=True, eq=False)
class Best:
    """The estimate that was nearest, by its own account."""

    point: Point
    error: Array
    iteration: Array


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

    stackable: ClassVar[bool] = True
    rounding: ClassVar[float] = GaussNewton.rounding
    near: float = 0.25  # hand over when the error is below this share of the estimate
    patience: int = 50  # or when this many steps did not lower it
    max_steps: int = 200  # or after this many
    settles_at_once: bool = False  # if it is not lost: what is left is then taken for noise
    finish: GaussNewton = field(default_factory=GaussNewton)
    max_iterations: int = 281
    check_every: int = 1
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

    def cutoff(self, state: State) -> float | None:
        return self.finish.cutoff(state)

    def is_spent(self, state: MessageState | GaussNewtonState) -> bool:
        """Whether Gauss–Newton has had its steps, however long it took to get there."""
        finishing = isinstance(state, GaussNewtonState)
        return finishing and state.iteration >= self.finish.max_iterations

    def linearised(
        self, problem: Problem, state: MessageState | GaussNewtonState
    ) -> tuple[Linearised, Array, Array]:
        if isinstance(state, GaussNewtonState):
            return self.finish.linearised(problem, state)
        return super().linearised(problem, state)

    def start(self, problem: Problem, rng: np.random.Generator) -> MessageState:
        xp = namespace(problem.y)
        n1, n2 = problem.operator.matrix_shape
        mixture = Mixture.of(problem.y, problem.scale)
        nothing = xp.zeros_like(mixture.error)
        bases = (xp.eye(n, problem.rank, **like(problem.y)) for n in (n1, n2))
        left, right = (basis + nothing[..., None, None] for basis in bases)
        zero = Point(left, nothing[..., None] + xp.zeros(problem.rank, **like(problem.y)), right)
        best = Best(zero, nothing + xp.inf, xp.astype(nothing, xp.int32))
        never = nothing + xp.inf
        return self._state(
            problem, zero, xp.zeros_like(problem.y), nothing, mixture, 0, best, never
        )

    def step(
        self, problem: Problem, state: MessageState | GaussNewtonState
    ) -> MessageState | GaussNewtonState:
        if isinstance(state, GaussNewtonState):
            return self.finish.step(problem, state)
        over = self.is_over(problem, state)
        if bool(namespace(state.U).all(over)):
            return self._finish(problem, state.best)
        after = self.after(problem, state)
        # One that is over waits, as it is, for those that are solved in lockstep with it.
        return choose(over, replace(state, iteration=after.iteration), after)

    def after(self, problem: Problem, state: MessageState) -> MessageState:
        """The state after one more exchange of messages."""
        xp = namespace(state.U)
        m, gain = problem.operator.measurements, _gain(problem)
        belief = state.belief
        precision = xp.clip(belief.precision, min=_LEAST_PRECISION)
        message = belief.correction / precision[..., None]
        left, values, right = problem.operator.leading_svd(
            message / (m * gain[..., None] ** 2),
            problem.rank,
            as_generator(state.iteration),
            plus=(state.U, state.V),
        )
        noise = xp.sqrt(xp.mean(message**2, axis=-1) / m) / gain
        shrunk = shrink(values, noise, problem.operator.matrix_shape)
        point = Point(left, shrunk.values, right)
        # It is not over before Gauss–Newton was: an estimate that stays where it is has stalled.
        size = xp.linalg.vector_norm(shrunk.values, axis=-1)
        moved = _distance(point, state.point) / xp.where(size > 0, size, xp.ones_like(size))
        return self._state(
            problem,
            point,
            message,
            shrunk.divergence / m,
            state.mixture,
            state.iteration + 1,
            state.best,
            xp.clip(moved, min=_STALLED),
        )

    def _finish(self, problem: Problem, best: Best) -> GaussNewtonState:
        """Gauss–Newton from the best that was seen, or from its own start where that is nothing."""
        xp = namespace(best.error)
        found = best.point.values[..., 0] > 0
        point, error = best.point, best.error
        if not bool(xp.all(found)):
            first = self.finish.first_point(problem, as_generator(0), problem.rank)
            point = choose(found, point, first)
            error = xp.where(found, error, problem.scale)
        settles = self.is_within(_LOST, problem, best) & self.settles_at_once
        phase = xp.where(settles, Phase.SETTLING, xp.zeros_like(best.iteration) + Phase.SEARCHING)
        return self.finish.begin(problem, point, error, phase)

    def is_over(self, problem: Problem, state: MessageState) -> Array:
        """Whether no more messages are to be exchanged."""
        xp = namespace(state.U)
        return (
            ~xp.isfinite(state.mixture.error)
            | self.is_within(self.near, problem, state.best)
            | (state.iteration - state.best.iteration >= self.patience)
            | (state.iteration >= self.max_steps)
        )

    @staticmethod
    def is_within(share: float, problem: Problem, best: Best) -> Array:
        """Whether the error is below this share of the estimate."""
        # That is the better measure: many outliers make a median measurement look large.
        size = namespace(best.error).linalg.vector_norm(best.point.values, axis=-1)
        return best.error < share * _gain(problem) * size

    def _state(
        self,
        problem: Problem,
        point: Point,
        message: Array,
        feedback: Array,
        mixture: Mixture,
        iteration: int,
        best: Best,
        change: Array,
    ) -> MessageState:
        """The state at a point: one pass over the sensing data."""
        xp = namespace(message)
        U = diagonal_times(point.left, point.values)
        measured = problem.operator.measure(U, point.right)
        # Of each y_i, by an estimate that has in effect not seen it.
        predicted = measured - feedback[..., None] * message
        for _ in range(_LEARNING_STEPS):
            mixture = mixture.learnt(predicted)
        now = Best(point, mixture.error, xp.full_like(best.iteration, iteration))
        best = choose(mixture.error < 0.999 * best.error, now, best)
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


def _gain(problem: Problem) -> Array:
    return namespace(problem.y).asarray(problem.operator.gain, **like(problem.y))


def _distance(one: Point, other: Point) -> Array:
    """The Frobenius norm of the difference of two low-rank matrices, without forming them."""
    xp = namespace(one.left)
    overlap = xp.sum(
        (xp.matrix_transpose(diagonal_times(one.left, one.values)) @ other.left)
        * (xp.matrix_transpose(one.right) @ diagonal_times(other.right, other.values)),
        axis=(-2, -1),
    )
    squares = xp.sum(one.values**2, axis=-1) + xp.sum(other.values**2, axis=-1) - 2 * overlap
    return xp.sqrt(xp.clip(squares, min=0.0))
