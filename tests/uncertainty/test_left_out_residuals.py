"""Residuals as if each measurement had been left out, and probabilities of outliers."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.uncertainty.residuals import left_out_over_deviation, outlier_probability


def test_residuals_are_enlarged_where_the_fit_used_them() -> None:
    """With three inliers and two parameters, a third of each residual is left."""
    residual, inlier = np.array([0.1, 0.1, -0.1, 5.0]), np.array([True, True, True, False])
    found = left_out_over_deviation(residual, inlier, 2, 0.5)
    scale = np.sqrt(1 / 3) / 0.5
    np.testing.assert_allclose(found, [0.3 * scale, 0.3 * scale, -0.3 * scale, 5 * scale])


def test_a_fit_with_a_parameter_for_each_inlier_leaves_a_twentieth() -> None:
    found = left_out_over_deviation(np.array([1.0, 2.0]), np.array([False, True]), 1, 1.0)
    np.testing.assert_allclose(found, np.array([1.0, 40.0]) * np.sqrt(0.05))


def test_exact_fits_are_certain() -> None:
    found = left_out_over_deviation(np.array([0.0, 1.0]), np.array([True, False]), 1, 0.0)
    np.testing.assert_array_equal(found, [0.0, np.inf])


def test_probability_of_outliers_among_standard_normal_residuals() -> None:
    """The distribution of inliers has the deviation one: a wider one would excuse six of them."""
    residual = np.random.default_rng(1).standard_normal(2000)
    residual[:100] *= 30
    found = outlier_probability(residual)
    assert np.all(found[np.abs(residual) > 6] > 0.99)
    assert np.all(found[np.abs(residual) < 2] < 0.05)
    assert np.sum(found) == pytest.approx(100, abs=15)
