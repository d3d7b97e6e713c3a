"""One trial: draw a problem, solve it, and turn the outcome into a row."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from experiments.definition import (
    SUCCESS,
    Method,
    Outcome,
    Place,
    Procedure,
    SensingSetting,
    Setting,
)
from experiments.problems import draw, origin
from experiments.rows import Row
from robustrank.api import recover, recover_many
from robustrank.backend import to_numpy
from robustrank.metrics import evaluate, normalized_error
from robustrank.problem import UndersampledWarning
from robustrank.run import Progress
from robustrank.simulate import Planted
from robustrank.solvers import MedianTGD, Portfolio, Solver, VanillaGD

Timed = tuple[Row, float]  # a row, and the seconds it took
TracePoint = tuple[int, float, float]  # iteration, passes over the sensing data, error

_TRACE_SPACING = 1.02  # between the iterations of two points of a trace


@dataclass(frozen=True)
class Job:
    """Some trials of one setting by one method."""

    setting: Setting
    trials: tuple[int, ...]
    method: Method
    place: Place
    procedure: Procedure

    def run(self) -> list[Timed]:
        """The rows, and the seconds each took."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndersampledWarning)  # expected at some settings
            run = self.procedure.run
            if run is not None:
                return [run(self.setting, trial, self.method) for trial in self.trials]
            if runs_in_batches(self.method, self.place, self.procedure):
                return [*self._run_batch()]
            return [self._run_single(trial) for trial in self.trials]

    def _run_batch(self) -> Iterator[Timed]:
        truths: dict[int, Planted] = {}

        def problems() -> Iterator[tuple[Any, Any]]:
            for trial in self.trials:
                planted = draw(self._sensing, trial, self.method, self.place)
                truths[trial] = replace(planted, A=None, y=None)  # release the large arrays
                yield planted.A, planted.y

        rank = self._rank(self.trials[0])
        answers = recover_many(problems(), rank, solver=self.method.solver)
        for trial, recovery in zip(self.trials, answers, strict=True):
            planted = truths.pop(trial)
            error = evaluate(recovery, planted).error
            outcome = Outcome(self._sensing, trial, self.method, planted, recovery, error)
            yield _row(outcome, self.place), recovery.seconds

    def _run_single(self, trial: int) -> Timed:
        planted = draw(self._sensing, trial, self.method, self.place)
        watcher = _Watcher(planted, stop=self._stops_at_success())
        recovery = recover(
            planted.A,
            planted.y,
            self._rank(trial),
            solver=self._solver(),
            callback=watcher,
            **self._sensing.options(trial),
        )
        error = evaluate(recovery, planted).error
        outcome = Outcome(self._sensing, trial, self.method, planted, recovery, error)
        row = _row(outcome, self.place)
        if self.procedure.observe is not None:
            row |= self.procedure.observe(outcome)
        if self.procedure.traced:
            row["trace"] = watcher.trace
        return row, recovery.seconds - watcher.seconds

    @property
    def _sensing(self) -> SensingSetting:
        return cast("SensingSetting", self.setting)

    def _rank(self, trial: int) -> int:
        return self._sensing.rank_given(trial) + self.method.extra_rank

    def _stops_at_success(self) -> bool:
        # A portfolio must decide itself when it is finished.
        single = not isinstance(self.method.solver, Portfolio)
        return single and self.procedure.stop_at_success and not self.procedure.traced

    def _solver(self) -> Solver[Any] | Portfolio:
        solver = self.method.solver
        if (
            self.procedure.traced
            and self.place.device
            and isinstance(solver, (MedianTGD, VanillaGD))
        ):
            # While a CUDA graph is replayed, progress is checked ten times less often.
            return replace(solver, check_every=1)
        return solver


def runs_in_batches(method: Method, place: Place, procedure: Procedure) -> bool:
    """Whether the trials of a setting are solved as a batch, which is faster on a GPU."""
    on_device = place.device is not None and isinstance(method.solver, Portfolio)
    return on_device and not procedure.traced and procedure.observe is None


class _Watcher:
    """A callback that records the error, and stops at success if asked to."""

    def __init__(self, planted: Planted, *, stop: bool) -> None:
        self.trace: list[TracePoint] = []
        self.seconds = 0.0  # spent here
        self._truth = planted.left, planted.right
        self._stop = stop

    def __call__(self, progress: Progress) -> bool:
        began = time.perf_counter()
        estimate = to_numpy(progress.left), to_numpy(progress.right)
        error = normalized_error(estimate, self._truth)
        if self._is_new(progress.iteration):
            self.trace.append((progress.iteration, progress.check.passes, float(f"{error:.4g}")))
        self.seconds += time.perf_counter() - began
        return self._stop and error < SUCCESS

    def _is_new(self, iteration: int) -> bool:
        """Whether an iteration is far enough from the last point, or belongs to a new attempt."""
        if not self.trace:
            return True
        last = self.trace[-1][0]
        return iteration >= _TRACE_SPACING * last or iteration < last


def _row(outcome: Outcome, place: Place) -> Row:
    setting, recovery = outcome.setting, outcome.recovery
    return {
        "cell": setting.key,
        "trial": outcome.trial,
        "method": outcome.method.name,
        "seed": setting.seed(outcome.trial),
        "error": float(f"{outcome.error:.6g}"),
        "status": recovery.status.name,
        "by": recovery.solver,
        "iterations": sum(attempt.iterations for attempt in recovery.attempts),
        "place": origin(setting, place),
    }
