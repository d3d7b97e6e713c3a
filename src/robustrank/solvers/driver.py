"""The one loop over iterations, for every solver and for one problem or a batch of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic

import numpy as np

from robustrank.backend import Array, capture_graph, is_numpy, like, namespace, to_numpy
from robustrank.problem import Problem
from robustrank.result import Check, History, StopReason
from robustrank.run import Progress, Run, Stopped
from robustrank.solvers.base import Solver, State, StateT, take, take_one


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

        The solver also ends when ``until`` says so. The loop works in units of
        a typical measurement and a typical sensing entry, so that no scale of y overflows or
        underflows and step sizes do not depend on the scale of A.
        """
        self._solver, self._run = solver, run
        self._monitors = [Monitor(problem, solver, run, until) for problem in problems]

    def outcomes(self) -> list[Outcome]:
        """What was found for each problem, also if the run was stopped."""
        return [monitor.outcome() for monitor in self._monitors]

    # A diverging run is reported by its status, not by warnings.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def to_the_end(self, rng: np.random.Generator, state: StateT | None = None) -> list[Outcome]:
        """Iterate until every problem has converged or reached the limit of iterations.

        The iterations begin at ``state`` if it is given, else where the solver starts.
        """
        batch = self._batch_of(self._monitors)
        self._iterate(batch, self._solver.start(batch, rng) if state is None else state)
        return self.outcomes()

    def outcome(self) -> Outcome:
        """What was found for a single problem, also if the run was stopped."""
        return self.outcomes()[0]

    def _batch_of(self, monitors: Sequence[Monitor]) -> Problem:
        """A single problem as it is; several, or those of them that are left, as a batch."""
        problems = [monitor.problem for monitor in monitors]
        return problems[0] if len(self._monitors) == 1 else Problem.batched(problems)

    def _iterate(self, batch: Problem, state: StateT) -> None:
        solver, monitors, ends = self._solver, self._monitors, self._run.end_of_iterations()

        def late() -> bool:
            return ends is not None and time.perf_counter() > ends

        iteration, runner = 0, StepRunner(batch, solver, late)
        while True:
            out_of_time = iteration > 0 and late()
            exhausted = iteration >= solver.max_iterations or solver.is_exhausted(state)
            for k, (monitor, reading) in enumerate(zip(monitors, _readings(state), strict=True)):
                monitor.check(iteration, reading, _state_of(state, k))
                if exhausted:
                    monitor.stop(StopReason.ITERATIONS)
            running = [k for k, monitor in enumerate(monitors) if monitor.is_running]
            if not running:
                return
            if out_of_time:
                raise Stopped(StopReason.TIME_LIMIT)
            if len(running) < len(monitors):
                monitors, state = [monitors[k] for k in running], take(state, running)
                runner = StepRunner(self._batch_of(monitors), solver, late)
            state, taken = runner.run(state, solver.max_iterations - iteration)
            iteration += taken


def _state_of(state: StateT, position: int) -> Callable[[], StateT]:
    """A function that returns the state of one problem of a batch; it copies only when called."""
    return (lambda: take_one(state, position)) if state.median.ndim else (lambda: state)


def _readings(state: State) -> list[list[float]]:
    """The median, the change and the number of inliers of each problem.

    They take a single transfer from the device.
    """
    inliers = namespace(state.weights).count_nonzero(state.weights, axis=-1)
    xp = namespace(state.median)
    if is_numpy(state.median):
        inliers = to_numpy(inliers)
    numbers = [
        xp.asarray(values, **like(state.median))
        for values in (state.median, state.change() + xp.zeros_like(state.median), inliers)
    ]
    values: list[list[float]] = (
        to_numpy(xp.stack(numbers, axis=-1)).reshape(-1, len(numbers)).tolist()
    )
    return values


@dataclass(frozen=True)
class Until:
    """Ends a solver before it has converged, when it is near enough or makes no more progress.

    Parameters
    ----------
    misfit
        It ends below this misfit.
    reduction, after
        It ends when a check reduces the misfit by less than this factor, after some first checks.
    """

    misfit: float
    reduction: float
    after: int

    def is_over(self, checks: Sequence[Check]) -> bool:
        """Whether to end after these checks."""
        latest = checks[-1].misfit
        stalled = len(checks) > self.after and latest > self.reduction * checks[-2].misfit
        return stalled or latest < self.misfit


@dataclass(frozen=True)
class Outcome:
    """The last finite state, in the units of ``problem.normalized()``, and why it ended early."""

    state: State
    reason: StopReason | None  # None: it converged
    history: History
    iterations: int

    def followed_by(self, other: Outcome) -> Outcome:
        """The outcome of another run that has gone on from this one.

        If it has gone on from the last state itself, the check of that state is there once.
        """
        last, first = self.history.checks[-1], other.history.checks[0]
        goes_on = (first.misfit, first.change) == (last.misfit, last.change)
        checks = self.history.checks[: -1 if goes_on else None] + tuple(
            check._replace(
                iteration=self.iterations + check.iteration,
                seconds=last.seconds + check.seconds,
                passes=last.passes + check.passes,
            )
            for check in other.history.checks
        )
        iterations = self.iterations + other.iterations
        return replace(other, history=History(checks), iterations=iterations)


