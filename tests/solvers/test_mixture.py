"""The mixture model of measurements: inliers, flipped signs and outliers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from robustrank.solvers.message_passing.mixture import Mixture

Array = np.ndarray[Any, Any]


def mixed(rng: np.random.Generator, error: float, m: int = 4000) -> tuple[Array, Array, Array]:
    """Measurements, predictions, and inliers: 60 %, beside 15 % flipped and 25 % equal to 5."""
    truth = rng.standard_normal(m)
    y, inliers = truth.copy(), np.zeros(m, bool)
    inliers[: int(0.6 * m)] = True
    y[int(0.6 * m) : int(0.75 * m)] *= -1
    y[int(0.75 * m) :] = 5.0
    return y, truth + error * rng.standard_normal(m), inliers


def initial(y: Array) -> Mixture:
    return Mixture.initial(y, float(np.median(np.abs(y))))


def total_share(mixture: Mixture) -> float:
    return float(mixture.shares.sum() + mixture.outlier_shares.sum())


def test_updates_estimate_shares_and_error() -> None:
    y, predicted, inliers = mixed(np.random.default_rng(3), 0.2)
    mixture = initial(y)
    for _ in range(60):
        mixture = mixture.updated(predicted)
    assert float(mixture.error) == pytest.approx(0.2, rel=0.05)
    assert mixture.shares[0] == pytest.approx(0.6, abs=0.02)
    assert mixture.shares[1] == pytest.approx(0.15, abs=0.02)
    assert total_share(mixture) == pytest.approx(1.0)
    posterior = mixture.posterior(predicted)
    assert np.mean((posterior.inlier > 0.5) == inliers) > 0.97


def test_posterior_follows_from_bayes_rule() -> None:
    """Probabilities and expected values, computed measurement by measurement."""
    y, predicted, _ = mixed(np.random.default_rng(4), 0.5, m=60)
    mixture = replace(initial(y), error=np.asarray(0.5))
    posterior = mixture.posterior(predicted)
    outlier = mixture.outlier_density @ mixture.outlier_shares
    for i in range(0, 60, 7):
        inlier = mixture.shares[0] * stats.norm.pdf(y[i], predicted[i], 0.5)
        flipped = mixture.shares[1] * stats.norm.pdf(-y[i], predicted[i], 0.5)
        total = inlier + flipped + outlier[i]
        mean = (inlier * y[i] - flipped * y[i] + outlier[i] * predicted[i]) / total
        assert posterior.inlier[i] == pytest.approx(inlier / total)
        assert posterior.correction[i] == pytest.approx(mean - predicted[i])


def test_precision_is_the_mean_derivative_of_the_correction() -> None:
    y, predicted, _ = mixed(np.random.default_rng(4), 0.5, m=60)
    mixture = replace(initial(y), error=np.asarray(0.5))
    step = 1e-5
    before, after = (mixture.posterior(predicted + sign * step).correction for sign in (-1, 1))
    slope = np.mean(before - after) / (2 * step)
    assert float(mixture.posterior(predicted).precision) == pytest.approx(slope, rel=1e-5)


def test_infinite_measurements_are_outliers() -> None:
    y, predicted, _ = mixed(np.random.default_rng(5), 0.2)
    y[7], y[8] = np.inf, -np.inf
    posterior = initial(y).updated(predicted).posterior(predicted)
    assert posterior.inlier[7] == posterior.inlier[8] == 0
    assert np.all(np.isfinite(posterior.correction))


def test_share_of_inliers_is_at_least_half() -> None:
    y = np.full(400, 5.0)
    y[:180] = np.random.default_rng(6).standard_normal(180)
    mixture = Mixture.initial(y, 1.0)
    for _ in range(50):
        mixture = mixture.updated(np.zeros(400))
    assert mixture.shares[0] >= 0.5
    assert total_share(mixture) == pytest.approx(1.0)


def test_an_offset_of_all_true_values_is_learned() -> None:
    """Predictions lack it, and half of the sensors, almost, read zero."""
    rng = np.random.default_rng(5)
    truth = rng.standard_normal(2000)
    y = np.where(np.arange(2000) < 900, 0.0, 30 + truth)
    mixture = Mixture.initial(y, float(np.median(np.abs(y))), centered=True)
    predicted = truth + 0.2 * rng.standard_normal(2000)
    for _ in range(30):
        mixture = mixture.updated(predicted)
    assert float(mixture.offset) == pytest.approx(30, abs=0.05)
    assert float(mixture.error) == pytest.approx(0.2, rel=0.1)
    inlier = mixture.posterior(predicted).inlier > 0.5
    assert np.mean(inlier == (np.arange(2000) >= 900)) > 0.97


def test_no_offset_is_learned_for_predictions_that_lack_none() -> None:
    y, predicted, _ = mixed(np.random.default_rng(3), 0.2)
    assert float(initial(y + 3).updated(predicted).offset) == 0


def test_equal_measurements_have_a_positive_spread() -> None:
    """Rounding was taken for the size of the measurements, and the next step was not finite."""
    y = np.where(np.arange(100) < 70, 3.0 * (1 + 1e-16 * np.arange(100)), -2.0)
    mixture = Mixture.initial(y, 3.0, centered=True)
    for _ in range(10):
        mixture = mixture.updated(np.zeros(100))
    assert np.isfinite(float(mixture.error))
    assert float(mixture.error) > 1e-12
