"""The time and the memory that dense measurements need on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.operators import DenseOperator

_SAMPLE = 2**25  # bytes of the sensing data that is timed
_REPEATS = 3
_WIDTH = 8  # bytes of a number
# Products of the tangent map for each pass over the sensing data: conjugate gradients, near the
# smallest number of measurements.
_PRODUCTS = 40


@dataclass(frozen=True)
class Cost:
    """The expected time and memory of ``recover``."""

    seconds: float
    memory_bytes: int


def expected_cost(shape: tuple[int, int], rank: int, measurements: int, passes: float) -> Cost:
    """The cost of passes over dense sensing data, from timing a few of them on this machine."""
    data = _WIDTH * measurements * math.prod(shape)
    map_bytes = _WIDTH * measurements * rank * sum(shape)
    return Cost(passes * seconds_per_pass(shape, rank, measurements), data + 2 * map_bytes)


def seconds_per_pass(shape: tuple[int, int], rank: int, measurements: int) -> float:
    """The time of a Gauss–Newton step on dense sensing data: on at most 32 MB of it, scaled.

    A step reads the sensing data once, for the tangent map, and solves least squares with that.
    """
    rows = max(1, min(measurements, _SAMPLE // (_WIDTH * math.prod(shape))))
    operator = DenseOperator(np.ones((rows, math.prod(shape))), shape)
    U, V = (np.ones((n, rank)) for n in shape)
    product = operator.tangent(U, V).normal_map(np.ones(rows))
    W = np.ones((sum(shape), rank))
    reading = _best_time(lambda: operator.tangent(U, V))
    solving = _PRODUCTS * _best_time(lambda: product(W))
    return measurements / rows * (reading + solving)


def _best_time(product: Callable[[], Any]) -> float:
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        product()
        times.append(time.perf_counter() - began)
    return min(times)
