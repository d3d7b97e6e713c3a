"""The loop over iterations: limits, convergence, divergence, passes and the callback."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.result import StopReason
from robustrank.run import Run, Stopped
from robustrank.simulate import Planted, plant
from robustrank.solvers import Drive, GaussNewton, MedianTGD, MessagePassing
from robustrank.solvers.driver import Monitor, Outcome, Until


def test_iteration_limit(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=MedianTGD(max_iterations=15))
    assert result.stopped is rr.StopReason.ITERATIONS
    assert result.iterations == 15
    assert result.history.checks[-1].iteration == 15


def test_tolerance_of_zero_uses_all_iterations(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=MedianTGD(max_iterations=700, tolerance=0))
    assert result.iterations == 700
    assert result.status is rr.Status.RECOVERED
    assert result.certificate.misfit < 1e-13
    assert rr.recover(small.A, small.y, 2).iterations < 700


def test_passes_are_counted(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=MedianTGD(max_iterations=20))
    # One to validate A, one for the initialization, one for its residuals, two per iteration, and
    # two for the trivial prediction that the certificate compares with.
    assert result.passes == 3 + 2 * 20 + 2
    operator = as_operator(small.A)
    again = rr.recover(operator, small.y, 2, solver=MedianTGD(max_iterations=20))
    assert again.passes == 2 + 2 * 20 + 2
    assert again.history.checks[-1].passes == again.passes - 2


def test_time_limit_stops_in_time() -> None:
    planted = plant(60, 50, 2, 600, outliers=0.05, rng=5)
    began = time.perf_counter()
    result = rr.recover(planted.A, planted.y, 2, solver=MedianTGD(tolerance=0), time_limit=0.2)
    assert time.perf_counter() - began < 2
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert result.status in (rr.Status.INCONCLUSIVE, rr.Status.RECOVERED)
    assert result.iterations < 10_000
    assert result.history.checks[-1].iteration == result.iterations


def test_time_limit_during_divergence_keeps_finite_factors(small: Planted) -> None:
    solver = MedianTGD(step_size=50.0, max_iterations=9)
    result = rr.recover(small.A, small.y, 2, solver=solver)
    assert np.all(np.isfinite(result.matrix))
    assert str(result)
    limited = rr.recover(small.A, small.y, 2, solver=solver, time_limit=1e-9)
    assert np.all(np.isfinite(limited.matrix))
    assert limited.iterations <= 1


def test_infinite_measurements_make_vanilla_gd_diverge(small: Planted) -> None:
    y = small.y.copy()
    y[3] = math.inf
    result = rr.recover(small.A, y, 2, solver="vanilla-gd")
    assert result.stopped is rr.StopReason.DIVERGED
    assert np.all(np.isfinite(result.matrix))
    assert not result.certified


def test_a_step_size_that_is_too_large_diverges_and_keeps_finite_factors(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, solver=MedianTGD(step_size=50.0))
    assert result.stopped is rr.StopReason.DIVERGED
    assert np.all(np.isfinite(result.matrix))


def test_callback_receives_progress_and_can_stop(small: Planted) -> None:
    seen: list[rr.Progress] = []

    def stop_at_50(progress: rr.Progress) -> bool:
        seen.append(progress)
        return progress.iteration >= 50

    result = rr.recover(small.A, small.y * 1e8, 2, solver="median-tgd", callback=stop_at_50)
    assert result.stopped is rr.StopReason.CALLBACK
    assert [progress.iteration for progress in seen] == [0, 10, 20, 30, 40, 50]
    assert np.array_equal(seen[-1].left @ seen[-1].right.T, result.matrix)  # in the user's units
    assert seen[-1].misfit == result.history.checks[-1].misfit
    fractions = [progress.fraction for progress in seen]
    assert fractions[0] == 0
    assert 0 < fractions[-1] <= 1


def test_a_batch_gives_the_same_states_as_single_runs(small: Planted) -> None:
    hard = plant(20, 15, 2, 400, outliers=0.3, outlier_model="scale", rng=12)
    problems = [Problem(as_operator(one.A), one.y, 2) for one in (small, hard)]
    solver, rng = GaussNewton(), np.random.default_rng(0)
    together = Drive(problems, solver, Run()).to_the_end(rng)
    for problem, outcome in zip(problems, together, strict=True):
        (alone,) = Drive([problem], solver, Run()).to_the_end(rng)
        assert outcome.reason is alone.reason
        assert outcome.iterations == alone.iterations
        assert len(outcome.history) == len(alone.history)
        product, expected = (of.state.U @ of.state.V.T for of in (outcome, alone))
        assert np.allclose(product, expected, atol=1e-9)
    assert together[0].iterations != together[1].iterations  # one ends before the other


def test_a_run_that_is_never_finite_gives_the_zero_matrix(small: Planted) -> None:
    class Broken(GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            state = super().start(problem, rng)
            object.__setattr__(state, "median", state.median * math.nan)
            return state

    problem = Problem(as_operator(small.A), small.y, 2)
    (outcome,) = Drive([problem], Broken(), Run()).to_the_end(np.random.default_rng(0))
    assert outcome.reason is StopReason.DIVERGED
    assert not np.any(outcome.state.U)
    assert np.array_equal(outcome.state.residual, problem.normalized().y)


def endless(small: Planted, run: Run) -> Drive[Any]:
    problem = Problem(as_operator(small.A), small.y, 2)
    return Drive([problem], MedianTGD(tolerance=0, max_iterations=10**7), run)


def test_the_time_limit_leaves_what_was_found(small: Planted) -> None:
    drive = endless(small, Run(time_limit=0.05))
    with pytest.raises(Stopped) as caught:
        drive.to_the_end(np.random.default_rng(0))
    assert caught.value.reason is StopReason.TIME_LIMIT
    (outcome,) = drive.outcomes()
    assert outcome.reason is StopReason.INTERRUPTED
    assert 0 < outcome.iterations < 10**7
    assert outcome.history.checks[-1].iteration == outcome.iterations


def test_before_the_first_iteration_nothing_is_found(small: Planted) -> None:
    (outcome,) = endless(small, Run()).outcomes()
    assert outcome.reason is StopReason.INTERRUPTED
    assert outcome.iterations == len(outcome.history) == 0
    assert not np.any(outcome.state.U)


def test_the_callback_stops_the_iterations(small: Planted) -> None:
    drive = endless(small, Run(lambda progress: progress.iteration >= 20))
    with pytest.raises(Stopped) as caught:
        drive.to_the_end(np.random.default_rng(0))
    assert caught.value.reason is StopReason.CALLBACK
    assert drive.outcomes()[0].iterations == 20


def test_a_run_also_ends_when_a_condition_holds(small: Planted) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    (whole,) = Drive([problem], GaussNewton(), Run()).to_the_end(np.random.default_rng(0))
    misfits = whole.history.column("misfit")
    near = Drive([problem], GaussNewton(), Run(), Until(misfits[3] * 1.01, 0.0, 100))
    (outcome,) = near.to_the_end(np.random.default_rng(0))
    assert outcome.reason is None
    assert outcome.iterations == int(np.argmax(misfits < misfits[3] * 1.01)) == 3
    stalled = Drive([problem], GaussNewton(), Run(), Until(0.0, 1e-9, 2))
    (outcome,) = stalled.to_the_end(np.random.default_rng(0))
    assert outcome.reason is None
    assert outcome.iterations == 2  # the third check, the first that is compared


class Interrupted(GaussNewton):
    """Ctrl-C in the third step."""

    def step(self, problem: Problem, state: Any) -> Any:
        if state.iteration >= 2:
            raise KeyboardInterrupt
        return super().step(problem, state)


def test_ctrl_c_is_not_handled_and_leaves_what_was_found(small: Planted) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    drive = Drive([problem], Interrupted(), Run())
    with pytest.raises(KeyboardInterrupt):
        drive.to_the_end(np.random.default_rng(0))
    (outcome,) = drive.outcomes()
    assert outcome.reason is StopReason.INTERRUPTED
    assert outcome.iterations == 2
    assert np.any(outcome.state.U)


def test_ctrl_c_after_the_last_iteration_is_not_ignored(
    small: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, calls = Monitor.outcome, []

    def interrupted_once(monitor: Monitor) -> Outcome:
        calls.append(monitor)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return outcome(monitor)

    monkeypatch.setattr(Monitor, "outcome", interrupted_once)
    problem = Problem(as_operator(small.A), small.y, 2)
    drive = Drive([problem], GaussNewton(), Run())
    with pytest.raises(KeyboardInterrupt):
        drive.to_the_end(np.random.default_rng(0))
    (found,) = drive.outcomes()
    assert found.reason is None  # it has converged
    assert found.iterations > 3


def test_an_outcome_that_follows_another_goes_on_with_its_counts(small: Planted) -> None:
    problem, rng = Problem(as_operator(small.A), small.y, 2), np.random.default_rng(0)
    (first,) = Drive([problem], MessagePassing(max_iterations=2), Run()).to_the_end(rng)
    (second,) = Drive([problem], GaussNewton(), Run()).to_the_end(rng)
    both = first.followed_by(second)
    assert both.state is second.state
    assert both.reason is second.reason is None
    assert first.reason is StopReason.ITERATIONS
    assert both.iterations == 2 + second.iterations
    checks, count = both.history.checks, len(first.history.checks)
    assert checks[:count] == first.history.checks
    for check, own in zip(checks[count:], second.history.checks, strict=True):
        assert check.iteration == 2 + own.iteration
        assert check.seconds == first.history.checks[-1].seconds + own.seconds
        assert check.passes == first.history.checks[-1].passes + own.passes
        assert (check.misfit, check.change, check.inliers) == (own.misfit, own.change, own.inliers)
    for column in ("iteration", "seconds", "passes"):
        assert np.all(np.diff(both.history.column(column)) >= 0)
