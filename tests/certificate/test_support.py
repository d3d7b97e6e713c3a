"""Which rows and columns are determined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robustrank.certificate import Support, supported_part
from robustrank.linalg import TangentMap, point_of
from robustrank.operators import Entries, as_operator
from robustrank.simulate import PlantedEntries, plant_entries


def planted_entries(entries: int = 700, outliers: float = 0.0) -> PlantedEntries:
    return plant_entries(40, 30, 2, entries, outliers=outliers, rng=1)


def support(planted: PlantedEntries, rank: int = 2, agreeing: float = 0.0) -> Support:
    """The part of the true matrix that the clean entries determine."""
    left, right = planted.left, planted.right
    for _ in range(rank - left.shape[1]):  # a surplus column that is zero on the entries
        left, right = (np.column_stack([part, np.zeros(len(part))]) for part in (left, right))
    point = point_of(left, right)
    tangent = Entries(planted.rows, planted.columns, planted.shape).tangent(point.left, point.right)
    count = agreeing * len(planted.values)
    return supported_part(tangent, ~planted.outliers, agreeing=count)


def kept(planted: PlantedEntries, which: Any) -> PlantedEntries:
    """The problem with some of its entries."""
    names = ("rows", "columns", "values", "outliers")
    return replace(planted, **{name: getattr(planted, name)[which] for name in names})


def test_everything_is_determined_by_enough_entries() -> None:
    planted = planted_entries(outliers=0.1)
    part = support(planted)
    assert part.rows.all()
    assert part.columns.all()
    np.testing.assert_array_equal(part.fitted, ~planted.outliers)


def test_row_with_a_majority_of_outliers_is_not_determined() -> None:
    planted = planted_entries()
    row = np.flatnonzero(planted.rows == 3)
    planted.outliers[row[: len(row) // 2 + 1]] = True
    assert np.flatnonzero(~support(planted).rows).tolist() == [3]


@pytest.mark.parametrize("left", [0, 2, 3])
def test_row_with_too_few_entries_is_not_determined(left: int) -> None:
    planted = planted_entries()
    drop = np.flatnonzero(planted.rows == 3)[left:]
    part = kept(planted, np.setdiff1d(np.arange(len(planted.rows)), drop))
    found = support(part)
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
    found = support(part)
    assert np.flatnonzero(~found.rows).tolist() == [3]
    assert found.columns.all()


def test_blocks_without_common_rows_are_not_determined_together() -> None:
    planted = plant_entries(40, 30, 2, 1200, rng=1)
    keep = (planted.rows < 25) == (planted.columns < 18)
    part = kept(planted, keep)
    found = support(part)
    assert not (found.rows[:25].any() and found.rows[25:].any())


def test_surplus_column_is_not_determined() -> None:
    planted = planted_entries()
    found = support(planted, rank=3)
    assert found.is_empty


@pytest.mark.parametrize(("agreeing", "determined"), [(0.0, True), (0.02, True), (0.3, False)])
def test_row_that_agreeing_outliers_could_determine_by_chance(
    agreeing: float, determined: bool
) -> None:
    """Row 3 has ten entries and two unknowns."""
    planted = planted_entries(900)
    drop = np.flatnonzero(planted.rows == 3)[10:]
    part = kept(planted, np.setdiff1d(np.arange(len(planted.rows)), drop))
    assert support(part, agreeing=agreeing).rows[3] == determined


@pytest.mark.parametrize(("rows", "columns"), [(True, False), (False, True), (False, False)])
def test_a_part_without_rows_or_without_columns_is_empty(rows: bool, columns: bool) -> None:
    assert Support(np.array([rows]), np.array([columns]), np.array([True])).is_empty
    assert not Support(np.array([True]), np.array([True]), np.array([True])).is_empty


def test_dense_measurements_inform_everything() -> None:
    """If a part is dropped, no measurement is left."""
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (9, 8))
    tangent = as_operator(rng.standard_normal((90, 9, 8))).tangent(left, right)
    fitted = np.arange(90) < 80
    assert supported_part(tangent, fitted).is_whole
    row = np.arange(17) == 3
    found = supported_part(tangent, fitted, without=row)
    assert found.is_empty
    assert not found.fitted.any()


def test_blocks_of_measurements_are_decided_on_their_own() -> None:
    """The last row is measured by its own sensors, most of which are rejected."""
    rng = np.random.default_rng(2)
    left, right = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (9, 8))
    A = rng.standard_normal((140, 9, 8))
    A[:100, 8] = 0
    A[100:, :8] = 0
    fitted = np.arange(140) % 10 > 0
    fitted[100:125] = False
    found = supported_part(as_operator(A).tangent(left, right), fitted)
    assert np.flatnonzero(~found.rows).tolist() == [8]
    assert found.columns.all()
    assert np.array_equal(found.fitted, fitted & (np.arange(140) < 100))
    assert [text.endswith(": row 8") for text in found.objections] == [True]


def test_tested_by_some_of_the_measurements_only() -> None:
    planted = planted_entries(900, outliers=0.05)
    point = point_of(planted.left, planted.right)

    def tangent(which: Any) -> TangentMap:
        part = kept(planted, which)
        return Entries(part.rows, part.columns, part.shape).tangent(point.left, point.right)

    some = np.arange(900) % 3 > 0
    given = tangent(np.ones(900, bool)), ~planted.outliers
    found = supported_part(*given, agreeing=0.0, by=(tangent(some), some))
    assert found.is_whole
    np.testing.assert_array_equal(found.fitted, ~planted.outliers)
