"""The steps between two looks at a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Generic

from robustrank.backend import Array, recorded
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, StateT

# For a card to stop and let the host look takes as long as a few iterations.
_REPLAYS = 10

Replay = Callable[[tuple[Array, ...], int], tuple[Array, ...]]


class Stride(Generic[StateT]):
    """Takes a solver's steps, as many as lie between two looks.

    Steps that look at no value are recorded on a card after the first stride, and then replayed
    with a single launch: their many small operations take less time than launching each would.
    """

    def __init__(self, problem: Problem, solver: Solver[StateT], late: Callable[[], bool]) -> None:
        self._problem = problem
        self._solver = solver
        self._late = late
        self._replay: Replay | None = None
        self._passes = 0.0  # over the sensing data, in a stride that is replayed

    def take(self, state: StateT, most: int) -> tuple[StateT, int]:
        """The state after the next steps, and how many they were: fewer when time is up."""
        whole = self._solver.check_every
        if self._replay is not None and most >= whole:
            times = min(_REPLAYS, most // whole)
            self._problem.operator.add_passes(times * self._passes)
            return type(state)(*self._replay(_arrays(state), times)), times * whole
        for taken in range(1, min(whole, most) + 1):
            state = self._solver.step(self._problem, state)
            if self._late():
                return state, taken
        if self._solver.blind and self._replay is None:
            self._record(state)
        return state, min(whole, most)

    def _record(self, state: StateT) -> None:
        def stride(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
            current = type(state)(*arrays)
            for _ in range(self._solver.check_every):
                current = self._solver.step(self._problem, current)
            return _arrays(current)

        operator = self._problem.operator
        before = operator.passes
        self._replay = recorded(stride, _arrays(state))
        self._passes = operator.passes - before
        operator.add_passes(-self._passes)  # counted while recording, and not read


def _arrays(state: StateT) -> tuple[Array, ...]:
    return tuple(getattr(state, field.name) for field in fields(state))
