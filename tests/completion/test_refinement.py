"""Gauss–Newton from a point near the solution to the solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from completion_samples import in_row_order, planted_sample

from robustrank.completion import Sample, Watch
from robustrank.completion.refinement import Fit, narrowed, noise_of, polished
from robustrank.completion.sample import robust_deviation
from robustrank.run import Run
from robustrank.simulate import PlantedEntries

WATCH = Watch(Run())


def near(planted: PlantedEntries, distance: float = 0.1) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    P, Q = (
        part + distance * rng.standard_normal(part.shape) for part in (planted.left, planted.right)
    )
    return P, Q


def narrowed_from(planted: PlantedEntries, sample: Sample, distance: float = 0.1) -> Fit:
    return narrowed(sample, near(planted, distance), 2 * sample.deviation, WATCH)


def matrix(fit: Fit) -> Any:
    P, Q = fit.factors
    return P @ Q.T


def test_narrowing_finds_the_matrix_despite_outliers() -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model="scale")
    fit = narrowed_from(planted, sample)
    assert np.linalg.norm(matrix(fit) - planted.matrix) < 1e-3 * np.linalg.norm(planted.matrix)
    assert not fit.has_noise


def test_narrowing_stops_at_the_noise() -> None:
    planted, sample = planted_sample(noise=0.05)
    fit = narrowed_from(planted, sample)
    noise = 0.05 * planted.matrix.std()
    assert fit.has_noise
    assert 3 * noise < fit.cutoff < 9 * noise


def test_polishing_is_exact_without_noise() -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model="scale")
    fit = polished(sample, narrowed_from(planted, sample), WATCH)
    np.testing.assert_allclose(matrix(fit), planted.matrix, atol=1e-9)
    assert fit.cutoff == sample.tolerance
    assert not fit.has_noise
    inliers = in_row_order(planted, ~planted.outliers)
    np.testing.assert_array_equal(sample.within(*fit.factors, fit.cutoff), inliers)


def test_polishing_with_noise_is_least_squares_on_the_inliers() -> None:
    planted, sample = planted_sample(noise=0.05, outliers=0.1, outlier_model="huge")
    fit = polished(sample, narrowed_from(planted, sample), WATCH)
    assert fit.has_noise
    kept = sample.subset(sample.within(*fit.factors, fit.cutoff))
    P, Q = fit.factors
    for _ in range(100):  # alternating least squares has the same fixed point
        P = kept.fit_rows(P, Q, 1e12, 0.0)
        Q = kept.transposed.fit_rows(Q, P, 1e12, 0.0)
    np.testing.assert_allclose(P @ Q.T, matrix(fit), atol=0.02 * planted.matrix.std())


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_values_do_not_matter(scale: float) -> None:
    planted, sample = planted_sample(outliers=0.1)
    start, root = near(planted), np.sqrt(scale)
    scaled = sample.divided_by(np.full(40, 1 / scale), np.ones(30))
    widths = 2 * sample.deviation, 2 * scaled.deviation
    one = narrowed(sample, start, widths[0], WATCH)
    other = narrowed(scaled, (root * start[0], root * start[1]), widths[1], WATCH)
    np.testing.assert_allclose(matrix(other), scale * matrix(one), atol=1e-6 * scale)
    assert other.cutoff == pytest.approx(scale * one.cutoff, rel=1e-6)


def test_deviation_of_the_inliers_takes_the_fitted_unknowns_into_account() -> None:
    planted, sample = planted_sample(noise=0.1)
    fit = polished(sample, narrowed_from(planted, sample), WATCH)
    chosen = sample.residual(*fit.factors)[sample.within(*fit.factors, fit.cutoff)]
    deviation = noise_of(chosen, sample.shape, 2)
    assert deviation == pytest.approx(0.1 * planted.matrix.std(), rel=0.15)
    unknowns = 2 * (40 + 30 - 2)
    share = 1 - unknowns / len(chosen)
    assert deviation == pytest.approx(robust_deviation(chosen) / np.sqrt(share))


def test_without_inliers_the_deviation_is_infinite() -> None:
    assert noise_of(np.zeros(0), (40, 30), 2) == np.inf
