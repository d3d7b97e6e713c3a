"""``recover`` in several threads at once, and in forked processes."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustrank as rr
from robustrank.operators.kernels import kernels_for

PLANTED = rr.simulate.plant(60, 50, 2, 700, outliers=0.05, rng=4)  # large enough to use the kernels


def singular_values(_: int) -> list[float]:
    result = rr.recover(PLANTED.A, PLANTED.y, 2)
    return [float(value) for value in result.singular_values()]


@pytest.fixture(autouse=True)
def _kernels_are_used() -> None:
    pytest.importorskip("numba")
    assert kernels_for(PLANTED.A) is not None


def test_two_threads_give_the_same_bits() -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(singular_values, range(2))
    assert first == second


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # in newer Python versions
def test_forked_processes_give_the_same_result() -> None:
    here = singular_values(0)  # uses threads and kernels before the fork
    pool = multiprocessing.get_context("fork").Pool(2)
    there = pool.map_async(singular_values, range(2)).get(timeout=60)
    pool.close()  # not terminated: a signal may come while a worker holds a lock
    pool.join()
    assert np.allclose(there, here, rtol=1e-10)
