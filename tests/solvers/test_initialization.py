"""The spectral initialization, with and without sample split, against the paper's formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robustrank.metrics import balance
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers.base import point_of_factors, spectral_initialization
from robustrank.solvers.weights import TruncatedWeights, UniformWeights
from robustrank.theory import truncated_second_moment

Array = np.ndarray[Any, Any]


def median_by_definition(values: Array) -> float:
    return float(np.sort(values)[(len(values) - 1) // 2])


def surrogate(A: Array, y: Array, reference: Array, alpha: float) -> Array:
    """(1/m) Σ y_i A_i 1{|y_i| ≤ α med(|reference|)}, term by term."""
    threshold = alpha * median_by_definition(np.abs(reference))
    total = np.zeros(A.shape[1:])
    for A_i, y_i in zip(A, y, strict=True):
        if abs(y_i) <= threshold:
            total += y_i * A_i
    return total / len(y)


def initial_matrix(planted: Planted, alpha: float, *, split: bool, y: Array | None = None) -> Array:
    problem = Problem(as_operator(planted.A), planted.y if y is None else y, planted.rank)
    U0, V0 = spectral_initialization(
        problem, TruncatedWeights(alpha), np.random.default_rng(0), sample_split=split
    )
    assert np.allclose(U0.T @ U0, V0.T @ V0)  # U0 = C_L Σ^½ and V0 = C_R Σ^½ are balanced
    return U0 @ V0.T  # type: ignore[no-any-return]


def best_rank(K: Array, rank: int) -> Array:
    left, values, right = np.linalg.svd(K)
    return (left[:, :rank] * values[:rank]) @ right[:rank]  # type: ignore[no-any-return]


@pytest.mark.parametrize("m", [400, 401])
def test_equ_initial_matrix_with_sample_split(m: int) -> None:
    planted = plant(20, 15, 2, m, outliers=0.05, rng=3)
    m1 = (m + 1) // 2
    K = surrogate(planted.A[:m1], planted.y[:m1], planted.y[m1:], 3.0)
    assert np.allclose(initial_matrix(planted, 3.0, split=True), best_rank(K, 2), atol=1e-10)


def test_equ_initial_matrix_algorithm_without_split(small: Planted) -> None:
    K = surrogate(small.A, small.y, small.y, 12.0)
    assert np.allclose(initial_matrix(small, 12.0, split=False), best_rank(K, 2), atol=1e-10)


def test_sample_split_changes_the_result(small: Planted) -> None:
    assert not np.allclose(
        initial_matrix(small, 3.0, split=True), initial_matrix(small, 3.0, split=False), rtol=1e-3
    )


def test_sample_split_takes_the_threshold_from_the_second_half(small: Planted) -> None:
    y = small.y.copy()
    y[200:] *= 1e6  # it only sets the threshold, here so large that nothing is truncated
    K = surrogate(small.A[:200], small.y[:200], y[200:], 12.0)
    assert np.allclose(initial_matrix(small, 12.0, split=True, y=y), best_rank(K, 2), atol=1e-8)


def test_sample_split_ignores_the_sensing_data_of_the_second_half(small: Planted) -> None:
    changed = replace(small, A=small.A.copy())
    changed.A[200:] = 7.0
    expected = initial_matrix(small, 12.0, split=True)
    assert np.allclose(initial_matrix(changed, 12.0, split=True), expected, atol=1e-12)
    assert not np.allclose(initial_matrix(changed, 12.0, split=False), expected, rtol=1e-3)


@pytest.mark.parametrize("split", [True, False])
def test_initialization_takes_one_pass(small: Planted, split: bool) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    before = problem.counter.passes
    function, rng = TruncatedWeights(12.0), np.random.default_rng(0)
    spectral_initialization(problem, function, rng, sample_split=split)
    assert problem.counter.passes - before == 1


def test_point_of_factors_is_their_product(small: Planted) -> None:
    problem = Problem(as_operator(small.A), small.y, 2)
    U0, V0 = spectral_initialization(problem, TruncatedWeights(12.0), np.random.default_rng(0))
    point = point_of_factors(U0, V0)
    assert np.allclose(point.scaled_left @ point.right.T, U0 @ V0.T)
    for basis in (point.left, point.right):
        assert np.allclose(basis.T @ basis, np.eye(2))


def test_point_of_zero_factors_is_finite() -> None:
    point = point_of_factors(np.zeros((5, 2)), np.zeros((4, 2)))
    assert np.isfinite(point.left).all()
    assert np.array_equal(point.values, np.zeros(2))


def test_sample_split_of_one_measurement_raises() -> None:
    problem = Problem(as_operator(np.ones((1, 1, 1))), np.ones(1), 1)
    with pytest.raises(ValueError, match="at least two"):
        spectral_initialization(
            problem, UniformWeights(), np.random.default_rng(0), sample_split=True
        )


def test_proposition_concentration_of_the_surrogate() -> None:
    """‖K − (1−s) γ2 M‖ decreases like m^(−½), and huge outliers have no effect."""
    errors = []
    for m in (1000, 16000):
        planted = plant(12, 10, 1, m, outliers=0.02, rng=9)
        alpha = 6.0
        K = surrogate(planted.A, planted.y, planted.y, alpha)
        norm = float(np.linalg.norm(planted.matrix))
        gamma2 = truncated_second_moment(alpha * median_by_definition(np.abs(planted.y)) / norm)
        errors.append(np.linalg.norm(K - 0.98 * gamma2 * planted.matrix, 2) / norm)
    assert errors[1] < 0.1
    assert errors[1] / errors[0] < 0.5  # a quarter is expected


def test_theorem_2_initialization_is_in_the_basin_with_enough_measurements() -> None:
    planted = plant(10, 8, 1, 30000, outliers=0.01, outlier_model="huge", rng=4)
    problem = Problem(as_operator(planted.A), planted.y, 1)
    U0, V0 = spectral_initialization(
        problem, TruncatedWeights(6.2), np.random.default_rng(0), sample_split=True
    )
    Z = np.concatenate(balance(planted.left, planted.right))
    W0 = np.concatenate([U0, V0])
    distance = min(np.linalg.norm(W0 - Z), np.linalg.norm(W0 + Z))
    assert distance <= np.linalg.norm(Z, 2) / 24
