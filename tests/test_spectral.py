"""The truncated spectral start, both forms, against the formulas written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.metrics import balance
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import Planted, plant
from robustrank.solvers.initialization import spectral_initialization
from robustrank.solvers.weights import TruncatedWeights, UniformWeights
from robustrank.theory import truncated_second_moment

Array = np.ndarray[Any, Any]


def median_by_definition(values: Array) -> float:
    return float(np.sort(values)[(len(values) - 1) // 2])


def surrogate(A: Array, y: Array, judges: Array, alpha: float) -> Array:
    """(1/m) Σ y_i A_i 1{|y_i| ≤ α med(|judges|)}, term by term."""
    total = np.zeros(A.shape[1:])
    for A_i, y_i in zip(A, y, strict=True):
        if abs(y_i) <= alpha * median_by_definition(np.abs(judges)):
            total += y_i * A_i
    return total / len(y)


def start(planted: Planted, alpha: float, *, split: bool, y: Array | None = None) -> Array:
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
    assert np.allclose(start(planted, 3.0, split=True), best_rank(K, 2), atol=1e-10)


def test_equ_initial_matrix_algorithm_without_split(small: Planted) -> None:
    K = surrogate(small.A, small.y, small.y, 12.0)
    assert np.allclose(start(small, 12.0, split=False), best_rank(K, 2), atol=1e-10)


def test_the_two_forms_differ(small: Planted) -> None:
    assert not np.allclose(start(small, 3.0, split=True), start(small, 3.0, split=False), rtol=1e-3)


def test_split_judges_by_the_second_half_alone(small: Planted) -> None:
    y = small.y.copy()
    y[200:] *= 1e6  # the second half only sets the threshold, here one that lets everything pass
    K = surrogate(small.A[:200], small.y[:200], y[200:], 12.0)
    assert np.allclose(start(small, 12.0, split=True, y=y), best_rank(K, 2), atol=1e-8)


def test_split_reads_only_half_of_the_data(small: Planted) -> None:
    operator = as_operator(small.A)
    problem = Problem(operator, small.y, 2)
    before = operator.passes
    rule, rng = TruncatedWeights(12.0), np.random.default_rng(0)
    spectral_initialization(problem, rule, rng, sample_split=True)
    assert operator.passes - before == 0.5
    spectral_initialization(problem, rule, rng)
    assert operator.passes - before == 1.5


def test_split_of_one_measurement_is_refused() -> None:
    problem = Problem(as_operator(np.ones((1, 1, 1))), np.ones(1), 1)
    with pytest.raises(ValueError, match="at least two"):
        spectral_initialization(
            problem, UniformWeights(), np.random.default_rng(0), sample_split=True
        )


def test_proposition_concentration_of_the_surrogate() -> None:
    """‖K − (1−s) γ2 M‖ falls like m^(−½), and huge outliers do not enter."""
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


def test_theorem_2_start_lies_in_the_basin_with_enough_measurements() -> None:
    planted = plant(10, 8, 1, 30000, outliers=0.01, outlier_model="huge", rng=4)
    problem = Problem(as_operator(planted.A), planted.y, 1)
    U0, V0 = spectral_initialization(
        problem, TruncatedWeights(6.2), np.random.default_rng(0), sample_split=True
    )
    Z = np.concatenate(balance(planted.left, planted.right))
    W0 = np.concatenate([U0, V0])
    distance = min(np.linalg.norm(W0 - Z), np.linalg.norm(W0 + Z))
    assert distance <= np.linalg.norm(Z, 2) / 24
