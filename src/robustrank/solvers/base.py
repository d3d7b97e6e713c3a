"""The contract between a solver and the loop that drives it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from robustrank.backend import Array, lower_median, namespace
from robustrank.determination import Linearised
from robustrank.operators import UnstoredTangent
from robustrank.problem import Problem
from robustrank.trust import TrustRule


@dataclass(frozen=True, eq=False)
class State:
    """Factors, and what the measurements say of them.

    Every array may have a leading axis, of problems that are solved in lockstep.
    """

    U: Array
    V: Array
    residual: Array  # y − A(U Vᵀ); finite unless it diverges
    median: Array  # lower median of |residual|
    weights: Array  # how far each measurement is believed

    def change(self) -> Array | float:
        """How far the last step moved the factors, relative to their size."""
        return math.inf


@dataclass(frozen=True, eq=False)
class MovedState(State):
    """A state that was told how far the last step went."""

    moved: Array

    def change(self) -> Array:
        return self.moved


StateT = TypeVar("StateT", bound=State)


def observe(problem: Problem, U: Array, V: Array, trust: TrustRule) -> State:
    """The state at (U, V): one pass over the sensing data."""
    residual = problem.y - problem.operator.measure(U, V)
    magnitudes = namespace(residual).abs(residual)
    median = lower_median(magnitudes)
    return State(U, V, residual, median, trust.weights(magnitudes, median))


class Solver(ABC, Generic[StateT]):
    """A frozen set of parameters with two pure functions; ``drive`` owns the loop."""

    name: str  # how a person calls it
    check_every: int  # steps between two looks at the progress; ten times as many if recorded
    blind: ClassVar[bool] = False  # its steps look at no value, so that a card can run many alone
    stackable: ClassVar[bool] = False  # it can take several problems in lockstep
    rounding: ClassVar[float]  # how far rounding alone moves the factors in a step, in units of it
    max_iterations: int
    tolerance: float  # stop when a step moves the factors by less, relatively; 0 for never

    @property
    @abstractmethod
    def trust(self) -> TrustRule:
        """The rule that decides which measurements it believes."""

    def linearised(self, problem: Problem, state: StateT) -> tuple[Linearised, Array, Array]:
        """The measurements linearised at the state, and the orthonormal bases that was done at."""
        xp = namespace(state.U)
        left, right = (xp.linalg.qr(factor)[0] for factor in (state.U, state.V))
        return UnstoredTangent(problem.operator, left, right), left, right

    def candidates(self, problem: Problem) -> Iterable[Solver[Any]]:
        """The solvers to try in turn on a problem, as a portfolio says them: this one."""
        return (self,)

    def cutoff(self, state: State) -> float | None:
        """The |residual| beyond which nothing is believed; None where there is no such thing."""
        return self.trust.cutoff(float(state.median))

    def is_spent(self, state: StateT) -> bool:
        """Whether it is of no use to go on, although there are iterations left."""
        return False

    @abstractmethod
    def start(self, problem: Problem, rng: np.random.Generator) -> StateT:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Problem, state: StateT) -> StateT:
        """The state after one more step."""
