"""New rows on the column space of a completed matrix."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.new_rows import fit_new_rows

CUTOFF, DEVIATION, KNOWN = 2.0, 3.0, np.ones(24, bool)


def test_a_row_does_not_depend_on_the_others() -> None:
    """Not even if half of its entries contradict the other half, so that the start decides."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((24, 3))
    one, other = (4 * rng.standard_normal((30, 3)) @ V.T for _ in range(2))
    rows = np.where(np.arange(24) % 2, one, other) + rng.standard_normal((30, 24))
    alone = np.concatenate(
        [fit_new_rows(row[None], V, KNOWN, CUTOFF, DEVIATION).left for row in rows], axis=0
    )
    others = 100 * rng.standard_normal((40, 24))
    together = fit_new_rows(np.concatenate([others, rows]), V, KNOWN, CUTOFF, DEVIATION)
    assert 0 < len(together.undecided) < 70
    np.testing.assert_allclose(together.left[40:], alone, rtol=1e-9)


def exact_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Column space, coefficients, and rows with missing entries."""
    rng = np.random.default_rng(0)
    V, P = rng.standard_normal((20, 3)), 3 * rng.standard_normal((10, 3))
    X = np.where(rng.random((10, 20)) < 0.8, P @ V.T, np.nan)
    return V, P, X


def test_missing_entries_are_completed_and_outliers_found() -> None:
    V, P, X = exact_rows()
    X[2, np.flatnonzero(np.isfinite(X[2]))[:3]] += 50
    X[4, np.flatnonzero(np.isfinite(X[4]))[0]] = np.inf
    found = fit_new_rows(X, V, np.ones(20, bool), 1e-6, DEVIATION)
    np.testing.assert_allclose(found.matrix, P @ V.T, atol=1e-6)
    expected = ~(np.abs(X - P @ V.T) < 1) & ~np.isnan(X)
    np.testing.assert_array_equal(found.outliers, expected)
    assert found.outliers.sum() == 4
    assert len(found.undecided) == 0


@pytest.mark.parametrize(("entries", "undecided"), [(0, True), (4, True), (5, False)])
def test_a_row_needs_two_entries_more_than_unknowns(entries: int, undecided: bool) -> None:
    V, P, X = exact_rows()
    X[1] = np.where(np.arange(20) < entries, P[1] @ V.T, np.nan)
    found = fit_new_rows(X, V, np.ones(20, bool), 1e-6, DEVIATION)
    assert found.undecided.tolist() == ([1] if undecided else [])
    assert found.left[1].any() != undecided
    assert not found.outliers[1].any()


def test_a_row_without_a_majority_is_undecided() -> None:
    V, P, X = exact_rows()
    rng = np.random.default_rng(1)
    X[1] = P[1] @ V.T
    X[1, :10] = 100 * rng.standard_normal(10)  # half of it
    assert fit_new_rows(X, V, np.ones(20, bool), 1e-6, DEVIATION).undecided.tolist() == [1]
    X[1, 9] = P[1] @ V[9]
    assert fit_new_rows(X, V, np.ones(20, bool), 1e-6, DEVIATION).undecided.tolist() == []


def test_shape_of_the_rows() -> None:
    with pytest.raises(ValueError, match=r"X has shape \(3, 19\); expected \(rows, 20\)"):
        fit_new_rows(np.ones((3, 19)), exact_rows()[0], np.ones(20, bool), 1.0, 1.0)
