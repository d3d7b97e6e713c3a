"""Ranks to try."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.ridge_path import candidate_ranks


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


def test_no_more_than_four_ranks_are_tried() -> None:
    assert candidate_ranks(2.0 ** -np.arange(8)) == [1, 2, 3, 4]
