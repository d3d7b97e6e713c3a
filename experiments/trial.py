"""One trial: plant, solve, evaluate, and write a row."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.definition import SUCCESS, Cell, Method
from experiments.rows import Row
from robustrank.api.many import recover_many
from robustrank.api.single import recover
from robustrank.backend import to_numpy
from robustrank.metrics import evaluate, normalized_error
from robustrank.problem import UndersampledWarning
from robustrank.result import Recovery
from robustrank.simulate import Planted
from robustrank.solvers import MedianTGD, Portfolio, Progress, VanillaGD


@dataclass(frozen=True)
class Place:
    """Where problems are planted and solved."""

    library: str = "numpy"
    device: str | None = None

    def __str__(self) -> str:
        return self.library if self.device is None else f"{self.library} {self.device}"


Timed = tuple[Row, float]  # a row, and how many seconds it took


def goes_together(method: Method, place: Place, traced: bool) -> bool:
    """Whether the trials of a setting are faster together than one by one."""
    return place.device is not None and isinstance(method.solver, Portfolio) and not traced


def run_trials(
    cell: Cell, trials: Sequence[int], method: Method, place: Place, traced: bool
) -> Iterator[Timed]:
    """The rows of some trials of a setting by one method; together, where that is faster."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndersampledWarning)  # it is part of what is asked
        if goes_together(method, place, traced):
            yield from _together(cell, trials, method, place)
        else:
            for trial in trials:
                yield _alone(cell, trial, method, place, traced)


def _plant(cell: Cell, trial: int, method: Method, place: Place) -> Planted:
    where: dict[str, Any] = {"library": place.library, "device": place.device}
    return cell.plant(trial, clean=method.clean, **where)


def _together(cell: Cell, trials: Sequence[int], method: Method, place: Place) -> Iterator[Timed]:
    truths: dict[int, Planted] = {}

    def problems() -> Iterator[tuple[Any, Any]]:
        for trial in trials:
            planted = _plant(cell, trial, method, place)
            truths[trial] = replace(planted, A=None, y=None)  # the truth alone is kept
            yield planted.A, planted.y

    rank = cell.rank + method.extra_rank
    answers = recover_many(problems(), rank, solver=method.solver)
    for trial, recovery in zip(trials, answers, strict=True):
        error = evaluate(recovery, truths.pop(trial)).error
        yield _row(cell, trial, method, place, recovery, error), recovery.seconds


def _alone(cell: Cell, trial: int, method: Method, place: Place, traced: bool) -> Timed:
    """One trial, the error watched from outside; once it is a success there is no more to learn."""
    planted = _plant(cell, trial, method, place)
    trace: list[tuple[int, float, float]] = []
    watching = 0.0
    # A portfolio is to say itself that it is done.
    to_be_stopped = not (traced or isinstance(method.solver, Portfolio))

    def watch(progress: Progress) -> bool:
        nonlocal watching
        began = time.perf_counter()
        estimate = to_numpy(progress.left), to_numpy(progress.right)
        error = normalized_error(estimate, (planted.left, planted.right))
        if (
            not trace
            or progress.iteration >= 1.02 * trace[-1][0]
            or progress.iteration < trace[-1][0]
        ):
            trace.append((progress.iteration, progress.check.passes, float(f"{error:.4g}")))
        watching += time.perf_counter() - began
        return error < SUCCESS and to_be_stopped

    solver = method.solver
    if traced and place.device and isinstance(solver, (MedianTGD, VanillaGD)):
        solver = replace(
            solver, check_every=1
        )  # capture_graph, it is looked at ten times less often
    recovery = recover(
        planted.A, planted.y, cell.rank + method.extra_rank, solver=solver, callback=watch
    )
    row = _row(cell, trial, method, place, recovery, evaluate(recovery, planted).error)
    row = {**row, "trace": trace} if traced else row
    return row, recovery.seconds - watching


def _row(
    cell: Cell, trial: int, method: Method, place: Place, recovery: Recovery, error: float
) -> Row:
    return {
        "cell": cell.key,
        "trial": trial,
        "method": method.name,
        "seed": cell.seed(trial),
        "error": float(f"{error:.6g}"),
        "status": recovery.status.name,
        "by": recovery.solver,
        "iterations": sum(attempt.iterations for attempt in recovery.attempts),
        "place": str(place),
    }
