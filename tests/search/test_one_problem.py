"""Trying candidates in turn: limits, Ctrl-C, and which result is returned."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.certificate.support import Parts
from robustrank.linalg import TangentView
from robustrank.simulate import Planted, plant
from robustrank.solvers import (
    GaussNewton,
    MedianTGD,
    MessagePassing,
    Portfolio,
    TwoStage,
)
from robustrank.solvers.evidence_fit import EvidenceFit
from robustrank.solvers.portfolio import SOFT


@pytest.fixture(scope="module")
def noisy() -> Planted:
    return plant(40, 32, 2, 420, outliers=0.05, bounded_noise=0.05, rng=0)


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_time_limit_and_callback_apply_to_every_candidate() -> None:
    planted = plant(12, 10, 2, 100, rng=1)
    y = np.random.default_rng(1).standard_normal(100)
    solvers: list[str] = []

    def stop_the_third(progress: rr.Progress) -> bool:
        solvers.append(progress.stage)
        return len(set(solvers)) == 3

    result = rr.recover(planted.A, y, 2, callback=stop_the_third)
    assert result.stopped is rr.StopReason.CALLBACK
    assert len(result.attempts) == 2
    limited = rr.recover(planted.A, y, 2, time_limit=0.02)
    assert limited.stopped is rr.StopReason.TIME_LIMIT
    assert limited.seconds < 1


def test_result_of_an_earlier_candidate_is_kept_at_the_time_limit() -> None:
    planted = plant(30, 24, 2, 450, outliers=0.1, rng=5)
    stopped_early = MedianTGD(max_iterations=100, name="the first")
    endless = MedianTGD(max_iterations=10**7, tolerance=0, step_size=1e-6)
    solver = Portfolio((stopped_early, endless))
    result = rr.recover(planted.A, planted.y, 2, solver=solver, time_limit=0.3)
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert len(result.attempts) == 2
    assert result.solver == stopped_early.name


def test_the_zero_matrix_is_not_preferred_to_a_result_without_evidence() -> None:
    planted = plant(40, 32, 2, 170, outliers=0.1, bounded_noise=0.05, rng=0)

    def interrupt_the_second(progress: rr.Progress) -> None:
        if progress.stage == "message passing":
            assert not np.any(progress.left)
            raise KeyboardInterrupt

    solver = Portfolio((SOFT, MessagePassing()))
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(planted.A, planted.y, 2, solver=solver, callback=interrupt_the_second)
    assert caught.value.result.solver == SOFT.name
    assert len(caught.value.result.attempts) == 2


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("callback", rr.StopReason.CALLBACK),
        ("Ctrl-C", rr.StopReason.INTERRUPTED),
        ("time", rr.StopReason.TIME_LIMIT),
    ],
)
def test_message_passing_that_is_stopped_keeps_the_result_so_far(
    event: str, reason: rr.StopReason, clock: Clock
) -> None:
    few = plant(20, 16, 2, 100, rng=0)  # enough for rank 2, but not for the rank given
    first = Portfolio((SOFT,))
    with pytest.warns(rr.UndersampledWarning):
        alone = rr.recover(few.A, few.y, 5, solver=first)

    def watch(progress: rr.Progress) -> bool:
        estimating = progress.stage == "message passing" and progress.iteration >= 2
        if estimating and event == "Ctrl-C":
            press_ctrl_c()
        if estimating and event == "time":
            clock.forward(100)
        return estimating and event == "callback"

    limit = 100 if event == "time" else None
    try:
        with pytest.warns(rr.UndersampledWarning):
            result = rr.recover(few.A, few.y, 5, callback=watch, time_limit=limit)
    except rr.Interrupted as interruption:
        assert event == "Ctrl-C"
        result = interruption.result
    assert result.stopped is reason
    assert result.status is alone.status is rr.Status.UNDERDETERMINED
    assert result.certificate == alone.certificate
    assert [attempt.solver for attempt in result.attempts] == ["Gauss–Newton"]
    assert result.solver == "Gauss–Newton"  # what message passing found is not a result
    assert np.array_equal(result.matrix, alone.matrix)


@pytest.mark.parametrize("event", ["callback", "time"])
def test_message_passing_that_is_stopped_does_not_lose_a_certified_result(
    event: str, clock: Clock
) -> None:
    planted = plant(40, 32, 2, 600, outliers=0.05, bounded_noise=1.5, condition_number=20.0, rng=0)
    alone = rr.recover(planted.A, planted.y, 2, solver=Portfolio((SOFT,)))
    assert alone.status is rr.Status.ESTIMATED

    def watch(progress: rr.Progress) -> bool:
        if progress.stage == "message passing" and event == "time":
            clock.forward(100)
        return progress.stage == "message passing" and event == "callback"

    limit = 100 if event == "time" else None
    result = rr.recover(planted.A, planted.y, 2, callback=watch, time_limit=limit)
    assert result.status is rr.Status.ESTIMATED
    stopped = rr.StopReason.CALLBACK if event == "callback" else rr.StopReason.TIME_LIMIT
    assert result.stopped is stopped
    assert np.array_equal(result.matrix, alone.matrix)


@pytest.mark.usefixtures("default_signals")
def test_no_other_candidate_is_tried_after_message_passing_that_is_interrupted() -> None:
    planted = [plant(16, 12, r, 260, outliers=0.45, outlier_model="scale", rng=r) for r in (1, 3)]
    tried = []

    class Recorded(GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            tried.append(problem.rank)
            return super().start(problem, rng)

        def start_from(self, problem: Any, estimate: Any) -> Any:
            tried.append(problem.rank)
            return super().start_from(problem, estimate)

    class Interrupted(MessagePassing):
        def step(self, problem: Any, state: Any) -> Any:
            after = super().step(problem, state)
            if bool(np.any(after.moved == 0)):  # finished on one of the problems
                press_ctrl_c()
            return after

    second = TwoStage(Interrupted(patience=10, max_iterations=100), Recorded())
    solver = Portfolio((Recorded(max_iterations=5), second, Recorded()))
    with pytest.raises(rr.Interrupted):
        list(rr.recover_many([(p.A, p.y) for p in planted], 4, batch=2, solver=solver))
    assert tried == [4]


@pytest.mark.parametrize(
    ("noise", "objection"),
    [
        (0.0, "the run ended before the result was tested"),
        (0.02, "the time limit was reached"),  # a fit with noise is tested only if it converged
    ],
)
def test_the_time_limit_covers_the_certificate(
    noise: float, objection: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, bounded_noise=noise, rng=11)
    plain = rr.recover(planted.A, planted.y, 2, solver="gauss-newton")
    assert plain.certified

    def slow(self: TangentView, weights: Any) -> Any:
        clock.forward(100)
        self.before(0)
        return self.inner.normal_map(weights)

    monkeypatch.setattr(TangentView, "normal_map", slow)
    result = rr.recover(planted.A, planted.y, 2, solver="gauss-newton", time_limit=100)
    assert result.seconds < 200
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.objections == (objection,)
    assert np.array_equal(result.matrix, plain.matrix)
    assert result.attempts[-1].stopped is rr.StopReason.TIME_LIMIT


def test_iterations_leave_time_for_the_certificate() -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=11)
    endless = MedianTGD(tolerance=0, max_iterations=10**9)
    result = rr.recover(planted.A, planted.y, 2, solver=endless, time_limit=1.0)
    assert result.status is rr.Status.RECOVERED
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert 0.8 < result.seconds <= 1.0


def test_no_certificate_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=11)
    endless = MedianTGD(tolerance=0, max_iterations=10**9)
    monkeypatch.setattr("robustrank.run._ITERATING", 1.0)
    result = rr.recover(planted.A, planted.y, 2, solver=endless, time_limit=0.5)
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.fits_exactly
    assert result.certificate.objections == ("the run ended before the result was tested",)


def sampled_entries(n1: int, n2: int, m: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, n1 * n2, m)
    A = np.zeros((m, n1 * n2))
    A[np.arange(m), positions] = 1
    return A.reshape(m, n1, n2), positions


@pytest.mark.parametrize("outliers", [0, 30])
def test_a_constant_matrix_is_recovered_from_its_entries(outliers: int) -> None:
    """Most of the 108 entries are given several times, which counts as once."""
    A, _ = sampled_entries(12, 9, 800, seed=0)
    y = np.full(800, -3.0)
    y[:outliers] = np.random.default_rng(1).standard_normal(outliers) * 20
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, -3.0)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("gaussian", 0.55),
        ("gaussian", 1.0),
        ("positive", 0.55),
        ("positive", 0.7),
        ("nearly constant", 0.7),
        ("binary", 0.55),
        ("binary", 1.0),
    ],
)
def test_a_stuck_sensor_is_not_certified(kind: str, share: float) -> None:
    """A stuck value is what a constant A would give; the other measurements contradict it."""
    planted = plant(12, 9, 1, 220, rng=3)
    change: dict[str, Any] = {
        "gaussian": lambda A: A,
        "positive": np.abs,
        "nearly constant": lambda A: 1 + 0.1 * A,
        "binary": lambda A: (A > 0).astype(float),
    }
    A = change[kind](planted.A)
    y = np.einsum("mij,ij->m", A, planted.matrix)
    y[: round(share * 220)] = np.median(y)
    assert not rr.recover(A, y, 1).certified


def test_large_rows_that_mostly_read_zero_are_not_certified() -> None:
    rng = np.random.default_rng(2)
    sizes = np.where(np.arange(160) < 70, 1.0, 0.05)
    A = sizes[:, None, None] * rng.standard_normal((160, 10, 8))
    y = sizes * rng.standard_normal(160)
    y[:60] = 0
    assert not rr.recover(A, y, 1).certified


@pytest.mark.parametrize(("offset", "tried"), [(0.0, 1), (0.02, 2)])
def test_other_candidates_are_tried_unless_the_evidence_is_clear(offset: float, tried: int) -> None:
    planted = plant(20, 16, 1, 300, rng=3)
    deviation = np.std(planted.y)
    y = planted.y + 0.005 * deviation * np.random.default_rng(0).standard_normal(300)
    y[:20] += offset * deviation
    result = rr.recover(planted.A, y, 1)
    assert result.status is rr.Status.ESTIMATED
    assert len(result.attempts) == tried


class Diverging(GaussNewton):
    """Grows without bound after two steps."""

    def step(self, problem: Any, state: Any) -> Any:
        after = super().step(problem, state)
        return replace(after, median=after.median * np.inf) if after.iteration > 2 else after


def test_other_candidates_are_tried_after_one_that_diverges_with_few_measurements() -> None:
    """With too few for the rank, only a lower rank would help one that does not."""
    planted = plant(12, 9, 1, 25, rng=2)
    for first, expected in ((Diverging(), ["first", "Gauss–Newton"]), (GaussNewton(), ["first"])):
        solver = Portfolio((replace(first, name="first"), GaussNewton()))
        result = rr.recover(planted.A, planted.y, 1, solver=solver)
        assert result.status is rr.Status.UNDERDETERMINED
        assert [attempt.solver for attempt in result.attempts] == expected
        diverged = [attempt.stopped is rr.StopReason.DIVERGED for attempt in result.attempts]
        assert diverged == [isinstance(first, Diverging), False][: len(expected)]


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_ctrl_c_at_the_start_of_the_final_fit_keeps_what_the_solver_found(
    noisy: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = rr.recover(noisy.A, noisy.y, 2, solver=SOFT)
    monkeypatch.setattr(EvidenceFit, "start", interrupted)
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(noisy.A, noisy.y, 2)
    result = caught.value.result
    assert np.array_equal(result.matrix, alone.matrix)
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.objections == ("the run ended before the result was tested",)
    assert len(result.attempts) == 1


def test_ctrl_c_during_the_certificate_of_a_batch_keeps_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted = [plant(16, 12, 1, 260, outliers=0.05, rng=seed) for seed in (1, 2)]
    data = [(one.A, one.y) for one in planted]
    plain = next(rr.recover_many(data, 1, batch=2))

    monkeypatch.setattr("robustrank.certificate.conclusion._examined", interrupted)
    with pytest.raises(rr.Interrupted) as caught:
        list(rr.recover_many(data, 1, batch=2))
    result = caught.value.result
    assert np.array_equal(result.matrix, plain.matrix)
    assert result.certificate.fits_exactly
    assert result.status is rr.Status.INCONCLUSIVE


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_solver_that_is_stopped_is_one_attempt(
    noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if its fit has led to several results."""
    planted = plant(20, 15, 2, 400, outliers=0.05, bounded_noise=noise, rng=11)
    monkeypatch.setattr(Parts, "contestable", lambda *_: [0])  # a second solution is looked for
    plain = rr.recover(planted.A, planted.y, 2, solver=Portfolio((SOFT,)))
    assert plain.certified

    monkeypatch.setattr("robustrank.search.one_problem.second_solution", interrupted)
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(planted.A, planted.y, 2)
    result = caught.value.result
    assert [attempt.solver for attempt in result.attempts] == ["Gauss–Newton"]
    assert np.array_equal(result.matrix, plain.matrix)
    said = ("the run ended before a second solution was looked for",)
    assert result.certificate.objections == said
