"""The threads of BLAS are limited while small problems are solved, and restored afterwards."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # loads its own BLAS
from threadpoolctl import ThreadpoolController

import robustrank as rr
from robustrank.backend import limited_blas_threads, threads_for
from robustrank.backend.threads import WORTH_THREADS, release_control

CONTROLLER = ThreadpoolController()
SMALL = rr.simulate.plant(8, 6, 1, 100, outliers=0.1, rng=1)
ENTRIES = rr.simulate.plant_entries(12, 10, 1, 90, outliers=0.05, rng=1)


def blas_threads() -> set[int]:
    assert scipy.linalg is not None
    return {pool["num_threads"] for pool in CONTROLLER.info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    """A number that is neither one nor that of the cores."""
    before = CONTROLLER.limit(limits=3, user_api="blas")
    release_control()
    if blas_threads() != {3}:
        pytest.skip("this BLAS has no threads")
    yield
    before.restore_original_limits()
    release_control()


def recover(callback: Callable[[Any], Any]) -> Any:
    return rr.recover(SMALL.A, SMALL.y, 1, callback=callback)


def recover_without_rank(callback: Callable[[Any], Any]) -> Any:
    return rr.recover(SMALL.A, SMALL.y, callback=callback)


def complete(callback: Callable[[Any], Any]) -> Any:
    return rr.complete(ENTRIES.incomplete, callback=callback)


CALLS = [recover, recover_without_rank, complete]


@pytest.mark.parametrize("call", CALLS)
def test_small_problems_use_one_thread(call: Callable[..., Any]) -> None:
    seen: set[int] = set()
    call(lambda _: seen.update(blas_threads()))
    assert seen == {1}
    assert blas_threads() == {3}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_threads_are_restored_after_an_error(
    call: Callable[..., Any], error: type[BaseException]
) -> None:
    def fail(_: Any) -> None:
        raise error

    with pytest.raises(error):
        call(fail)
    assert blas_threads() == {3}


@pytest.mark.parametrize("number", range(1, 40))
def test_threads_are_restored_wherever_ctrl_c_comes(number: int) -> None:
    """At the n-th call of a Python function, between entering the block and having left it."""
    calls = 0

    def interrupt(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls == number:
            sys.setprofile(None)
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        sys.setprofile(interrupt)
        with limited_blas_threads(1):
            pass
    sys.setprofile(None)
    gc.collect()
    assert blas_threads() == {3}
    with limited_blas_threads(1):
        assert blas_threads() == {1}
    assert blas_threads() == {3}


def test_a_batch_uses_one_thread_only_while_it_is_solved() -> None:
    results = rr.recover_many([(SMALL.A, SMALL.y)] * 2, rank=1)
    next(results)
    assert blas_threads() == {3}
    results.close()  # type: ignore[attr-defined]


def test_large_problems_keep_their_threads() -> None:
    assert threads_for(WORTH_THREADS - 1) == 1
    assert threads_for(WORTH_THREADS) is None
    with limited_blas_threads(threads_for(WORTH_THREADS)):
        assert blas_threads() == {3}


def test_the_last_of_overlapping_calls_restores_the_threads() -> None:
    """The first call ends while the second one is running."""
    first_runs, second_runs, first_ended = (threading.Event() for _ in range(3))
    seen = []

    def first() -> None:
        with limited_blas_threads(1):
            first_runs.set()
            assert second_runs.wait(30)
        seen.append(blas_threads())
        first_ended.set()

    def second() -> None:
        assert first_runs.wait(30)
        with limited_blas_threads(1):
            second_runs.set()
            assert first_ended.wait(30)
            seen.append(blas_threads())

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}, {1}]
    assert blas_threads() == {3}


def test_calls_in_several_threads_are_right() -> None:
    found: list[Any] = []

    def work() -> None:
        found.extend(rr.recover(SMALL.A, SMALL.y, 1) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 9
    assert all(np.allclose(result.matrix, SMALL.matrix) for result in found)
    assert blas_threads() == {3}


def _limits_again(results: Any) -> None:
    with limited_blas_threads(1):
        results.put(blas_threads())


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # in newer Python versions
def test_a_process_forked_during_a_call_can_limit_threads_itself() -> None:
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    with limited_blas_threads(1):
        child = fork.Process(target=_limits_again, args=(results,))
        child.start()
        child.join(30)
    assert child.exitcode == 0
    assert results.get() == {1}
