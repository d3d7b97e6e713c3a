"""The one loop over iterations: stopping rules, clock, callback, history, interruption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.problem import Problem, Units
from robustrank.result import Check, History, Status
from robustrank.solvers.base import Solver, State, StateT
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
    problem: Problem,
    solver: Solver[StateT],
    rng: np.random.Generator,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> Outcome:
    """Run ``solver`` on ``problem`` until it settles, runs out, is stopped or interrupted.

    The loop works in units of a typical measurement and a typical sensing entry, so that no scale
    of y can over- or underflow and no scale of A changes what a step size means.
    """
    scaled = problem.normalised()
    watch = _Watch(scaled, solver, problem.units, callback)
    with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is reported, not warned of
        ended = _loop(scaled, solver, rng, watch, time_limit)
    return Outcome(watch.state, ended, History(tuple(watch.checks)), watch.iteration)


def _loop(
    problem: Problem,
    solver: Solver[StateT],
    rng: np.random.Generator,
    watch: _Watch,
    time_limit: float | None,
) -> Status:
    def late() -> bool:
        return time_limit is not None and watch.seconds() > time_limit

    try:
        state = solver.start(problem, rng)
        ended = watch.look(0, state)
        stride = Stride(problem, solver, late)
        iteration = 0
        while ended is None:
            state, taken = stride.take(state, solver.max_iterations - iteration)
            iteration += taken
            ended = watch.look(iteration, state)
            if late():
                ended = ended or Status.TIME_LIMIT
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    return ended


class _Watch:
    """Looks at a run now and then: records it, shows it, and says when it is over."""

    def __init__(
        self, problem: Problem, solver: Solver[StateT], units: Units, callback: Callback | None
    ) -> None:
        self.checks: list[Check] = []
        self.state = _nothing(problem, solver)  # the last one that was seen and finite
        self.iteration = 0
        self._problem = problem
        self._solver = solver
        self._units = units
        self._callback = callback
        self._scale = problem.scale
        self._began = time.perf_counter()
        self._passes_before = problem.operator.passes
        # Below this a precision cannot tell progress from noise.
        least = solver.rounding * problem.epsilon
        self._tolerance = max(solver.tolerance, least) if solver.tolerance else 0.0
        self._largest_change = 0.0

    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return time.perf_counter() - self._began

    def look(self, iteration: int, state: State) -> Status | None:
        """Record the state after ``iteration`` steps; the reason to stop, if there is one."""
        change = float(state.change())
        check = Check(
            iteration=iteration,
            misfit=float(state.median) / self._scale,
            change=change,
            believed=int(namespace(state.weights).count_nonzero(state.weights)),
            seconds=self.seconds(),
            passes=self._problem.operator.passes - self._passes_before,
        )
        self.checks.append(check)
        if not (math.isfinite(check.misfit) and (math.isfinite(change) or iteration == 0)):
            return Status.DIVERGED
        self.state, self.iteration = state, iteration
        if self._callback is not None:
            progress = Progress(self._solver.name, check, self._fraction(check), state, self._units)
            if self._callback(progress):
                return Status.STOPPED
        if iteration and self._tolerance and change <= self._tolerance:
            return Status.SETTLED
        if iteration >= self._solver.max_iterations:
            return Status.ITERATION_LIMIT
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
