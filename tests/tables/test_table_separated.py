"""Groups of rows that are separated from all others."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.tables.separated import separated_rows


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("columns", [2, 10, 20])
def test_a_group_is_found_in_a_direction_that_is_narrow_for_all_others(
    share: float, columns: int
) -> None:
    rng = np.random.default_rng(columns)
    mixing = rng.standard_normal((columns, columns))
    wrong = np.arange(200) < 200 * share
    rows = rng.standard_normal((200, columns))
    rows[wrong, 0] += 25.0
    np.testing.assert_array_equal(separated_rows(rows @ mixing), wrong)


def test_a_group_is_found_among_many_columns_where_skewness_does_not_point_to_it() -> None:
    rng = np.random.default_rng(0)
    wrong = np.arange(400) < 80
    rows = rng.standard_normal((400, 60)) * np.geomspace(1, 10, 60)
    rows[wrong, 0] += 25.0
    np.testing.assert_array_equal(separated_rows(rows), wrong)


def test_a_long_tail_is_not_a_group() -> None:
    for seed in range(5):
        rows = np.exp(np.random.default_rng(seed).standard_normal((400, 5)))
        assert not separated_rows(rows).any()


def test_a_single_row_is_not_a_group() -> None:
    rows = np.random.default_rng(0).standard_normal((100, 3))
    rows[0] = 1000.0
    assert not separated_rows(rows).any()


@pytest.mark.parametrize("columns", [1, 3, 10, 20])
def test_normal_rows_have_no_such_group(columns: int) -> None:
    for seed in range(5):
        rows = np.random.default_rng(seed).standard_normal((100, columns))
        assert not separated_rows(rows).any()


def test_a_third_of_the_rows_is_a_class_of_its_own() -> None:
    rows = np.random.default_rng(0).standard_normal((150, 4))
    rows[:50, 0] += 25.0
    assert not separated_rows(rows).any()


@pytest.mark.parametrize(
    "rows", [np.ones((20, 3)), np.zeros((1, 2)), np.outer(np.arange(30.0), [1.0, 2.0])]
)
def test_rows_without_variance_have_no_such_group(rows: np.ndarray) -> None:
    assert not separated_rows(rows).any()
