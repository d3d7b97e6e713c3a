"""One solver that approaches the solution, followed by another that completes the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from robustrank.backend import Array, namespace
from robustrank.linalg import TOLERANCE, TangentMap
from robustrank.problem import Problem
from robustrank.solvers.base import ContinuableSolver, EstimatingSolver, Solver, State, select
from robustrank.solvers.gauss_newton import GaussNewton
from robustrank.solvers.message_passing import MessagePassing
from robustrank.solvers.weights import WeightFunction

_FIRST, _SECOND = 0, 1

SolverT = TypeVar("SolverT", bound=Solver[Any])


@dataclass(frozen=True, eq=False)
class TwoStageState(State):
    """The state of one of the two solvers."""

    stage: int
    inner: Any  # the state of that solver

    @classmethod
    def of(cls, stage: int, inner: State) -> TwoStageState:
        """The state ``inner`` of the solver of a stage."""
        return cls(
            U=inner.U,
            V=inner.V,
            residual=inner.residual,
            median=inner.median,
            weights=inner.weights,
            stage=stage,
            inner=inner,
        )

    def change(self) -> Array | float:
        return self.inner.change()


@dataclass(frozen=True)
class TwoStage(Solver[TwoStageState]):
    """Run ``first`` until it is finished, then ``second`` from its estimate.

    In a batch, the second solver starts when the first is finished on every problem.

    Parameters
    ----------
    first, second
        The solvers, for example ``MessagePassing()`` and ``GaussNewton()``.
    max_iterations
        The largest number of steps of both; changing from the first to the second takes one step.
        Each solver also has its own limit.
    tolerance
        Stop when the relative change of the factors per step is smaller.
    name
        The name shown to users.

    See Also
    --------
    robustrank.solvers.MessagePassing : The usual first solver.
    robustrank.solvers.GaussNewton : The usual second solver.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> first, second = rr.solvers.MessagePassing(), rr.solvers.GaussNewton()
    >>> solver = rr.solvers.TwoStage(first, second, name="mine")
    >>> result = rr.recover(planted.A, planted.y, rank=2, solver=solver)
    >>> result.status.name, result.solver
    ('RECOVERED', 'mine')
    """

    batchable: ClassVar[bool] = True
    first: EstimatingSolver[Any]
    second: ContinuableSolver[Any]
    max_iterations: int = 1 + MessagePassing.max_iterations + GaussNewton.max_iterations
    tolerance: float = TOLERANCE
    name: str = "two stages"

    @property
    def weight_function(self) -> WeightFunction:
        return self.second.weight_function

    def named(self, stage: SolverT, after: int = 0) -> SolverT:
        """One of the solvers under the name of both, for a search that runs them one by one.

        ``after`` is the number of steps that were taken before.
        """
        given: Any = stage
        steps = min(given.max_iterations, max(self.max_iterations - after, 1))
        named: SolverT = replace(given, name=self.name, max_iterations=steps)
        return named

    def cutoff(self, state: State) -> float | None:
        return self.second.cutoff(state.inner if isinstance(state, TwoStageState) else state)

    def is_exhausted(self, state: TwoStageState) -> bool:
        return state.stage == _SECOND and self.second.is_exhausted(state.inner)

    def tangent(self, problem: Problem, state: TwoStageState) -> TangentMap:
        solver: Solver[Any] = self.first if state.stage == _FIRST else self.second
        return solver.tangent(problem, state.inner)

    def start(self, problem: Problem, rng: np.random.Generator) -> TwoStageState:
        return TwoStageState.of(_FIRST, self.first.start(problem, rng))

    def step(self, problem: Problem, state: TwoStageState) -> TwoStageState:
        if state.stage == _SECOND:
            return TwoStageState.of(_SECOND, self.second.step(problem, state.inner))
        xp = namespace(state.U)
        finished = self.first.is_finished(state.inner)
        if bool(xp.all(finished)):
            estimate = self.first.estimate(problem, state.inner)
            return TwoStageState.of(_SECOND, self.second.start_from(problem, estimate))
        after = self.first.step(problem, state.inner)
        if finished.ndim and bool(xp.any(finished)):  # these wait for the others in the batch
            after = select(~finished, after, state.inner)
        return TwoStageState.of(_FIRST, after)
