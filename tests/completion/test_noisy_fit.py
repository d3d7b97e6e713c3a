"""The fit with noise: noise, outliers and regularization are estimated."""

from __future__ import annotations

import numpy as np
import pytest
from completion_samples import in_row_order, planted_sample

from robustrank.completion import Watch
from robustrank.completion.held_out import held_out_errors, split
from robustrank.completion.noisy_fit import NoisyFit, empirical_bayes
from robustrank.completion.sample import Sample
from robustrank.run import Run
from robustrank.simulate import PlantedEntries

WATCH = Watch(Run())


def fitted(planted: PlantedEntries, sample: Sample, surplus: int = 0) -> NoisyFit:
    """The fit from the true factors, with random surplus columns."""
    rng = np.random.default_rng(2)
    factors = [
        np.column_stack([part, 0.1 * rng.standard_normal((len(part), surplus))])
        for part in (planted.left, planted.right)
    ]
    return empirical_bayes(sample, (factors[0], factors[1]), WATCH)


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_noise_and_outliers_are_estimated(noise: float) -> None:
    planted, sample = planted_sample(
        100, 80, 2, 4000, noise=noise, outliers=0.1, outlier_model="huge"
    )
    fit = fitted(planted, sample)
    assert fit.noise == pytest.approx(noise * planted.matrix.std(), rel=0.08)
    assert fit.inliers == pytest.approx(0.9, abs=0.02)
    agreed = (fit.weights > 0.5) == in_row_order(planted, ~planted.outliers)
    assert agreed.mean() > 0.97


def test_columns_that_the_data_does_not_support_are_removed() -> None:
    planted, sample = planted_sample(100, 80, 2, 4000, noise=0.1)
    assert fitted(planted, sample, surplus=2).rank == 2


def test_regularization_improves_on_least_squares_in_large_noise() -> None:
    planted, sample = planted_sample(100, 80, 2, 1500, noise=1.0)
    truth = planted.matrix
    fit = fitted(planted, sample)
    P, Q = planted.left, planted.right
    for _ in range(50):
        P = sample.fit_rows(P, Q, 1e9, 0.0)
        Q = sample.transposed.fit_rows(Q, P, 1e9, 0.0)
    errors = [np.linalg.norm(left @ right.T - truth) for left, right in (fit.factors, (P, Q))]
    assert errors[0] < 0.8 * errors[1]


def test_held_out_errors_are_as_expected() -> None:
    planted, sample = planted_sample(100, 80, 2, 4000, noise=0.1, outliers=0.1)
    part, left_out = split(sample, np.random.default_rng(1))
    assert left_out.size == 400
    errors = held_out_errors(left_out, fitted(planted, part))
    assert errors.error == pytest.approx(errors.expected, rel=0.15)
    assert errors.trivial > 5 * errors.error
    assert errors.matrix_error < 0.1
