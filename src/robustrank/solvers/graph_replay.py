"""The steps between two progress checks, replayed as a CUDA graph where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Generic

from robustrank.backend import Array, capture_graph
from robustrank.problem import Problem
from robustrank.solvers.base import Solver, StateT

# A progress check makes the GPU wait for the host, which takes as long as a few iterations.
_REPLAYS = 10

Replay = Callable[[tuple[Array, ...], int], tuple[Array, ...]]


class StepRunner(Generic[StateT]):
    """Runs the steps of a solver between two progress checks.

    If the solver and the array library allow it, the steps are captured as a CUDA graph after the
    first round and then replayed with a single launch. Launching each of their many small
    operations from Python would take longer than executing them.
    """

    def __init__(self, problem: Problem, solver: Solver[StateT], late: Callable[[], bool]) -> None:
        self._problem = problem
        self._solver = solver
        self._late = late
        self._replay: Replay | None = None
        self._passes_per_replay = 0.0

    def run(self, state: StateT, most: int) -> tuple[StateT, int]:
        """The state after the next steps and their number, which is smaller when time is up."""
        steps = self._solver.check_every
        if self._replay is not None and most >= steps:
            times = min(_REPLAYS, most // steps)
            self._problem.counter.add(times * self._passes_per_replay)
            return type(state)(*self._replay(_arrays(state), times)), times * steps
        for taken in range(1, min(steps, most) + 1):
            state = self._solver.step(self._problem, state)
            if self._late():
                return state, taken
        if self._solver.graph_capturable and self._replay is None:
            self._capture(state)
        return state, min(steps, most)

    def _capture(self, state: StateT) -> None:
        def steps(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
            current = type(state)(*arrays)
            for _ in range(self._solver.check_every):
                current = self._solver.step(self._problem, current)
            return _arrays(current)

        counter = self._problem.counter
        before = counter.passes
        self._replay = capture_graph(steps, _arrays(state))
        self._passes_per_replay = counter.passes - before
        counter.add(-self._passes_per_replay)  # capturing reads nothing


def _arrays(state: StateT) -> tuple[Array, ...]:
    return tuple(getattr(state, field.name) for field in fields(state))
