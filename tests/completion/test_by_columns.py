"""Robust PCA by blocks of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.completion import Watch, by_columns
from robustrank.completion.by_columns import as_numbers, fit_columns, solve_by_columns
from robustrank.run import Run

WATCH = Watch(Run())


def problem(n1: int = 30, n2: int = 50) -> tuple[Any, Any, Any]:
    """A matrix of rank 2, its left factor, and where a tenth of it has outliers."""
    rng = np.random.default_rng(3)
    left, right = rng.standard_normal((n1, 2)), rng.standard_normal((n2, 2))
    outliers = rng.random((n1, n2)) < 0.1
    return left @ right.T + np.where(outliers, 30.0, 0.0), left, outliers


@pytest.mark.parametrize("block", [1, 60, 10**6])
def test_blocks_of_any_size_give_the_same_columns(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_columns, "_BLOCK", block)
    X, left, outliers = problem()
    right, inliers, decided = fit_columns(X, left, 1e-6, 1.5, WATCH)
    np.testing.assert_array_equal(inliers, ~outliers)
    assert decided.all()
    np.testing.assert_allclose((left @ right.T)[~outliers], X[~outliers], atol=1e-6)


def test_a_column_without_a_majority_is_not_decided() -> None:
    X, left, _ = problem()
    X[:16, 5] = 100 * np.random.default_rng(1).standard_normal(16)
    _, _, decided = fit_columns(X, left, 1e-6, 1.5, WATCH)
    assert np.flatnonzero(~decided).tolist() == [5]


@pytest.mark.parametrize("fitted", [15, 16])
def test_a_majority_of_an_odd_number_decides(fitted: int) -> None:
    """Sixteen of 31 are a majority."""
    rng = np.random.default_rng(4)
    left = rng.standard_normal((31, 2))
    X = left @ rng.standard_normal((2, 6))
    X[fitted:, 3] = 50 + 20 * rng.standard_normal(31 - fitted)
    _, _, decided = fit_columns(X, left, 1e-6, 1.5, WATCH)
    assert np.delete(decided, 3).all()
    assert decided[3] == (fitted == 16)


def test_the_factor_of_some_columns_explains_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_columns, "_COLUMNS", 40)
    monkeypatch.setattr(by_columns, "_ENTRIES", 0)
    X, _, outliers = problem(30, 80)
    solution = solve_by_columns(X, 2, np.random.default_rng(0), WATCH)
    inliers = solution.inliers.reshape(30, 80)
    np.testing.assert_array_equal(inliers, ~outliers)
    fitted = np.asarray(solution.left) @ np.asarray(solution.right).T
    np.testing.assert_allclose(fitted[inliers], X[inliers], atol=1e-6)
    np.testing.assert_array_equal(solution.support.fitted, solution.inliers)
    assert solution.support.columns.all()
    assert 0.5 < solution.typical / X[~outliers].std() < 1.5


def test_too_large_numbers_become_infinite_and_integers_floating() -> None:
    found = as_numbers(np.asarray([[1.0, np.inf], [-1e300, 2.0]]).T)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, [[1, np.inf], [np.inf, 2]])
    assert as_numbers(np.asarray([[1, 2]])).dtype == np.float64
