"""Residuals as if each measurement had been left out, and probabilities of outliers."""

from __future__ import annotations

import numpy as np
import pytest

import robustrank as rr
from robustrank.uncertainty.residuals import outlier_probability


@pytest.mark.parametrize("entries", [False, True])
def test_residuals_are_those_of_measurements_left_out_of_the_fit(entries: bool) -> None:
    """Their variance is one for inliers, whatever their leverage and the size of their noise."""
    found, outlying = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        if entries:
            sampled = rr.simulate.plant_entries(30, 25, 2, 600, rng=seed)
            clean, m = sampled.values, 600
        else:
            planted = rr.simulate.plant(20, 15, 2, 200, rng=seed)
            clean, m = planted.y, 200
        sizes = 0.02 * np.std(clean) * 10 ** rng.uniform(-0.5, 0.5, m)
        y = clean + sizes * rng.standard_normal(m)
        wrong = rng.choice(m, m // 10, replace=False)
        y[wrong] += np.std(clean) * rng.choice([-9, 9], len(wrong))
        if entries:
            data = sampled.rows, sampled.columns, y
            result = rr.complete(data, 2, shape=(30, 25), noise_scale=sizes)
        else:
            result = rr.recover(planted.A, y, 2, noise_scale=sizes)
        probability = result.outlier_probability
        assert np.all(probability[wrong] > 0.99)
        scaled = result.error_bars._left_out_over_deviation()  # type: ignore[union-attr]
        good = np.setdiff1d(np.arange(m), wrong)
        found += scaled[good].tolist()
        outlying.append(float(np.sum(probability[good])))
    assert np.std(found) == pytest.approx(1, abs=0.08)
    assert max(outlying) < 5


def test_probability_of_outliers_among_standard_normal_residuals() -> None:
    """The distribution of inliers has the deviation one: a wider one would excuse six of them."""
    residual = np.random.default_rng(1).standard_normal(2000)
    residual[:100] *= 30
    found = outlier_probability(residual)
    assert np.all(found[np.abs(residual) > 6] > 0.99)
    assert np.all(found[np.abs(residual) < 2] < 0.05)
    assert np.sum(found) == pytest.approx(100, abs=15)


def test_without_small_outliers_no_inlier_is_suspected() -> None:
    """The tails of the noise are no outliers, and those far away say nothing about near ones."""
    residual = np.random.default_rng(2).standard_normal(5000)
    residual[:1000] = 15 + residual[:1000]
    found = outlier_probability(residual)
    assert np.all(found[:1000] == 1)
    assert np.sum(found[1000:]) == 0


@pytest.mark.parametrize("residual", [[], [np.inf], [0.0], [1e300, -1e300]])
def test_few_or_huge_residuals(residual: list[float]) -> None:
    found = outlier_probability(np.asarray(residual))
    np.testing.assert_array_equal(found, np.abs(residual) > 5)
