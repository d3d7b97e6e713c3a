"""Rows fitted robustly to a column space that is known."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.new_rows import fit_majorities, fit_rows
from robustrank.operators import SortedEntries

RNG = np.random.default_rng(8)
Q, TRUTH = RNG.standard_normal((25, 3)), RNG.standard_normal((30, 3))
ENTRIES = SortedEntries(25 * np.arange(31), np.tile(np.arange(25, dtype=np.int32), 30))


def values(outliers: int, noise: float = 0.0) -> np.ndarray:
    """The rows as one vector, with outliers in the first entries of each."""
    rng = np.random.default_rng(9)
    rows = TRUTH @ Q.T + noise * rng.standard_normal((30, 25))
    rows[:, :outliers] += 20 * rng.standard_normal((30, outliers))
    return rows.reshape(-1)


@pytest.mark.parametrize("outliers", [0, 5])
def test_rows_are_found_despite_outliers(outliers: int) -> None:
    found = fit_rows(ENTRIES, values(outliers), Q, 1e-6, 2.0)
    np.testing.assert_allclose(found, TRUTH, atol=1e-6)


def test_without_outliers_the_noise_is_averaged_as_by_least_squares() -> None:
    noisy = values(0, noise=0.1)
    found = fit_rows(ENTRIES, noisy, Q, 10.0, 2.0)
    expected = np.linalg.lstsq(Q, noisy.reshape(30, 25).T, rcond=None)[0].T
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_a_row_without_entries_is_zero() -> None:
    entries = SortedEntries(np.asarray([0, 0, 25]), np.arange(25, dtype=np.int32))
    found = fit_rows(entries, values(0)[:25], Q, 1e-6, 2.0)
    assert not found[0].any()
    np.testing.assert_allclose(found[1], TRUTH[0], atol=1e-6)


def test_only_some_rows_are_solved_from_random_subsets() -> None:
    """Weights of the width of the cutoff do not find rows with that share of outliers."""
    X, used = values(12).reshape(30, 25), np.ones((30, 25), bool)
    found = fit_majorities(X, used, Q, 1e-9, 1e-9, most=0)[2]
    assert not found.any()
    P, fits, decided = fit_majorities(X, used, Q, 1e-9, 1e-9, most=3)
    assert np.flatnonzero(decided).tolist() == [0, 1, 2]
    np.testing.assert_allclose(P[:3], TRUTH[:3], atol=1e-9)
    np.testing.assert_array_equal(fits[:3], np.tile(np.arange(25) >= 12, (3, 1)))
    assert fit_majorities(X, used, Q, 1e-9, 1e-9)[2].all()
