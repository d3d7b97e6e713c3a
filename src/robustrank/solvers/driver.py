"""The one loop over iterations, for every solver and for one problem or a batch of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np

from robustrank.backend import is_numpy, like, namespace, to_numpy
from robustrank.problem import Problem
from robustrank.result import StopReason
from robustrank.run import Run, Stopped
from robustrank.solvers.base import Solver, State, StateT
from robustrank.solvers.batching import take, take_one
from robustrank.solvers.graph_replay import StepRunner
from robustrank.solvers.monitor import Monitor, Outcome, Reading, Until


class Drive(Generic[StateT]):
    """The iterations of a solver on one problem or a batch, and what they have found so far."""

    def __init__(
        self,
        problems: Sequence[Problem],
        solver: Solver[StateT],
        run: Run,
        until: Until | None = None,
    ) -> None:
        """Several problems must have the same shape; they are solved as one batch.

        The solver also ends when ``until`` is true for a progress check. The loop works in units of
        a typical measurement and a typical sensing entry, so that no scale of y overflows or
        underflows and step sizes do not depend on the scale of A.
        """
        self._solver, self._run = solver, run
        self._scaled = [problem.normalized() for problem in problems]
        self._monitors = [
            Monitor(normalized, solver, problem.units, run, until)
            for normalized, problem in zip(self._scaled, problems, strict=True)
        ]

    def outcomes(self) -> list[Outcome]:
        """What was found for each problem, also if the run was stopped."""
        return [monitor.outcome() for monitor in self._monitors]

    def to_the_end(self, rng: np.random.Generator) -> list[Outcome]:
        """Iterate until every problem has converged or reached the limit of iterations."""
        return self._until_all_end(lambda batch: (self._solver.start(batch.problem, rng), 0))

    def continued(self, state: StateT, iteration: int) -> Outcome:
        """Iterate from a state that this solver has reached for a single problem."""
        return self._until_all_end(lambda _: (state, iteration))[0]

    def _until_all_end(self, begin: Callable[[_Batch], tuple[StateT, int]]) -> list[Outcome]:
        # A diverging run is reported by its status, not by warnings.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            batch = _Batch(self._scaled)
            self._iterate(batch, *begin(batch))
        return self.outcomes()

    def _iterate(self, batch: _Batch, state: StateT, iteration: int) -> None:
        solver, monitors, ends = self._solver, self._monitors, self._run.end_of_iterations()

        def late() -> bool:
            return ends is not None and time.perf_counter() > ends

        first, runner = iteration, StepRunner(batch.problem, solver, late)
        while True:
            out_of_time = iteration > first and late()
            exhausted = iteration >= solver.max_iterations or solver.is_exhausted(state)
            readings = batch.read(state)
            for position, number in enumerate(batch.numbers):
                monitor = monitors[number]
                monitor.check(iteration, readings[position], batch.state_at(state, position))
                if exhausted:
                    monitor.stop(StopReason.ITERATIONS)
                if not monitor.is_running:
                    monitor.keep_own_state()
            running = [k for k, number in enumerate(batch.numbers) if monitors[number].is_running]
            if not running:
                return
            if out_of_time:
                raise Stopped(StopReason.TIME_LIMIT)
            if len(running) < len(batch.numbers):
                batch, state = batch.reduced(running), take(state, running)
                runner = StepRunner(batch.problem, solver, late)
            state, taken = runner.run(state, solver.max_iterations - iteration)
            iteration += taken


class _Batch:
    """The problems that are still being solved: a single one, or several batched."""

    def __init__(self, problems: Sequence[Problem], numbers: Sequence[int] | None = None) -> None:
        self.numbers = list(range(len(problems))) if numbers is None else list(numbers)
        self._problems = problems
        self._single = len(problems) == 1
        members = [problems[number] for number in self.numbers]
        self.problem = members[0] if self._single else Problem.batched(members)

    def reduced(self, positions: Sequence[int]) -> _Batch:
        """The batch of the problems at some positions."""
        return _Batch(self._problems, [self.numbers[position] for position in positions])

    def state_at(self, state: StateT, position: int) -> Callable[[], StateT]:
        """A function that returns the state of one problem; it copies only when called."""
        return (lambda: state) if self._single else (lambda: take_one(state, position))

    def read(self, state: State) -> list[Reading]:
        """The numbers that the monitors need, in a single transfer from the device."""
        inliers = namespace(state.weights).count_nonzero(state.weights, axis=-1)
        xp = namespace(state.median)
        if is_numpy(state.median):
            inliers = to_numpy(inliers)
        numbers = [
            xp.asarray(values, **like(state.median))
            for values in (state.median, state.change() + xp.zeros_like(state.median), inliers)
        ]
        values = to_numpy(xp.stack(numbers, axis=-1)).reshape(-1, 3)
        return [
            Reading(median=float(median), change=float(change), inliers=int(count))
            for median, change, count in values
        ]