class Monitor:
    """Records the progress of one problem, calls the callback, and decides when to stop."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver[Any],
        run: Run,
        until: Until | None,
    ) -> None:
        self.is_running = True
        self.problem = problem.normalized()
        self._reason: StopReason | None = None
        self._checks: list[Check] = []
        self._state: Callable[[], State] = lambda: zero_state(self.problem, solver)
        self._iteration = 0
        self._solver = solver
        self._units = problem.units
        self._run, self._until = run, until
        self._began = time.perf_counter()
        self._passes_before = problem.counter.passes
        # A smaller change cannot be distinguished from rounding.
        least = solver.rounding * self.problem.epsilon
        self._tolerance = max(solver.tolerance, least) if solver.tolerance else 0.0

    def check(self, iteration: int, reading: Sequence[float], state: Callable[[], State]) -> None:
        """Record the state after ``iteration`` steps, and stop the run if there is a reason to."""
        median, change, inliers = reading
        check = Check(
            iteration=iteration,
            misfit=median / self.problem.scale,
            change=change,
            inliers=int(inliers),
            seconds=time.perf_counter() - self._began,
            passes=self.problem.counter.passes - self._passes_before,
        )
        self._checks.append(check)
        if not (math.isfinite(check.misfit) and (math.isfinite(check.change) or iteration == 0)):
            self.stop(StopReason.DIVERGED)
            return
        self._state, self._iteration = state, iteration
        if self._run.callback is not None:
            self._run.report(self._progress(check))
        converged = self._tolerance and check.change <= self._tolerance
        if converged or (self._until is not None and self._until.is_over(self._checks)):
            self.stop(None)

    def stop(self, reason: StopReason | None) -> None:
        """Stop, unless it has stopped for another reason.

        The state of this problem is copied, so that those of the batch can be freed.
        """
        if self.is_running:
            state = self._state()
            self._state = lambda: state
            self.is_running, self._reason = False, reason

    def outcome(self) -> Outcome:
        """What was found, also while the solver is running."""
        return Outcome(
            state=self._state(),
            reason=StopReason.INTERRUPTED if self.is_running else self._reason,
            history=History(tuple(self._checks)),
            iterations=self._iteration,
        )

    def _progress(self, check: Check) -> Progress:
        root, current = math.sqrt(self._units.matrix), self._state

        def factors() -> tuple[Array, Array]:
            state = current()
            return state.U * root, state.V * root

        return Progress(self._solver.name, self._fraction(check), check, factors)

    def _fraction(self, check: Check) -> float:
        """The progress so far: with linear convergence, log(change) decreases evenly."""
        used = check.iteration / self._solver.max_iterations
        if not (0 < check.change < math.inf and self._tolerance > 0):
            return used
        largest = max(check.change for check in self._checks if check.change < math.inf)
        if largest <= self._tolerance:
            return 1.0
        decrease = math.log(largest / check.change)
        total = math.log(largest / self._tolerance)
        return min(1.0, max(used, decrease / total))


def zero_state(problem: Problem, solver: Solver[Any]) -> State:
    """The state of the zero matrix, for a run that was never finite."""
    xp = namespace(problem.y)
    U, V = (xp.zeros((n, problem.rank), **like(problem.y)) for n in problem.operator.matrix_shape)
    median = xp.asarray(problem.scale, **like(problem.y))
    weights = solver.weight_function.weights(xp.abs(problem.y), median)
    return State(U=U, V=V, residual=problem.y, median=median, weights=weights)


# A progress check makes the GPU wait for the host, which takes as long as a few iterations.
_REPLAYS = 10

Replay = Callable[[tuple[Array, ...], int], tuple[Array, ...]]


@dataclass(eq=False)
class StepRunner(Generic[StateT]):
    """Runs the steps of a solver between two progress checks.

    If the solver and the array library allow it, the steps are captured as a CUDA graph after the
    first round and then replayed with a single launch. Launching each of their many small
    operations from Python would take longer than executing them.
    """

    problem: Problem
    solver: Solver[StateT]
    late: Callable[[], bool]  # whether the time is up
    _replay: Replay | None = None
    _passes_per_replay: float = 0.0

    def run(self, state: StateT, most: int) -> tuple[StateT, int]:
        """The state after the next steps and their number, which is smaller when time is up."""
        steps = self.solver.check_every
        if self._replay is not None and most >= steps:
            times = min(_REPLAYS, most // steps)
            self.problem.counter.add(times * self._passes_per_replay)
            return type(state)(*self._replay(_arrays(state), times)), times * steps
        for taken in range(1, min(steps, most) + 1):
            state = self.solver.step(self.problem, state)
            if self.late():
                return state, taken
        if self.solver.graph_capturable and self._replay is None:
            self._capture(state)
        return state, min(steps, most)

    def _capture(self, state: StateT) -> None:
        def steps(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
            current = type(state)(*arrays)
            for _ in range(self.solver.check_every):
                current = self.solver.step(self.problem, current)
            return _arrays(current)

        counter = self.problem.counter
        before = counter.passes
        self._replay = capture_graph(steps, _arrays(state))
        self._passes_per_replay = counter.passes - before
        counter.add(-self._passes_per_replay)  # capturing reads nothing


def _arrays(state: StateT) -> tuple[Array, ...]:
    return tuple(getattr(state, field.name) for field in fields(state))
