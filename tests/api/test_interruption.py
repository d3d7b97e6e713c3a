"""Ctrl-C: the run ends, and nothing that was found is lost."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.simulate import Planted, plant

pytestmark = pytest.mark.usefixtures("default_signals")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Any, Any]]:
    planted = [plant(12, 9, 1, 90, outliers=0.1, rng=seed) for seed in range(3)]
    return [(one.A, one.y) for one in planted]


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_raises_with_the_result_so_far(small: Planted) -> None:
    def press_soon(progress: rr.Progress) -> None:
        if progress.iteration == 30:
            threading.Timer(0.05, press_ctrl_c).start()

    solver = rr.MedianTGD(tolerance=0, max_iterations=10_000_000)
    with pytest.raises(KeyboardInterrupt) as caught:
        rr.recover(small.A, small.y, 2, solver=solver, callback=press_soon)
    assert isinstance(caught.value, rr.Interrupted)
    recovery = caught.value.recovery
    assert recovery.status is rr.Status.INTERRUPTED
    assert recovery.iterations >= 30
    assert np.all(np.isfinite(recovery.matrix))
    again = pickle.loads(pickle.dumps(caught.value))
    assert np.array_equal(again.recovery.matrix, recovery.matrix)


def test_ctrl_c_before_the_first_iteration_has_a_result_too(small: Planted) -> None:
    def interrupt(_: rr.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(small.A, small.y, 2, callback=interrupt)
    assert caught.value.recovery.iterations == 0
    assert str(caught.value.recovery)


def test_ctrl_c_ends_a_batch_and_no_other_solver_is_tried(pairs: list[tuple[Any, Any]]) -> None:
    started: list[int] = []

    class First(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            press_ctrl_c()
            return super().step(problem, state)

    class Second(rr.GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            started.append(1)
            return super().start(problem, rng)

    with pytest.raises(rr.Interrupted):
        list(rr.recover_many(pairs, 1, solver=rr.Portfolio((First(), Second())), batch=3))
    assert not started


def test_ctrl_c_in_a_batch_raises_with_the_result_so_far(pairs: list[tuple[Any, Any]]) -> None:
    class Slow(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 2:
                press_ctrl_c()
            return super().step(problem, state)

    with pytest.raises(rr.Interrupted) as caught:
        list(rr.recover_many(pairs, 1, solver=Slow(), batch=3))
    assert caught.value.recovery.status is rr.Status.INTERRUPTED
    assert caught.value.recovery.iterations >= 1


def test_results_from_before_ctrl_c_are_yielded() -> None:
    easy = plant(16, 12, 2, 260, outliers=0.05, rng=1)
    random_y = np.random.default_rng(0).standard_normal(260)

    class Interrupted(rr.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 20:
                press_ctrl_c()
            return super().step(problem, state)

    solver = rr.Portfolio((Interrupted(), rr.GaussNewton()), rank_estimator=None)
    data = [(easy.A, easy.y), (easy.A, random_y)]
    results = iter(rr.recover_many(data, 2, batch=2, solver=solver))
    assert next(results).status is rr.Status.RECOVERED
    with pytest.raises(rr.Interrupted):
        next(results)
