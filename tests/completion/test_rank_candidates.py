"""Ranks to try."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.ridge_path import candidate_ranks, is_confined
from robustrank.linalg import point_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0, 4.8, 4.5, 0.5, 0.4, 0.3], [3, 6]),  # one gap
        ([5.0, 4.8, 4.5], [3]),  # none: the bound
        ([10.0, 1.0, 0.9, 0.01, 0.0], [3, 1, 5]),  # two gaps, the larger one first
        ([1.0], [1]),
        ([3.0, 0.0, 0.0], [1, 3]),  # zeros have no gaps between them
    ],
)
def test_largest_gaps_come_first(values: list[float], expected: list[int]) -> None:
    assert candidate_ranks(np.asarray(values)) == expected


@pytest.mark.parametrize(("columns", "expected"), [(2000, False), (200, True)])
def test_component_of_few_columns_is_confined(columns: int, expected: bool) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2000, 2)), 10 * rng.standard_normal((2000, 2))
    right[:, 1] *= 0.01 * (np.arange(2000) < columns)
    assert is_confined(point_of(left, right)) == expected


def test_a_single_entry_is_confined() -> None:
    left, right = np.zeros((100, 2)), np.zeros((80, 2))
    left[:, 0], right[:, 0] = 1, 1
    left[0, 1] = right[0, 1] = 0.95 * 8000**0.25  # 8000 is the other singular value squared
    assert is_confined(point_of(left, right))


def test_no_more_than_four_ranks_are_tried() -> None:
    assert candidate_ranks(2.0 ** -np.arange(8)) == [1, 2, 3, 4]
