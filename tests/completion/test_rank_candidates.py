"""Ranks to try."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion.rank_candidates import candidate_ranks


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
