"""The progress of a solver: its history, the callback, and the rules that stop it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from robustrank.backend import Array, like, namespace
from robustrank.problem import Problem, Units
from robustrank.result import Check, History, StopReason
from robustrank.run import Progress, Run
from robustrank.solvers.base import Solver, State

Until = Callable[[Check], bool]


@dataclass(frozen=True)
class Outcome:
    """The last finite state, in the units of ``problem.normalized()``, and why it ended early."""

    state: State
    reason: StopReason | None  # None: it converged
    history: History
    iterations: int


class Reading(NamedTuple):
    """The numbers of a state that decide whether to go on."""

    median: float
    change: float
    inliers: int


class Monitor:
    """Records the progress of one problem, calls the callback, and decides when to stop."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver[Any],
        units: Units,
        run: Run,
        until: Until | None,
    ) -> None:
        self.is_running = True
        self._reason: StopReason | None = None
        self._checks: list[Check] = []
        self._state: Callable[[], State] = lambda: zero_state(problem, solver)
        self._iteration = 0
        self._problem = problem
        self._solver = solver
        self._units = units
        self._run, self._until = run, until
        self._began = time.perf_counter()
        self._passes_before = problem.counter.passes
        # A smaller change cannot be distinguished from rounding.
        least = solver.rounding * problem.epsilon
        self._tolerance = max(solver.tolerance, least) if solver.tolerance else 0.0
        self._largest_change = 0.0

    def check(self, iteration: int, reading: Reading, state: Callable[[], State]) -> None:
        """Record the state after ``iteration`` steps, and stop the run if there is a reason to."""
        check = Check(
            iteration=iteration,
            misfit=reading.median / self._problem.scale,
            change=reading.change,
            inliers=reading.inliers,
            seconds=self.seconds(),
            passes=self._problem.counter.passes - self._passes_before,
        )
        self._checks.append(check)
        if not (math.isfinite(check.misfit) and (math.isfinite(check.change) or iteration == 0)):
            self.stop(StopReason.DIVERGED)
            return
        self._state, self._iteration = state, iteration
        if self._run.callback is not None:
            self._run.report(self._progress(check))
        converged = check.iteration and self._tolerance and check.change <= self._tolerance
        if converged or (self._until is not None and self._until(check)):
            self.stop(None)

    def stop(self, reason: StopReason | None) -> None:
        """Stop, unless it has stopped for another reason."""
        if self.is_running:
            self.is_running, self._reason = False, reason

    def keep_own_state(self) -> None:
        """Copy the state of this problem, so that those of the batch can be freed."""
        state = self._state()
        self._state = lambda: state

    def outcome(self) -> Outcome:
        """What was found, also while the solver is running."""
        return Outcome(
            state=self._state(),
            reason=StopReason.INTERRUPTED if self.is_running else self._reason,
            history=History(tuple(self._checks)),
            iterations=self._iteration,
        )

    def seconds(self) -> float:
        """Wall-clock seconds since the solver began."""
        return time.perf_counter() - self._began

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
        self._largest_change = max(self._largest_change, check.change)
        if self._largest_change <= self._tolerance:
            return 1.0
        decrease = math.log(self._largest_change / check.change)
        total = math.log(self._largest_change / self._tolerance)
        return min(1.0, max(used, decrease / total))


def zero_state(problem: Problem, solver: Solver[Any]) -> State:
    """The state of the zero matrix, for a run that was never finite."""
    xp = namespace(problem.y)
    n1, n2 = problem.operator.matrix_shape
    U, V = (xp.zeros((n, problem.rank), **like(problem.y)) for n in (n1, n2))
    median = xp.asarray(problem.scale, **like(problem.y))
    weights = solver.weight_function.weights(xp.abs(problem.y), median)
    return State(U=U, V=V, residual=problem.y, median=median, weights=weights)
