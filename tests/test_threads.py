"""Solving works beside other threads and after a fork, as nightly pipelines do it."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import robustrank as rr
from robustrank.operators.kernels import kernels_for

PLANTED = rr.simulate.plant(60, 50, 2, 700, outliers=0.05, rng=4)  # large enough for the kernels


def solve(_: int) -> list[float]:
    result = rr.recover(PLANTED.A, PLANTED.y, 2)
    return [float(value) for value in result.singular_values()]


@pytest.fixture(autouse=True)
def _compiled() -> None:
    pytest.importorskip("numba")
    assert kernels_for(PLANTED.A) is not None


def test_two_threads_at_once_get_the_same_bits() -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(solve, range(2))
    assert first == second


@pytest.mark.skipif(sys.platform != "linux", reason="forking is for Linux")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # newer Pythons say so
def test_forked_children_get_the_same_answer() -> None:
    here = solve(0)  # threads and kernels are in use before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map_async(solve, range(2)).get(timeout=60)
    assert np.allclose(there, here, rtol=1e-10)
