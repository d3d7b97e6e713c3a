"""Whether outliers agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
from completion_samples import in_row_order, planted_sample

from robustrank.completion.single_rows import agreeing_share


@pytest.mark.parametrize(
    ("model", "least", "most"),
    [("flip", 0.19, 0.21), ("scale", 0, 0.002), ("huge", 0, 0.002), ("offset", 0, 0.002)],
)
def test_only_outliers_that_agree_count(model: str, least: float, most: float) -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model=model)
    inliers = in_row_order(planted, ~planted.outliers)
    factors = planted.left, planted.right
    share = agreeing_share(sample, factors, inliers, 1e-9, np.random.default_rng(0))
    assert least <= share <= most


def test_outliers_that_cannot_be_tested_may_agree() -> None:
    """There are no more of them in a row than unknowns."""
    planted, sample = planted_sample()
    inliers = np.ones(sample.size, bool)
    inliers[:2] = False
    factors = planted.left, planted.right
    share = agreeing_share(sample, factors, inliers, 1e-9, np.random.default_rng(0))
    assert share == pytest.approx(2 / sample.size)
