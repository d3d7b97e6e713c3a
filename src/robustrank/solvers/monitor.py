"""The progress of a run: its history, the callback, and the rules that stop it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from robustrank.backend import Array, like, namespace
from robustrank.operators import OutOfTime
from robustrank.problem import Problem, Units
from robustrank.result import Check, History, StopReason
from robustrank.solvers.base import Solver, State


@dataclass(frozen=True)
class Progress:
    """The state of a run that is passed to a callback, in the user's units.

    Attributes
    ----------
    solver
        The name of the solver that is running.
    check
        The numbers of this progress check: ``iteration``, ``misfit``, ``change`` (of the factors in
        the last iteration, relative to their size), ``inliers``, ``seconds`` and ``passes``.
    fraction
        The estimated progress of this solver, between 0 and 1.

    See Also
    --------
    robustrank.recover : Has the parameter ``callback``.
    robustrank.CompletionProgress : The same for ``complete``.

    Examples
    --------
    >>> import robustrank as rr
    >>> def stop(progress):
    ...     return progress.iteration >= 2
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2, callback=stop)
    >>> result.status.name, result.iterations
    ('STOPPED', 2)
    """

    solver: str
    check: Check
    fraction: float  # estimated progress, between 0 and 1
    _state: State = field(repr=False)
    _units: Units = field(repr=False)

    @property
    def iteration(self) -> int:
        """The number of steps so far."""
        return self.check.iteration

    @property
    def misfit(self) -> float:
        """The median absolute residual, relative to the median of ``|y|``."""
        return self.check.misfit

    @property
    def left(self) -> Array:
        """The current left factor U, of shape (n1, r)."""
        return self._state.U * math.sqrt(self._units.matrix)

    @property
    def right(self) -> Array:
        """The current right factor V, of shape (n2, r)."""
        return self._state.V * math.sqrt(self._units.matrix)


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Outcome:
    """The last finite state, in the units of ``problem.normalized()``, and why the run stopped."""

    state: State
    reason: StopReason
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
        self, problem: Problem, solver: Solver[Any], units: Units, callback: Callback | None
    ) -> None:
        self.reason: StopReason | None = None  # None while the run continues
        self._checks: list[Check] = []
        self._state: Callable[[], State] = lambda: zero_state(problem, solver)
        self._iteration = 0
        self._problem = problem
        self._solver = solver
        self._units = units
        self._callback = callback
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
            self.reason = StopReason.DIVERGED
            return
        self._state, self._iteration = state, iteration
        self.reason = self._reason_to_stop(check)

    def stop(self, reason: StopReason) -> None:
        """Stop the run, unless it has stopped for another reason."""
        self.reason = self.reason or reason

    def keep_own_state(self) -> None:
        """Copy the state of this problem, so that those of the batch can be freed."""
        state = self._state()
        self._state = lambda: state

    def outcome(self) -> Outcome:
        """The result of the run."""
        return Outcome(
            state=self._state(),
            reason=self.reason or StopReason.INTERRUPTED,
            history=History(tuple(self._checks)),
            iterations=self._iteration,
        )

    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return time.perf_counter() - self._began

    def _reason_to_stop(self, check: Check) -> StopReason | None:
        if self._callback is not None:
            fraction = self._fraction(check)
            progress = Progress(self._solver.name, check, fraction, self._state(), self._units)
            if self._callback(progress):
                return StopReason.CALLBACK
        if check.iteration and self._tolerance and check.change <= self._tolerance:
            return StopReason.CONVERGED
        return None

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


def reason_of(error: BaseException) -> StopReason:
    """The reason of a stop by Ctrl-C, by the time limit or because the data was lost."""
    return StopReason.TIME_LIMIT if isinstance(error, OutOfTime) else StopReason.INTERRUPTED


def zero_state(problem: Problem, solver: Solver[Any]) -> State:
    """The state of the zero matrix, for a run that was never finite."""
    xp = namespace(problem.y)
    n1, n2 = problem.operator.matrix_shape
    U, V = (xp.zeros((n, problem.rank), **like(problem.y)) for n in (n1, n2))
    median = xp.asarray(problem.scale, **like(problem.y))
    weights = solver.weight_function.weights(xp.abs(problem.y), median)
    return State(U=U, V=V, residual=problem.y, median=median, weights=weights)
