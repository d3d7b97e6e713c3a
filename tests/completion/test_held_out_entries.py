"""Predictions of entries that were left out of the fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from completion_samples import planted_sample

from robustrank.completion.held_out import HeldOut, held_out_errors, split
from robustrank.completion.noisy_fit import NoisyFit


def fit_of(left: np.ndarray, right: np.ndarray, noise: float, variance: float = 0.0) -> NoisyFit:
    r = left.shape[1]
    return NoisyFit(
        left=left,
        right=right,
        left_covariances=np.tile(variance * np.eye(r), (len(left), 1, 1)),
        right_covariances=np.tile(2 * variance * np.eye(r), (len(right), 1, 1)),
        weights=np.ones(1),
        sizes=np.ones(1),
        noise=noise,
        inliers=0.9,
        outlier_deviation=5.0,
    )


def test_the_two_parts_are_disjoint_and_together_everything() -> None:
    planted, sample = planted_sample(entries=700)
    part, left_out = split(sample, np.random.default_rng(0))
    assert (part.size, left_out.size) == (630, 70)
    places = [
        set(zip(one.by_rows.owners.tolist(), one.by_rows.others.tolist(), strict=True))
        for one in (part, left_out)
    ]
    assert not places[0] & places[1]
    assert len(places[0] | places[1]) == 700
    at = left_out.by_rows
    np.testing.assert_array_equal(left_out.row_values, planted.incomplete[at.owners, at.others])


def test_expected_error_has_the_uncertainty_of_both_factors() -> None:
    """One entry: the variance of p·q with independent p and q, by its formula."""
    left, right = np.asarray([[1.0, 2.0]]), np.asarray([[3.0, 4.0]])
    _, sample = planted_sample(1, 1, 1, 1)
    errors = held_out_errors(sample, fit_of(left, right, 0.5, 0.01))
    variance = 0.5**2 + 0.02 * (1 + 4) + 0.01 * (9 + 16) + 2 * 0.01 * 0.02
    assert errors.expected == pytest.approx(math.sqrt(variance))


def test_error_is_that_of_the_inliers() -> None:
    planted, sample = planted_sample(
        100, 80, 2, 4000, noise=0.1, outliers=0.1, outlier_model="huge"
    )
    noise = 0.1 * planted.matrix.std()
    errors = held_out_errors(sample, fit_of(planted.left, planted.right, noise))
    assert errors.error == pytest.approx(noise, rel=0.05)
    assert errors.trivial > 5 * noise
    assert errors.matrix_error < 0.05


def test_error_of_the_matrix_is_what_the_errors_have_beyond_the_noise() -> None:
    errors = HeldOut(10**12, 5.0, 4.0, 13.0, 4.0)
    assert errors.matrix_error == pytest.approx(3 / math.sqrt(13**2 - 4**2), rel=1e-5)
    few = replace(errors, count=100)
    assert few.matrix_error == pytest.approx(
        math.sqrt(((5 * 1.25) ** 2 - 16) / (13**2 - 16)), rel=1e-9
    )
    assert replace(errors, error=1.0).matrix_error == 0
    assert replace(errors, trivial=4.0).matrix_error == math.inf
