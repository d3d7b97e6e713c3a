"""Which rows and columns are determined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from completion_samples import in_row_order, planted_sample, sample_of

from robustrank.completion.sample import Sample
from robustrank.completion.support import (
    Support,
    _distances_from_common_change,
    _solve_sylvester,
    supported_part,
)
from robustrank.linalg import point_of
from robustrank.simulate import PlantedEntries, plant_entries


def support(
    planted: PlantedEntries, sample: Sample, rank: int = 2, agreeing: float = 0.0
) -> Support:
    """The part of the true matrix that the clean entries determine."""
    left, right = planted.left, planted.right
    for _ in range(rank - left.shape[1]):  # a surplus column that is zero on the entries
        left, right = (np.column_stack([part, np.zeros(len(part))]) for part in (left, right))
    inliers = in_row_order(planted, ~planted.outliers)
    rng = np.random.default_rng(1)
    return supported_part(sample, point_of(left, right), inliers, rng, agreeing=agreeing)


def kept(planted: PlantedEntries, which: Any) -> PlantedEntries:
    """The problem with some of its entries."""
    names = ("rows", "columns", "values", "outliers")
    return replace(planted, **{name: getattr(planted, name)[which] for name in names})


def test_everything_is_determined_by_enough_entries() -> None:
    planted, sample = planted_sample(entries=700, outliers=0.1)
    part = support(planted, sample)
    assert part.rows.all()
    assert part.columns.all()
    np.testing.assert_array_equal(part.inliers, in_row_order(planted, ~planted.outliers))


def test_row_with_a_majority_of_outliers_is_not_determined() -> None:
    planted, sample = planted_sample()
    row = np.flatnonzero(planted.rows == 3)
    planted.outliers[row[: len(row) // 2 + 1]] = True
    assert np.flatnonzero(~support(planted, sample).rows).tolist() == [3]


@pytest.mark.parametrize("left", [0, 2, 3])
def test_row_with_too_few_entries_is_not_determined(left: int) -> None:
    planted, _ = planted_sample()
    drop = np.flatnonzero(planted.rows == 3)[left:]
    part = kept(planted, np.setdiff1d(np.arange(len(planted.rows)), drop))
    found = support(part, sample_of(part))
    assert not found.rows[3]
    assert found.rows.sum() == 39


def test_an_entry_that_nothing_checks_does_not_count() -> None:
    """Row 3 has four entries, but only one in a column that tells its second unknown."""
    n1, n2 = 40, 30
    planted = plant_entries(n1, n2, 2, n1 * n2, rng=1)
    right = planted.right.copy()
    right[:10, 1] = 0  # the first columns do not depend on the second unknown
    keep = (planted.rows != 3) | np.isin(planted.columns, [0, 1, 2, 20])
    part = replace(kept(planted, keep), right=right)
    found = support(part, sample_of(part))
    assert np.flatnonzero(~found.rows).tolist() == [3]
    assert found.columns.all()


def test_blocks_without_common_rows_are_not_determined_together() -> None:
    planted = plant_entries(40, 30, 2, 1200, rng=1)
    keep = (planted.rows < 25) == (planted.columns < 18)
    part = kept(planted, keep)
    found = support(part, sample_of(part))
    assert not (found.rows[:25].any() and found.rows[25:].any())


def test_surplus_column_is_not_determined() -> None:
    planted, sample = planted_sample()
    found = support(planted, sample, rank=3)
    assert found.is_empty


@pytest.mark.parametrize(("agreeing", "determined"), [(0.0, True), (0.02, True), (0.3, False)])
def test_row_that_agreeing_outliers_could_determine_by_chance(
    agreeing: float, determined: bool
) -> None:
    """Row 3 has ten entries and two unknowns."""
    planted, _ = planted_sample(entries=900)
    drop = np.flatnonzero(planted.rows == 3)[10:]
    part = kept(planted, np.setdiff1d(np.arange(len(planted.rows)), drop))
    assert support(part, sample_of(part), agreeing=agreeing).rows[3] == determined


def test_sylvester_equation() -> None:
    rng = np.random.default_rng(1)
    A, B, C = (rng.standard_normal((3, 3)) for _ in range(3))
    A, B = A @ A.T, B @ B.T
    expected = scipy.linalg.solve_sylvester(A, B, C)
    np.testing.assert_allclose(_solve_sylvester(A, B, C), expected, rtol=1e-8)


def test_sylvester_equation_that_is_singular() -> None:
    """The smallest solution, where SciPy would return numbers of the size 1e16."""
    A, B = np.diag([2.0, 0.0]), np.diag([3.0, 0.0])
    K = _solve_sylvester(A, B, np.ones((2, 2)))
    np.testing.assert_allclose(K, [[1 / 5, 1 / 2], [1 / 3, 0]])


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-21), ("float64", 1e-170)])
def test_rows_of_the_factors_may_be_tiny(dtype: str, tiny: float) -> None:
    """The square of their size is not a number of the dtype."""
    rng = np.random.default_rng(1)
    U, V = (rng.standard_normal((n, 2)) for n in (9, 7))
    K = rng.standard_normal((2, 2))
    dU, dV = U @ K, -V @ K.T
    dU[4] += [1.0, 2.0]  # no common change
    U[3], dU[3] = tiny * U[3], tiny * dU[3]
    changes, factors = ((a.astype(dtype), b.astype(dtype)) for a, b in ((dU, dV), (U, V)))
    rows = np.ones(9, bool), np.ones(7, bool)
    errors = _distances_from_common_change(changes, factors, rows)
    expected = np.where(np.arange(9) == 4, np.sqrt(5), 0.0)
    np.testing.assert_allclose(errors[0], expected, atol=1e-4)
    np.testing.assert_allclose(errors[1], 0, atol=1e-4)
    assert errors[0][3] < 1e-4 * tiny


@pytest.mark.parametrize(("rows", "columns"), [(True, False), (False, True), (False, False)])
def test_a_part_without_rows_or_without_columns_is_empty(rows: bool, columns: bool) -> None:
    assert Support(np.array([rows]), np.array([columns]), np.array([True])).is_empty
    assert not Support(np.array([True]), np.array([True]), np.array([True])).is_empty
