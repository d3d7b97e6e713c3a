"""Offsets and gains that faulty sensors share, learned from measurements and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from robustrank.solvers.message_passing.mixture import Mixture
from robustrank.solvers.message_passing.relations import Relations

Array = np.ndarray[Any, Any]


def faulty(gain: float, offset: float, error: float, m: int = 4000) -> tuple[Array, Array]:
    """Measurements, 30 % of them with a fault, and predictions of the true values."""
    rng = np.random.default_rng(7)
    truth = rng.standard_normal(m)
    y = truth.copy()
    y[: 3 * m // 10] = gain * y[: 3 * m // 10] + offset
    return y, truth + error * rng.standard_normal(m)


def learned(y: Array, predicted: Array, steps: int = 100) -> Mixture:
    mixture = Mixture.initial(y, float(np.median(np.abs(y))), faults=True)
    for _ in range(steps):
        mixture = mixture.updated(predicted)
    return mixture


def share_near(mixture: Mixture, factor: float, shift: float) -> float:
    """The share of the relations that are close to a given one."""
    relations = mixture.relations
    near = np.hypot(relations.factor - factor, relations.shift - shift) < 0.08
    return float(np.sum(mixture.shares[near]))


@pytest.mark.parametrize("offset", [0.5, -0.3])
def test_learns_an_offset(offset: float) -> None:
    mixture = learned(*faulty(1.0, offset, 0.1))
    assert share_near(mixture, 1.0, offset) == pytest.approx(0.3, abs=0.03)
    assert share_near(mixture, 1.0, 0.0) == pytest.approx(0.7, abs=0.03)
    assert float(mixture.error) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("gain", [2.0, 0.5])
def test_learns_a_gain(gain: float) -> None:
    mixture = learned(*faulty(gain, 0.0, 0.05))
    assert share_near(mixture, 1 / gain, 0.0) == pytest.approx(0.3, abs=0.05)
    assert float(mixture.error) == pytest.approx(0.05, rel=0.1)


def test_measurements_with_a_learned_fault_are_informative() -> None:
    """The correction is that of the true value, and its precision almost that of inliers."""
    y, predicted = faulty(1.0, 0.5, 0.05)
    posterior = learned(y, predicted).posterior(predicted)
    truth = y.copy()
    truth[:1200] -= 0.5
    assert np.median(np.abs(predicted + posterior.correction - truth)) < 0.01
    assert float(posterior.precision) > 0.9
    assert np.mean(posterior.inlier[:1200]) < 0.02


def test_equal_measurements_are_unrelated_outliers() -> None:
    """A dead sensor is neither a small gain nor, at another value, a large offset."""
    for value in (0.0, 5.0):
        y, predicted = faulty(0.0, value, 0.7)
        mixture = learned(y, predicted)
        assert float(mixture.outlier_shares.sum()) == pytest.approx(0.3, abs=0.05)


def test_gain_has_the_largest_likelihood() -> None:
    y, predicted = faulty(1.6, 0.0, 0.3, m=500)
    y, predicted, error = y[:150], predicted[:150], 0.3
    relations = Relations.initial(np.asarray(1.0), learned=True)
    factor = relations.learned(y, predicted, np.ones((150, 6)), np.asarray(error)).factor

    def loss(u: float) -> float:
        return -float(np.sum(norm.logpdf(u * y, predicted, error) + np.log(u)))

    best = minimize_scalar(loss, bounds=(0.2, 5), method="bounded").x
    assert factor[4:] == pytest.approx(best, rel=1e-4)
    assert np.array_equal(factor[:4], [1, -1, 1, 1])


def test_rescales_a_matrix_whose_gain_a_majority_contradicts() -> None:
    """Predictions that are 1.6 times too large fit the 30 % that have this gain."""
    y, predicted = faulty(1.6, 0.0, 0.05)
    mixture, gain = learned(y, 1.6 * predicted).rescaled(1.6 * predicted)
    assert float(gain) == pytest.approx(1 / 1.6, rel=0.02)
    assert float(mixture.error) == pytest.approx(0.05, rel=0.1)
    total = mixture.shares.sum() + mixture.outlier_shares.sum()
    assert float(total) == pytest.approx(1.0)
    for _ in range(20):
        mixture = mixture.updated(predicted)
    assert share_near(mixture, 1 / 1.6, 0.0) == pytest.approx(0.3, abs=0.05)
    assert mixture.rescaled(predicted)[1] == 1


def test_without_faults_nothing_is_learned_or_rescaled() -> None:
    y, predicted = faulty(1.6, 0.0, 0.05)
    mixture = Mixture.initial(y, 1.0).updated(1.6 * predicted)
    assert np.array_equal(mixture.relations.factor, [1, -1])
    assert mixture.rescaled(1.6 * predicted)[1] == 1
