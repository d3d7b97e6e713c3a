"""Errors against a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from robustrank.metrics import balance, factor_distance, normalized_error, score_outliers

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((9, 3)), rng.standard_normal((7, 3))
Array = np.ndarray[Any, Any]


def test_normalised_error_is_the_frobenius_ratio() -> None:
    U, V = X + 0.1 * rng.standard_normal(X.shape), Y + 0.1 * rng.standard_normal(Y.shape)
    direct = np.linalg.norm(U @ V.T - X @ Y.T) / np.linalg.norm(X @ Y.T)
    assert normalized_error((U, V), (X, Y)) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("size", [1e-140, 1.0, 1e140])
def test_normalised_error_of_a_tiny_difference_at_any_scale(size: float) -> None:
    U = X.copy()
    U[0, 0] *= 1 + 1e-13
    error = normalized_error((U * size, Y), (X * size, Y))
    exact = abs(U[0, 0] - X[0, 0]) * np.linalg.norm(Y[:, 0]) / np.linalg.norm(X @ Y.T)
    assert error == pytest.approx(exact, rel=0.5)
    assert error < 1e-13


def test_normalised_error_between_different_ranks_and_libraries(xp: Any) -> None:
    wide = (np.pad(X, ((0, 0), (0, 2))), np.pad(Y, ((0, 0), (0, 2))))
    estimate = tuple(xp.asarray(part) for part in wide)
    assert normalized_error(estimate, (xp.asarray(X), xp.asarray(Y))) < 1e-14


def test_error_against_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="zero"):
        normalized_error((X, Y), (0 * X, Y))


@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_distance_ignores_rotation_and_the_scale_between_factors(seed: int, gamma: float) -> None:
    P = ortho_group.rvs(3, random_state=seed)
    Xb, Yb = balance(X, Y)
    assert factor_distance((Xb @ P, Yb @ P), (gamma * X, Y / gamma)) < 1e-12


def test_balanced_factors_have_equal_gram_matrices_and_the_same_product() -> None:
    Xb, Yb = balance(X, Y)
    assert np.allclose(Xb.T @ Xb, Yb.T @ Yb)
    assert np.allclose(Xb @ Yb.T, X @ Y.T)


def test_distance_is_the_minimum_over_rotations() -> None:
    Z = np.concatenate(balance(X, Y))
    W = Z + 0.3 * rng.standard_normal(Z.shape)
    distance = factor_distance((W[:9], W[9:]), (X, Y))
    candidates = [np.linalg.norm(W - Z @ ortho_group.rvs(3, random_state=k)) for k in range(200)]
    assert distance <= min([*candidates, np.linalg.norm(W - Z)])
    assert distance > 0


def test_distance_pads_the_smaller_rank() -> None:
    wide = (np.pad(X, ((0, 0), (0, 1))), np.pad(Y, ((0, 0), (0, 1))))
    assert factor_distance(balance(X, Y), wide) < 1e-12


def test_outlier_score_counts() -> None:
    score = score_outliers([True, True, False, False], np.asarray([True, False, True, False]))
    assert (score.found, score.false_positives, score.missed) == (1, 1, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)


def test_outlier_score_of_nothing_is_perfect() -> None:
    score = score_outliers(np.zeros(3, bool), np.zeros(3, bool))
    assert (score.precision, score.recall) == (1.0, 1.0)


def test_outlier_score_of_unequal_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the same"):
        score_outliers(np.zeros(3, bool), np.zeros(4, bool))
