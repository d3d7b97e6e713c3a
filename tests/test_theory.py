"""The paper's constants agree with their definitions and with the numbers that it prints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from robustrank import theory
from robustrank.operators import as_operator
from robustrank.simulate import plant
from robustrank.solvers import MedianTGD


@pytest.mark.parametrize("cut", [0.3, 1.0, 3.9, 8.0])
def test_truncated_second_moment_agrees_with_the_integral(cut: float) -> None:
    integral = quad(lambda x: x**2 * norm.pdf(x), -cut, cut)[0]
    assert theory.truncated_second_moment(cut) == pytest.approx(integral, abs=1e-9)


def test_balance_weight_of_theorem_1() -> None:
    # The paper prints γ1 ≈ 0.998348; the integral is 0.998354, so its sixth digit is wrong.
    assert 4 * theory.balance_weight(6.0) == pytest.approx(0.998348, abs=1e-5)
    assert theory.balance_weight(6.0) == pytest.approx(
        quad(lambda x: x**2 * norm.pdf(x), -3.9, 3.9)[0] / 4, abs=1e-9
    )


def test_balance_weight_tends_to_that_of_vanilla_gradient_descent() -> None:
    assert theory.balance_weight(100.0) == pytest.approx(0.25)


def test_start_truncation_of_theorem_2() -> None:
    assert theory.start_truncation(5, 2.0) == pytest.approx(2 * math.log(5**0.25 * 2**0.5 + 20))


def test_start_truncation_keeps_the_tail_below_the_bound_of_theorem_2() -> None:
    # The proof requires 1 − γ2 ≤ 1/(35 √r κ̄), with the median at least 0.65 ‖M‖.
    for rank in (1, 5, 50):
        for kappa in (1.0, 10.0):
            alpha = theory.start_truncation(rank, kappa)
            tail = 1 - theory.truncated_second_moment(0.65 * alpha)
            assert tail <= 1 / (35 * math.sqrt(rank) * kappa)


def test_step_bound_and_contraction_factor_of_theorem_1() -> None:
    assert pytest.approx(1 / 740) == theory.MAX_STEP_SIZE
    assert theory.contraction_factor(1 / 740, 3.0) == pytest.approx((1 - 1 / 740 / 30) ** 0.5)
    with pytest.raises(ValueError, match=r"outside Theorem 1; expected 0 < μ ≤ 1/740"):
        theory.contraction_factor(0.4, 1.0)


def test_sample_orders() -> None:
    n = 135
    assert theory.local_sample_order(150, 120, 5) == pytest.approx(n * 5 * math.log(n))
    alpha = theory.start_truncation(5, 2.0)
    assert theory.start_sample_order(150, 120, 5, 2.0) == pytest.approx(
        alpha**2 * 4 * n * 25 * math.log(n)
    )
    assert theory.start_outlier_order(4, 2.0) == pytest.approx(0.25)


def test_condition_numbers_agree_with_their_definitions() -> None:
    values = [4.0, 2.0, 1.0]
    assert theory.condition_number(values) == 4.0
    assert theory.average_condition_number(values) == pytest.approx(math.sqrt(21 / 3))
    assert theory.average_condition_number(values) <= theory.condition_number(values)
    assert theory.average_condition_number([2.0, 2.0]) == pytest.approx(1.0)


def test_degrees_of_freedom_are_the_dimension_of_the_tangent_space() -> None:
    # At a random point, the dimension is the rank of a matrix of tangent vectors.
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    tangent = np.concatenate([np.kron(np.eye(6), V), np.kron(U, np.eye(5)).reshape(30, -1)], axis=1)
    assert np.linalg.matrix_rank(tangent) == theory.degrees_of_freedom(6, 5, 2)


def test_red_line_rank_and_measurements_are_inverse() -> None:
    assert theory.red_line_rank(2700, 150, 120, 0.05) == pytest.approx(9.5)
    assert theory.red_line_measurements(5, 150, 120, 0.05) == pytest.approx(1421.05, abs=0.01)
    there_and_back = theory.red_line_measurements(9.5, 150, 120, 0.05)  # type: ignore[arg-type]
    assert there_and_back == pytest.approx(2700)


def test_half_normal_quantiles_of_proposition_1() -> None:
    printed = [0.6588, 0.6745, 0.6903]
    assert [
        round(theory.half_normal_quantile(p), 4) for p in theory.CONCENTRATION_LEVELS
    ] == printed


def test_medians_concentrate_as_in_proposition_1() -> None:
    few, many = (
        theory.check_median_concentration(
            as_operator(plant(12, 10, 1, m, rng=2).A), rank=2, draws=20, rng=3
        ).worst
        for m in (500, 20000)
    )
    assert many < 0.025
    assert many < few / 2  # the deviation decreases like m^(−½)


def test_concentration_check_works_with_every_library(xp: Any) -> None:
    A = plant(6, 5, 1, 200, rng=2).A
    found, expected = (
        theory.check_median_concentration(as_operator(data), rank=1, draws=3, rng=4)
        for data in (xp.asarray(A), A)
    )
    assert np.allclose(found.observed, expected.observed)
    assert found.expected == tuple(map(theory.half_normal_quantile, found.levels))


def test_theory_preset_has_the_constants_of_the_theorems() -> None:
    solver = MedianTGD.theory(rank=5, average_condition=2.0)
    assert solver.alpha_h == 6.0
    assert solver.alpha_y == theory.start_truncation(5, 2.0)
    assert solver.step_size == theory.MAX_STEP_SIZE
    assert solver.lam == theory.balance_weight(6.0)
    assert solver.sample_split
    assert solver.tolerance == 0.0


def test_defaults_are_the_values_of_the_papers_experiments() -> None:
    solver = MedianTGD()
    assert (solver.alpha_y, solver.alpha_h, solver.step_size) == (12.0, 6.0, 0.4)
    assert solver.max_iterations == 10_000
    assert not solver.sample_split
