"""Ctrl-C: the run ends, and nothing that was found is lost."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.certificate import conclusion
from robustrank.operators import DenseOperator, OutOfTime, as_operator
from robustrank.simulate import Planted, plant

PACKAGE = str(Path(rr.__file__).parent)

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

    solver = rr.solvers.MedianTGD(tolerance=0, max_iterations=10_000_000)
    with pytest.raises(KeyboardInterrupt) as caught:
        rr.recover(small.A, small.y, 2, solver=solver, callback=press_soon)
    assert isinstance(caught.value, rr.Interrupted)
    recovery = caught.value.result
    assert recovery.stopped is rr.StopReason.INTERRUPTED
    assert recovery.iterations >= 30
    assert np.all(np.isfinite(recovery.matrix))
    again = pickle.loads(pickle.dumps(caught.value))
    assert np.array_equal(again.result.matrix, recovery.matrix)


def test_ctrl_c_before_the_first_iteration_has_a_result_too(small: Planted) -> None:
    def interrupt(_: rr.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(small.A, small.y, 2, callback=interrupt)
    assert caught.value.result.iterations == 0
    assert str(caught.value.result)


def test_ctrl_c_ends_a_batch_and_no_other_solver_is_tried(pairs: list[tuple[Any, Any]]) -> None:
    started: list[int] = []

    class First(rr.solvers.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            press_ctrl_c()
            return super().step(problem, state)

    class Second(rr.solvers.GaussNewton):
        def start(self, problem: Any, rng: Any) -> Any:
            started.append(1)
            return super().start(problem, rng)

    with pytest.raises(rr.Interrupted):
        list(rr.recover_many(pairs, 1, solver=rr.solvers.Portfolio((First(), Second())), batch=3))
    assert not started


def test_ctrl_c_in_a_batch_raises_with_the_result_so_far(pairs: list[tuple[Any, Any]]) -> None:
    class Slow(rr.solvers.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 2:
                press_ctrl_c()
            return super().step(problem, state)

    with pytest.raises(rr.Interrupted) as caught:
        list(rr.recover_many(pairs, 1, solver=Slow(), batch=3))
    assert caught.value.result.stopped is rr.StopReason.INTERRUPTED
    assert caught.value.result.iterations >= 1


def test_results_from_before_ctrl_c_are_yielded() -> None:
    easy = plant(16, 12, 2, 260, outliers=0.05, rng=1)
    random_y = np.random.default_rng(0).standard_normal(260)

    class Interrupted(rr.solvers.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            if state.iteration == 20:
                press_ctrl_c()
            return super().step(problem, state)

    solver = rr.solvers.Portfolio((Interrupted(), rr.solvers.GaussNewton()))
    data = [(easy.A, easy.y), (easy.A, random_y)]
    results = iter(rr.recover_many(data, 2, batch=2, solver=solver))
    assert next(results).status is rr.Status.RECOVERED
    with pytest.raises(rr.Interrupted):
        next(results)


class Interruption:
    """Raises KeyboardInterrupt at one call of a function of the package, as Ctrl-C would."""

    def __init__(self, at_call: int) -> None:
        self.calls, self._at_call = 0, at_call

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # A generator that is discarded resumes once more; Python ignores exceptions there.
        counts = event == "call" and not code.co_flags & inspect.CO_GENERATOR
        if counts and code.co_filename.startswith(PACKAGE):
            self.calls += 1
            if self.calls == self._at_call:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def run(self, function: Callable[[], Any]) -> Any:
        sys.setprofile(self)
        try:
            return function()
        finally:
            sys.setprofile(None)


@pytest.fixture(scope="module", params=[2, None], ids=["rank", "no rank"])
def prepared(request: pytest.FixtureRequest) -> Callable[[], rr.Result]:
    """A run on a validated operator, with several attempts."""
    planted = plant(6, 5, 1, 40, outliers=0.1, rng=0)
    operator = as_operator(planted.A)
    solver = rr.solvers.Portfolio(
        (rr.solvers.GaussNewton(max_iterations=2), rr.solvers.GaussNewton())
    )
    return lambda: rr.recover(operator, planted.y, request.param, solver=solver)


def test_ctrl_c_at_any_moment_of_a_run_raises_with_a_result(
    prepared: Callable[[], rr.Result],
) -> None:
    prepared()  # the operator keeps the norms of its rows
    whole = Interruption(at_call=-1)
    result = whole.run(prepared)
    assert result.status is rr.Status.RECOVERED
    in_validation = 0
    first, last = range(1, 200, 6), range(whole.calls - 60, whole.calls, 2)
    for at_call in [*first, *range(200, whole.calls, 307), *last]:
        try:
            Interruption(at_call).run(prepared)
        except rr.Interrupted as interruption:
            recovery = interruption.result
            assert recovery.stopped is rr.StopReason.INTERRUPTED
            assert np.all(np.isfinite(recovery.matrix))
            assert str(recovery)
        except KeyboardInterrupt:
            in_validation = at_call
        else:
            pytest.fail(f"Ctrl-C at call {at_call} was ignored")
    assert in_validation < 150  # afterwards there is always a result


def test_ctrl_c_after_the_search_for_the_rank_keeps_what_it_found(small: Planted) -> None:
    """The solver that follows begins again, with one pass; before that it has nothing."""
    found = rr.recover(small.A, small.y)
    assert found.status is rr.Status.RECOVERED
    searched = False

    class Interrupted(DenseOperator):
        def tangent(self, *arguments: Any, **options: Any) -> Any:
            if searched:
                press_ctrl_c()
            return super().tangent(*arguments, **options)

    def callback(progress: rr.Progress) -> None:
        nonlocal searched
        searched = progress.misfit < 1e-6

    A = Interrupted(small.A.reshape(400, -1), (20, 15))
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(A, small.y, callback=callback)
    np.testing.assert_allclose(caught.value.result.matrix, found.matrix, atol=1e-3)


@pytest.mark.parametrize("passes", [1, 2, 3, 5])
def test_a_time_limit_during_the_search_for_the_rank_gives_a_result(
    small: Planted, passes: int, clock: Clock
) -> None:
    count = 0

    class Slow(DenseOperator):
        def tangent(self, *arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == passes:
                clock.forward(100)
                raise OutOfTime
            return super().tangent(*arguments, **options)

    result = rr.recover(Slow(small.A.reshape(400, -1), (20, 15)), small.y, time_limit=100)
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert np.all(np.isfinite(result.matrix))


def test_ctrl_c_during_the_certificate_keeps_the_result_uncertified(
    small: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = rr.recover(small.A, small.y, 2)

    def interrupted(*_: Any, **__: Any) -> None:
        press_ctrl_c()

    monkeypatch.setattr(conclusion, "_examined", interrupted)
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(small.A, small.y, 2)
    recovery = caught.value.result
    assert recovery.stopped is rr.StopReason.INTERRUPTED
    assert recovery.certificate.objections == ("the run ended before the result was tested",)
    assert np.array_equal(recovery.matrix, plain.matrix)


def test_ctrl_c_during_the_certificates_of_a_batch_ends_it(
    pairs: list[tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tested, examined = [], conclusion._examined

    def interrupted_at_the_second(fit: Any, *arguments: Any, **options: Any) -> Any:
        tested.append(fit)
        if len(tested) == 2:
            press_ctrl_c()
        return examined(fit, *arguments, **options)

    monkeypatch.setattr(conclusion, "_examined", interrupted_at_the_second)
    results = iter(rr.recover_many(pairs, 1, solver="gauss-newton", batch=3))
    assert next(results).certified
    with pytest.raises(rr.Interrupted) as caught:
        next(results)
    assert caught.value.result.certificate.exact_fits > 70
    assert len(tested) == 2


def test_ctrl_c_during_validation_has_no_result(small: Planted) -> None:
    class Interrupting(DenseOperator):
        @property
        def shape(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        rr.recover(Interrupting(small.A.reshape(400, -1), (20, 15)), small.y, 2)
    assert not isinstance(caught.value, rr.Interrupted)


def test_ctrl_c_is_not_ignored_if_the_matrix_would_overflow() -> None:
    planted = plant(1, 2, 1, 60, rng=0)

    def interrupt(progress: rr.Progress) -> None:
        if progress.iteration == 1:
            raise KeyboardInterrupt

    diverging = rr.solvers.VanillaGD(step_size=1e20, check_every=1)
    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(planted.A, planted.y * 1e280, 1, solver=diverging, callback=interrupt)
    assert np.all(np.isfinite(caught.value.result.matrix))
