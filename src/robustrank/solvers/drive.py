"""The one loop over iterations: stopping rules, clock, callback, history, interruption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.problem import Problem, Units
from robustrank.result import Check, History, Status
from robustrank.solvers.base import Solver, State, StateT
from robustrank.solvers.lanes import lane, pick
from robustrank.solvers.stride import Stride


@dataclass(frozen=True)
class Progress:
    """What a callback sees of a running solve; numbers are in the user's units."""

    solver: str
    check: Check
    fraction: float  # how far along, between 0 and 1: an estimate
    _state: State = field(repr=False)
    _units: Units = field(repr=False)

    @property
    def iteration(self) -> int:
        """How many steps were taken."""
        return self.check.iteration

    @property
    def misfit(self) -> float:
        """The median |residual| relative to the median |y|."""
        return self.check.misfit

    @property
    def left(self) -> Array:
        """The current left factor U, n1 × r."""
        return self._state.U * math.sqrt(self._units.matrix)

    @property
    def right(self) -> Array:
        """The current right factor V, n2 × r."""
        return self._state.V * math.sqrt(self._units.matrix)


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Outcome:
    """Where the loop stopped and why. The state is that of ``problem.normalised()``."""

    state: State
    ended: Status
    history: History
    iterations: int


def drive(
    problems: Sequence[Problem],
    solver: Solver[StateT],
    rng: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> list[Outcome]:
    """Run ``solver`` on each problem until it settles, runs out, is stopped or interrupted.

    Several problems must be of one shape, and are solved in lockstep. The loop works in units of a
    typical measurement and a typical sensing entry, so that no scale of y can over- or underflow
    and no scale of A changes what a step size means.
    """
    scaled = [problem.normalised() for problem in problems]
    watches = [
        _Watch(normalised, solver, problem.units, callback)
        for normalised, problem in zip(scaled, problems, strict=True)
    ]
    # A diverging run is reported, not warned of.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            _loop(_Lanes(scaled), solver, rng, watches, time_limit)
        except KeyboardInterrupt:
            for watch in watches:
                watch.ended = watch.ended or Status.INTERRUPTED
        return [watch.outcome() for watch in watches]


def _loop(
    lanes: _Lanes,
    solver: Solver[StateT],
    rng: np.random.Generator,
    watches: list[_Watch],
    time_limit: float | None,
) -> None:
    def late() -> bool:
        return time_limit is not None and watches[0].seconds() > time_limit

    state, iteration = solver.start(lanes.problem, rng), 0
    stride = Stride(lanes.problem, solver, late)
    while True:
        out_of_time = iteration > 0 and late()
        spent = iteration >= solver.max_iterations or solver.is_spent(state)
        seen = lanes.read(state)
        for position, number in enumerate(lanes.numbers):
            watch = watches[number]
            watch.look(iteration, seen[position], lanes.lane(state, position))
            if spent:
                watch.ended = watch.ended or Status.ITERATION_LIMIT
            if out_of_time:
                watch.ended = watch.ended or Status.TIME_LIMIT
            if watch.ended:
                watch.let_go()
        left = [k for k, number in enumerate(lanes.numbers) if watches[number].ended is None]
        if not left:
            return
        if len(left) < len(lanes.numbers):
            lanes, state = lanes.keep(left), pick(state, left)
            stride = Stride(lanes.problem, solver, late)
        state, taken = stride.take(state, solver.max_iterations - iteration)
        iteration += taken


class _Lanes:
    """The problems that are still being solved: one as it is, several stacked."""

    def __init__(self, problems: Sequence[Problem], numbers: Sequence[int] | None = None) -> None:
        self.numbers = list(range(len(problems))) if numbers is None else list(numbers)
        self._problems = problems
        self._single = len(problems) == 1
        mine = [problems[number] for number in self.numbers]
        self.problem = mine[0] if self._single else Problem.stacked(mine)

    def keep(self, positions: Sequence[int]) -> _Lanes:
        """Those at some positions only."""
        return _Lanes(self._problems, [self.numbers[position] for position in positions])

    def lane(self, state: StateT, position: int) -> Callable[[], StateT]:
        """A way to the state of one of them, for when it is wanted."""
        return (lambda: state) if self._single else (lambda: lane(state, position))

    def read(self, state: State) -> list[Reading]:
        """What is to be known of every one, in a single transfer from where it is."""
        xp = namespace(state.U)
        believed = xp.count_nonzero(state.weights, axis=-1)
        numbers = [
            xp.asarray(values, **like(state.U))
            for values in (state.median, state.change() + xp.zeros_like(state.median), believed)
        ]
        values = to_numpy(xp.stack(numbers, axis=-1)).reshape(-1, 3)
        return [Reading(float(a), float(b), int(c)) for a, b, c in values]


class Reading(NamedTuple):
    """What is looked at of a state."""

    median: float
    change: float
    believed: int


class _Watch:
    """Looks at a run now and then: records it, shows it, and says when it is over."""

    def __init__(
        self, problem: Problem, solver: Solver[StateT], units: Units, callback: Callback | None
    ) -> None:
        self.ended: Status | None = None
        self._checks: list[Check] = []
        self._state: Callable[[], State] = lambda: _nothing(problem, solver)  # seen and finite
        self._iteration = 0
        self._problem = problem
        self._solver = solver
        self._units = units
        self._callback = callback
        self._began = time.perf_counter()
        self._passes_before = problem.operator.passes
        # Below this a precision cannot tell progress from noise.
        least = solver.rounding * problem.epsilon
        self._tolerance = max(solver.tolerance, least) if solver.tolerance else 0.0
        self._largest_change = 0.0

    def let_go(self) -> None:
        """Keep the state of this problem alone, and not those it was solved with."""
        state = self._state()
        self._state = lambda: state

    def outcome(self) -> Outcome:
        """What the run came to."""
        ended = self.ended or Status.INTERRUPTED
        return Outcome(self._state(), ended, History(tuple(self._checks)), self._iteration)

    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return time.perf_counter() - self._began

    def look(self, iteration: int, seen: Reading, state: Callable[[], State]) -> None:
        """Record the state after ``iteration`` steps, and whether there is a reason to stop."""
        check = Check(
            iteration=iteration,
            misfit=seen.median / self._problem.scale,
            change=seen.change,
            believed=seen.believed,
            seconds=self.seconds(),
            passes=self._problem.operator.passes - self._passes_before,
        )
        self._checks.append(check)
        if not (math.isfinite(check.misfit) and (math.isfinite(check.change) or iteration == 0)):
            self.ended = Status.DIVERGED
            return
        self._state, self._iteration = state, iteration
        self.ended = self._reason_to_stop(check)

    def _reason_to_stop(self, check: Check) -> Status | None:
        if self._callback is not None:
            fraction = self._fraction(check)
            progress = Progress(self._solver.name, check, fraction, self._state(), self._units)
            if self._callback(progress):
                return Status.STOPPED
        if check.iteration and self._tolerance and check.change <= self._tolerance:
            return Status.SETTLED
        return None

    def _fraction(self, check: Check) -> float:
        """Linear convergence makes log(change) fall evenly, which tells how far it has to go."""
        spent = check.iteration / self._solver.max_iterations
        if not (0 < check.change < math.inf and self._tolerance > 0):
            return spent
        self._largest_change = max(self._largest_change, check.change)
        if self._largest_change <= self._tolerance:
            return 1.0
        fallen = math.log(self._largest_change / check.change)
        return min(1.0, max(spent, fallen / math.log(self._largest_change / self._tolerance)))


def _nothing(problem: Problem, solver: Solver[StateT]) -> State:
    """The state of the zero matrix, for a run that was never finite."""
    xp = namespace(problem.y)
    n1, n2 = problem.operator.matrix_shape
    U, V = (xp.zeros((n, problem.rank), **like(problem.y)) for n in (n1, n2))
    median = xp.asarray(problem.scale, **like(problem.y))
    return State(U, V, problem.y, median, solver.trust.weights(xp.abs(problem.y), median))
