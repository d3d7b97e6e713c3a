"""Exact fits: which measurements count, and how many rule out chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate.evidence import exact_tolerance, is_exact_fit, required_fits
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import plant


def problem_of(m: int, rank: int = 1, dtype: Any = float) -> Problem:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((m, 8, 6)).astype(dtype), rng.standard_normal(m).astype(dtype)
    return Problem(as_operator(A), y, rank)


@pytest.mark.parametrize(("dtype", "expected"), [("float64", 5e-7), ("float32", 1000 * 2.0**-23)])
def test_tolerance_depends_on_the_precision(dtype: str, expected: float) -> None:
    assert exact_tolerance(problem_of(60, dtype=dtype)) == pytest.approx(expected)


def test_float32_sensing_data_determines_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 8, 6)).astype("float32")
    problem = Problem(as_operator(A), rng.standard_normal(60), 1)
    assert exact_tolerance(problem) == pytest.approx(1000 * 2.0**-23)


def test_exact_fits_are_relative_to_a_typical_measurement() -> None:
    problem = problem_of(60)
    limit = 5e-7 * float(np.sort(np.abs(problem.y))[29])  # the lower median
    residual = np.zeros(60)
    residual[:6] = limit * np.asarray([0.99, -0.99, 1.01, -1.01, np.inf, -np.inf])
    assert is_exact_fit(problem, residual)[:7].tolist() == [True, True] + [False] * 4 + [True]


@pytest.mark.parametrize(("small", "exact"), [(31, 60), (29, 29)])
def test_residuals_that_fill_the_tolerance_are_noise(small: int, exact: int) -> None:
    problem = problem_of(60)
    limit = 5e-7 * float(np.sort(np.abs(problem.y))[29])
    residual = np.where(np.arange(60) < small, 0.05 * limit, 0.5 * limit)
    assert np.count_nonzero(is_exact_fit(problem, residual)) == exact


@pytest.mark.parametrize(("beyond", "exact"), [(9, 45), (10, 40)])
def test_chance_fits_of_interpolated_noise_do_not_count(beyond: int, exact: int) -> None:
    """Residuals just beyond the tolerance show how many are within it by chance."""
    problem = problem_of(60)
    limit = 5e-7 * float(np.sort(np.abs(problem.y))[29])
    residual = np.full(60, 1.0)
    residual[:40] = 0
    residual[40:45] = 0.5 * limit
    residual[45 : 45 + beyond] = 5 * limit
    assert np.count_nonzero(is_exact_fit(problem, residual)) == exact


@pytest.mark.parametrize("noise", [0.0, 5e-5])
def test_noise_below_the_tolerance_of_float32_is_not_rounding(noise: float) -> None:
    """The tolerance is 1.2e-4 of a typical measurement."""
    planted = plant(20, 15, 2, 400, outliers=0.1, rng=3)
    typical = np.median(np.abs(planted.y))
    y = planted.y + noise * typical * np.random.default_rng(0).standard_normal(400)
    result = rr.recover(planted.A.astype("float32"), y.astype("float32"), 2)
    assert result.status is (rr.Status.ESTIMATED if noise else rr.Status.RECOVERED)


@pytest.mark.parametrize(
    ("m", "rank", "expected"),
    [
        (20, 1, 13 + 10 + 1),  # 13 degrees of freedom; more than the 20 measurements
        (30, 1, 13 + 10 + 1),
        (400, 1, 201),  # a majority
        (400, 4, 201),
        (60, 4, 40 + 10 + 1),
    ],
)
def test_required_fits_exceed_chance_and_half(m: int, rank: int, expected: int) -> None:
    assert required_fits(problem_of(m, rank), m) == expected


@pytest.mark.parametrize(("dtype", "by_chance"), [("float64", 10 + 1), ("float32", 10 + 2)])
def test_a_larger_tolerance_requires_more_fits(dtype: str, by_chance: int) -> None:
    """In float32, residuals are more often within the tolerance by chance."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((1000, 40, 30)).astype(dtype)
    problem = Problem(as_operator(A), rng.standard_normal(1000).astype(dtype), 10)
    assert problem.degrees_of_freedom == 600
    assert required_fits(problem, 1000) == 600 + by_chance
