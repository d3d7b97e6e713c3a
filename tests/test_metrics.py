"""Errors of an estimate with respect to the true solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

import robustrank as rr
from robustrank.metrics import (
    balance,
    evaluate,
    factor_distance,
    normalized_error,
    score_outliers,
)
from robustrank.simulate import Planted

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((9, 3)), rng.standard_normal((7, 3))
Array = np.ndarray[Any, Any]


def test_normalized_error_is_a_ratio_of_frobenius_norms() -> None:
    U, V = X + 0.1 * rng.standard_normal(X.shape), Y + 0.1 * rng.standard_normal(Y.shape)
    direct = np.linalg.norm(U @ V.T - X @ Y.T) / np.linalg.norm(X @ Y.T)
    assert normalized_error((U, V), (X, Y)) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("size", [1e-140, 1.0, 1e140])
def test_normalized_error_of_a_tiny_difference_is_accurate_at_any_scale(size: float) -> None:
    U = X.copy()
    U[0, 0] *= 1 + 1e-13
    error = normalized_error((U * size, Y), (X * size, Y))
    exact = abs(U[0, 0] - X[0, 0]) * np.linalg.norm(Y[:, 0]) / np.linalg.norm(X @ Y.T)
    assert error == pytest.approx(exact, rel=0.5)
    assert error < 1e-13


def test_normalized_error_accepts_different_ranks_and_every_library(xp: Any) -> None:
    wide = (np.pad(X, ((0, 0), (0, 2))), np.pad(Y, ((0, 0), (0, 2))))
    estimate = tuple(xp.asarray(part) for part in wide)
    assert normalized_error(estimate, (xp.asarray(X), xp.asarray(Y))) < 1e-14


def test_relative_error_of_a_zero_matrix_raises() -> None:
    with pytest.raises(ValueError, match="the true matrix is zero, so the relative error is"):
        normalized_error((X, Y), (0 * X, Y))


@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_distance_is_invariant_to_rotations_and_to_the_scale_between_factors(
    seed: int, gamma: float
) -> None:
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


def test_distance_pads_the_smaller_rank_with_zeros() -> None:
    wide = (np.pad(X, ((0, 0), (0, 1))), np.pad(Y, ((0, 0), (0, 1))))
    assert factor_distance(balance(X, Y), wide) < 1e-12


def test_outlier_score_counts_hits_misses_and_false_positives() -> None:
    score = score_outliers([True, True, False, False], np.asarray([True, False, True, False]))
    assert (score.found, score.false_positives, score.missed) == (1, 1, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)


def test_outlier_score_without_outliers_is_one() -> None:
    score = score_outliers(np.zeros(3, bool), np.zeros(3, bool))
    assert (score.precision, score.recall) == (1.0, 1.0)


def test_outlier_score_of_unequal_lengths_raises() -> None:
    with pytest.raises(ValueError, match="expected the same shape"):
        score_outliers(np.zeros(3, bool), np.zeros(4, bool))


def test_evaluation_combines_the_error_and_the_outlier_score(xp: Any, small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2)
    moved = replace(
        result,
        left=xp.asarray(1.5 * result.left),
        right=xp.asarray(result.right),
        outliers=xp.asarray(~result.outliers),
    )
    evaluation = evaluate(moved, small)
    assert evaluation.error == pytest.approx(0.5)
    score = evaluation.outliers
    assert (score.found, score.missed, score.false_positives) == (0, 20, 380)
    assert (score.precision, score.recall) == (0.0, 0.0)


def test_factors_of_different_widths_are_compared_as_if_with_columns_of_zeros() -> None:
    rng = np.random.default_rng(4)
    wide = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    narrow = wide[0][:, :1], wide[1][:, :1]
    left, right = (np.pad(factor, ((0, 0), (0, 2))) for factor in narrow)
    expected = factor_distance((left, right), wide)
    assert expected > 0.1
    assert factor_distance(narrow, wide) == pytest.approx(expected)
