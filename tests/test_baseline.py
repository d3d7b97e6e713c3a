"""What a prediction leaves that knows nothing about the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from robustrank.backend import like, to_numpy
from robustrank.baseline import _least_absolute_slope, trivial_deviation
from robustrank.operators import as_operator

M, N1, N2 = 400, 8, 6
Array = np.ndarray[Any, Any]
MATRIX = np.outer(np.linspace(-1, 3, N1), np.linspace(1, 4, N2))
MATRIX /= np.linalg.norm(MATRIX)


def measured(A: Array) -> Array:
    return np.einsum("ijk,jk->i", A, MATRIX)  # type: ignore[no-any-return]


@pytest.mark.slow_with_jax
@pytest.mark.parametrize("mean", [0.0, 1.0, 10.0, 1000.0])
def test_a_common_part_of_the_rows_is_not_counted(xp: Any, mean: float) -> None:
    """What is left is measured by the varying part of the rows, which has entries of size one."""
    A = mean + np.random.default_rng(1).standard_normal((M, N1, N2))
    y = xp.asarray(measured(A))
    found = trivial_deviation(as_operator(xp.asarray(A)), y)
    assert like(found) == like(y)
    unexplained = np.linalg.norm(MATRIX - (MATRIX.mean() if mean > 0 else 0))
    assert 0.5 < unexplained < 1.01
    assert float(found) == pytest.approx(float(unexplained), rel=0.15)


def test_outliers_and_infinite_measurements_change_it_little() -> None:
    A = 10 + np.random.default_rng(1).standard_normal((M, N1, N2))
    y = measured(A)
    plain = float(trivial_deviation(as_operator(A), y))
    y[:60] = 1e9
    y[60] = np.inf
    assert float(trivial_deviation(as_operator(A), y)) == pytest.approx(plain, rel=0.4)


def test_it_is_at_most_the_typical_measurement() -> None:
    """A multiple of zero is one of the predictions."""
    rng = np.random.default_rng(2)
    for mean in (0.0, 0.1, 3.0):
        A, y = mean + rng.standard_normal((M, N1, N2)), rng.standard_normal(M)
        typical = float(np.sort(np.abs(y))[(M - 1) // 2]) / 0.67449
        assert float(trivial_deviation(as_operator(A), y)) <= typical * (1 + 1e-5)


def test_rows_without_a_common_part_are_compared_with_zero() -> None:
    A = np.random.default_rng(3).standard_normal((M // 2, N1, N2))
    A = np.concatenate([A, -A])
    y = measured(A)
    typical = float(np.sort(np.abs(y))[(M - 1) // 2]) / 0.67449
    assert float(trivial_deviation(as_operator(A), y)) == pytest.approx(typical, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_slope_minimizes_the_sum_of_absolute_deviations(xp: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(31), rng.standard_cauchy(31)
    slope = float(to_numpy(_least_absolute_slope(xp.asarray(x), xp.asarray(y))))

    def cost(c: float) -> float:
        return float(np.sum(np.abs(y - c * x)))

    best = minimize_scalar(cost, bounds=(slope - 5, slope + 5), method="bounded")
    assert cost(slope) <= cost(float(best.x)) + 1e-9
