"""One call: its deadline, its callback, and the only place that handles an interruption."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.operators import DataLost, OutOfTime
from robustrank.result import Check, StopReason
from robustrank.run import Progress, Run, Stopped

LOST = DataLost("the file is gone")
SOURCES = Path(rr.__file__).parent


def progress(iteration: int = 3) -> Progress:
    left, right = np.full((4, 1), 2.0), np.ones((3, 1))
    return Progress("a stage", 0.5, Check(iteration, 0.25, 0.1, 7, 1.0, 2.0), lambda: (left, right))


def test_progress_has_the_numbers_of_the_check_and_the_factors() -> None:
    shown = progress()
    assert (shown.stage, shown.fraction, shown.iteration, shown.misfit) == ("a stage", 0.5, 3, 0.25)
    assert np.array_equal(shown.left @ shown.right.T, np.full((4, 3), 2.0))


def test_factors_are_computed_only_if_they_are_read() -> None:
    calls: list[int] = []

    def factors() -> Any:
        calls.append(1)
        return np.ones((2, 1)), np.ones((2, 1))

    shown = Progress("a stage", 0.5, Check(0, math.nan, math.nan, 0, 0.0, math.nan), factors)
    assert str(shown)
    assert not calls
    assert shown.left.shape == (2, 1)
    assert calls == [1]


def test_without_a_limit_a_run_never_ends(clock: Clock) -> None:
    run = Run()
    clock.forward(1e9)
    run.check()
    assert run.end_of_iterations() is None
    assert run.seconds >= 1e9
    assert run.stopped is None


def test_the_deadline(clock: Clock) -> None:
    run = Run(time_limit=100.0)
    clock.forward(99.0)
    run.check()
    assert run.seconds == pytest.approx(99.0, abs=0.5)
    clock.forward(1.0)
    with pytest.raises(OutOfTime):
        run.check()
    assert run.stopped is None  # only the end of ``with run:`` knows that


def test_iterations_end_after_nine_tenths_of_the_time_that_is_left(clock: Clock) -> None:
    run = Run(time_limit=100.0)
    for passed, expected in ((0.0, 90.0), (50.0, 95.0), (40.0, 99.0)):
        clock.forward(passed)
        end = run.end_of_iterations()
        assert end is not None
        assert end - run.began == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("answer", [None, False])
def test_a_callback_is_told_about_the_progress(answer: bool | None) -> None:
    seen: list[Progress] = []

    def callback(shown: Progress) -> bool | None:
        seen.append(shown)
        return answer

    shown = progress()
    Run(callback).report(shown)
    assert seen == [shown]


def test_a_callback_that_returns_true_stops_the_run() -> None:
    with pytest.raises(Stopped) as caught:
        Run(lambda _: True).report(progress())
    assert caught.value.reason is StopReason.CALLBACK
    assert str(caught.value) == "the callback stopped the run"


def test_without_a_callback_nothing_happens() -> None:
    Run().report(progress())


def test_what_ends_by_itself_leaves_no_trace() -> None:
    run, done = Run(), False
    with run:
        done = True
    assert done
    assert (run.stopped, run.lost) == (None, None)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Stopped(StopReason.CALLBACK), StopReason.CALLBACK),
        (Stopped(StopReason.TIME_LIMIT), StopReason.TIME_LIMIT),
        (OutOfTime(), StopReason.TIME_LIMIT),
        (KeyboardInterrupt(), StopReason.INTERRUPTED),
        (LOST, StopReason.INTERRUPTED),
    ],
    ids=repr,
)
def test_every_interruption_is_handled(error: BaseException, reason: StopReason) -> None:
    run = Run()
    with run:
        raise error
    assert run.stopped is reason
    assert run.lost is (LOST if error is LOST else None)


@pytest.mark.parametrize(
    "error", [ValueError("wrong"), RuntimeError("no data"), MemoryError(), SystemExit(1)], ids=repr
)
def test_other_exceptions_are_not_handled(error: BaseException) -> None:
    run = Run()
    with pytest.raises(type(error)) as caught, run:
        raise error
    assert caught.value is error
    assert (run.stopped, run.lost) == (None, None)


INTERRUPTIONS = {"Stopped", "OutOfTime", "DataLost", "KeyboardInterrupt"}
# Where an interruption may be caught, and which: the run; the command line and the validation of
# the input, which have no result; and one for which there is a result without the tests.
HANDLERS = {
    "search/one_problem.py": {"OutOfTime"},
    "api/running.py": {"DataLost", "OutOfTime"},
    "cli/__init__.py": {"KeyboardInterrupt"},
    "cli/app.py": {"KeyboardInterrupt", "DataLost"},
}


def caught_in(source: Path) -> set[str]:
    """The interruptions that a module catches without raising them again in the end."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if not isinstance(node, ast.ExceptHandler):
            continue
        last = node.body[-1]
        if isinstance(last, ast.Raise) and last.exc is None:
            continue
        kind = node.type or ast.Name("BaseException")
        found |= {one.id for one in ast.walk(kind) if isinstance(one, ast.Name)}
    return found & {*INTERRUPTIONS, "BaseException"}


def test_interruptions_are_handled_nowhere_else() -> None:
    caught = {
        source.relative_to(SOURCES).as_posix(): names
        for source in sorted(SOURCES.rglob("*.py"))
        if (names := caught_in(source))
    }
    assert caught == HANDLERS
