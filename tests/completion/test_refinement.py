"""Gauss–Newton from a point near the solution to the solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from completion_samples import in_row_order, planted_sample

from robustrank.completion import Sample, Watch
from robustrank.completion.refinement import Fit, Inliers, Narrowing, Polishing
from robustrank.completion.sample import robust_deviation
from robustrank.linalg import point_of
from robustrank.run import Run
from robustrank.simulate import PlantedEntries

WATCH = Watch(Run())


def near(planted: PlantedEntries, distance: float = 0.1) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    P, Q = (
        part + distance * rng.standard_normal(part.shape) for part in (planted.left, planted.right)
    )
    return P, Q


def narrowed(planted: PlantedEntries, sample: Sample, distance: float = 0.1) -> Fit:
    return Narrowing().run(sample, *near(planted, distance), 2 * sample.deviation, WATCH)


def matrix(fit: Fit) -> Any:
    P, Q = fit.factors
    return P @ Q.T


def test_narrowing_finds_the_matrix_despite_outliers() -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model="scale")
    fit = narrowed(planted, sample)
    assert np.linalg.norm(matrix(fit) - planted.matrix) < 1e-3 * np.linalg.norm(planted.matrix)
    assert not fit.has_noise


def test_narrowing_stops_at_the_noise() -> None:
    planted, sample = planted_sample(noise=0.05)
    fit = narrowed(planted, sample)
    noise = 0.05 * planted.matrix.std()
    assert fit.has_noise
    assert 3 * noise < fit.cutoff < 9 * noise


def test_polishing_is_exact_without_noise() -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model="scale")
    fit = Polishing().run(sample, narrowed(planted, sample), WATCH)
    np.testing.assert_allclose(matrix(fit), planted.matrix, atol=1e-9)
    assert fit.cutoff == sample.tolerance
    assert not fit.has_noise
    inliers = in_row_order(planted, ~planted.outliers)
    np.testing.assert_array_equal(Inliers.of(sample, fit).weights, inliers)


def test_polishing_with_noise_is_least_squares_on_the_inliers() -> None:
    planted, sample = planted_sample(noise=0.05, outliers=0.1, outlier_model="huge")
    fit = Polishing().run(sample, narrowed(planted, sample), WATCH)
    assert fit.has_noise
    weights = Inliers.of(sample, fit).weights
    kept = sample.subset(weights > 0)
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
    one = Narrowing().run(sample, *start, widths[0], WATCH)
    other = Narrowing().run(scaled, root * start[0], root * start[1], widths[1], WATCH)
    np.testing.assert_allclose(matrix(other), scale * matrix(one), atol=1e-6 * scale)
    assert other.cutoff == pytest.approx(scale * one.cutoff, rel=1e-6)


def test_deviation_of_the_inliers_takes_the_fitted_unknowns_into_account() -> None:
    planted, sample = planted_sample(entries=400, noise=0.1)
    fit = Polishing().run(sample, narrowed(planted, sample), WATCH)
    inliers = Inliers.of(sample, fit)
    deviation = inliers.deviation(sample, fit.point)
    assert deviation == pytest.approx(0.1 * planted.matrix.std(), rel=0.15)
    chosen = inliers.residual[inliers.weights > 0]
    unknowns = 2 * (40 + 30 - 2)
    share = 1 - unknowns / len(chosen)
    assert deviation == pytest.approx(robust_deviation(chosen) / np.sqrt(share))


def test_without_inliers_the_deviation_is_infinite() -> None:
    planted, sample = planted_sample()
    nothing = Inliers(sample.row_values, np.zeros(700))
    assert nothing.deviation(sample, point_of(planted.left, planted.right)) == np.inf
