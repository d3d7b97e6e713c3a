"""Approximate message passing, which estimates its own error as it goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from robustrank.backend import (
    Array,
    as_generator,
    check_count,
    check_positive,
    like,
    namespace,
)
from robustrank.linalg import TOLERANCE, Point, distance, lower_median
from robustrank.operators import CenteredOperator
from robustrank.problem import Problem
from robustrank.solvers.base import Estimate, EstimatingSolver, State, select
from robustrank.solvers.message_passing.mixture import Mixture, Posterior
from robustrank.solvers.message_passing.shrinkage import shrink

_LEAST_PRECISION = 0.05
_MIXTURE_UPDATES = 5
_STALLED = 1e-3  # a smaller relative change of the estimate or its error is none
_LOST = 0.5  # an error above this share of the estimate


@dataclass(frozen=True, eq=False)
class Best:
    """The estimate with the smallest estimated error so far."""

    point: Point
    error: Array
    iteration: Array


@dataclass(frozen=True, eq=False)
class MessagePassingState(State):
    """The current estimate, the mixture model of the measurements, and the best estimate."""

    moved: Array  # relative change in the last step
    point: Point
    posterior: Posterior
    mixture: Mixture
    iteration: int
    best: Best
    finished: Array  # boolean: whether the estimate is near, or no longer improves

    def change(self) -> Array:
        return self.moved


@dataclass(frozen=True)
class MessagePassing(EstimatingSolver[MessagePassingState]):
    """Approximate message passing up to a rough estimate.

    A fit adapts to the measurements it uses, including outliers, so its residuals are a poor guide
    to which measurements are outliers. Message passing removes from each prediction the influence
    of the measurement itself. The difference from y is then the error of the estimate, and a
    mixture model separates inliers, flipped signs, sensors with the same fault, and outliers. The
    estimate in turn is the best estimate of a low-rank matrix in white noise of known variance.
    This holds for sensing entries that are nearly independent; otherwise the estimated error stops
    decreasing.

    The solver stops when the estimate is near the solution. Follow it with Gauss–Newton:
    ``TwoStage(MessagePassing(), GaussNewton())``, which is ``solver="message-passing"``.

    Parameters
    ----------
    target_error
        Stop when the estimated error is below this share of the estimate.
    target_error_at_full_rank
        Stop at this share, which is usually larger, if no singular value is shrunk to zero: the
        smallest singular values appear last. None: no such rule.
    faults
        Whether to learn the offsets, gains and constant values that faulty sensors share.
    patience
        The number of steps without a smaller estimated error after which the solver stops; half of
        it once the estimate is better than none.
    max_iterations, tolerance
        The largest number of steps; the solver also stops when the relative change in a step is
        smaller than the tolerance.
    name
        The name shown to users.

    See Also
    --------
    robustrank.solvers.TwoStage : Runs it, followed by another solver.
    robustrank.solvers.Portfolio : Also uses it to find the rank.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.2, outlier_model="flip", rng=1)
    >>> first = rr.solvers.MessagePassing(target_error_at_full_rank=0.1)
    >>> solver = rr.solvers.TwoStage(first, rr.solvers.GaussNewton())
    >>> rr.recover(planted.A, planted.y, rank=2, solver=solver).status.name
    'RECOVERED'
    """

    batchable: ClassVar[bool] = True
    target_error: float = 1e-3
    target_error_at_full_rank: float | None = 0.25
    faults: bool = False
    patience: int = 50
    max_iterations: int = 200
    tolerance: float = TOLERANCE
    name: str = "message passing"

    def __post_init__(self) -> None:
        check_positive(target_error=self.target_error)
        check_count(patience=self.patience, max_iterations=self.max_iterations)

    def start(self, problem: Problem, rng: np.random.Generator) -> MessagePassingState:
        xp, problem = namespace(problem.y), problem.centered
        centered = isinstance(problem.operator, CenteredOperator)
        mixture = Mixture.initial(problem.y, problem.scale, faults=self.faults, centered=centered)
        zero = xp.zeros_like(mixture.error)
        left, right = (
            xp.eye(n, problem.rank, **like(problem.y)) + zero[..., None, None]
            for n in problem.operator.matrix_shape
        )
        values = zero[..., None] + xp.zeros(problem.rank, **like(problem.y))
        origin = Point(left=left, values=values, right=right)
        return self._observe(
            problem,
            point=origin,
            message=xp.zeros_like(problem.y),
            onsager=zero,
            mixture=mixture,
            iteration=0,
            best=Best(origin, error=zero + xp.inf, iteration=xp.astype(zero, xp.int32)),
            change=zero + xp.inf,
        )

    def step(self, problem: Problem, state: MessagePassingState) -> MessagePassingState:
        """One more exchange of messages for the problems that are not finished."""
        xp = namespace(state.U)
        # A change of zero ends the run.
        at_rest = replace(state, moved=xp.zeros_like(state.moved), iteration=state.iteration + 1)
        if bool(xp.all(state.finished)):
            return at_rest
        after = self._exchange(problem.centered, state)
        return select(state.finished, at_rest, after) if state.finished.ndim else after

    def is_finished(self, state: MessagePassingState) -> Array:
        return state.finished

    def estimate(self, problem: Problem, state: MessagePassingState) -> Estimate:
        best, operator = state.best, problem.centered.operator
        error = best.error
        if isinstance(operator, CenteredOperator):  # the estimate need not have the offset found
            common = operator.common(best.point.scaled_left, best.point.right)
            error = error + namespace(error).abs(state.mixture.offset - common)
        credible = is_within(_LOST, problem, best)
        return Estimate(point=best.point, error=error, is_credible=credible)

    def _exchange(self, problem: Problem, state: MessagePassingState) -> MessagePassingState:
        """The state after one exchange of messages: two passes over the sensing data."""
        xp = namespace(state.U)
        m, gain = problem.operator.measurements, _gain(problem)
        precision = xp.clip(state.posterior.precision, min=_LEAST_PRECISION)
        message = state.posterior.correction / precision[..., None]
        left, values, right = problem.operator.leading_svd(
            message / (m * gain[..., None] ** 2),
            problem.rank,
            as_generator(state.iteration),
            plus=(state.U, state.V),
        )
        # A symmetric matrix has half of the unknowns: of the noise in the messages, which is spread
        # over all entries, its symmetric part remains, and half of the divergence.
        parts = 2 if problem.symmetric else 1
        noise = xp.sqrt(xp.mean(message**2, axis=-1) / (parts * m)) / gain
        shrunk = shrink(values, noise, problem.operator.matrix_shape)
        point = Point(left=left, values=shrunk.values, right=right)
        size = xp.linalg.vector_norm(shrunk.values, axis=-1)
        moved = distance(point, state.point) / xp.where(size > 0, size, xp.ones_like(size))
        return self._observe(
            problem,
            point=point,
            message=message,
            onsager=shrunk.divergence / (parts * m),
            mixture=state.mixture,
            iteration=state.iteration + 1,
            best=state.best,
            # An estimate that no longer moves has stalled; that is not convergence.
            change=xp.clip(moved, min=_STALLED),
        )

    def _observe(
        self,
        problem: Problem,
        *,
        point: Point,
        message: Array,
        onsager: Array,
        mixture: Mixture,
        iteration: int,
        best: Best,
        change: Array,
    ) -> MessagePassingState:
        """The state at a point: one pass over the sensing data."""
        xp = namespace(message)
        measured = problem.operator.measure(point.scaled_left, point.right)
        # The Onsager term removes from each prediction the influence of its own measurement.
        predicted = measured - onsager[..., None] * message
        for _ in range(_MIXTURE_UPDATES):
            mixture = mixture.updated(predicted)
        mixture, gain = mixture.rescaled(predicted)
        point = replace(point, values=point.values * gain[..., None])
        measured, predicted = measured * gain[..., None], predicted * gain[..., None]
        now = Best(point, mixture.error, xp.full_like(best.iteration, iteration))
        best = select(mixture.error < (1 - _STALLED) * best.error, now, best)
        residual = problem.y - measured - mixture.offset[..., None]
        posterior = mixture.posterior(predicted)
        return MessagePassingState(
            U=point.scaled_left,
            V=point.right,
            residual=residual,
            median=lower_median(xp.abs(residual)),
            weights=xp.astype(posterior.inlier > 0.5, residual.dtype),
            moved=change,
            point=point,
            posterior=posterior,
            mixture=mixture,
            iteration=iteration,
            best=best,
            finished=self._stops(problem, mixture, best, iteration),
        )

    def _stops(self, problem: Problem, mixture: Mixture, best: Best, iteration: int) -> Array:
        """Whether to stop with the best estimate so far."""
        xp = namespace(best.error)
        full_rank = xp.all(best.point.values > 0, axis=-1)
        waited = iteration - best.iteration
        return (
            ~xp.isfinite(mixture.error)
            | is_within(self.target_error, problem, best)
            | (full_rank & is_within(self.target_error_at_full_rank or 0.0, problem, best))
            | (waited >= self.patience)
            | (is_within(_LOST, problem, best) & (2 * waited >= self.patience))
            | (iteration >= self.max_iterations)
        )


def is_within(share: float, problem: Problem, best: Best) -> Array:
    """Whether the estimated error is below this share of the estimate."""
    problem = problem.centered
    # The size of the estimate, and not a median measurement, which many outliers make large.
    size = namespace(best.error).linalg.vector_norm(best.point.values, axis=-1)
    return best.error < share * _gain(problem) * size


def _gain(problem: Problem) -> Array:
    return namespace(problem.y).asarray(problem.operator.gain, **like(problem.y))
