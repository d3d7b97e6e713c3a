"""The noise behind the residuals of the inliers, and the evidence that it is noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import robustrank as rr
from robustrank.certificate import Fit, count
from robustrank.certificate.evidence import (
    NoiseStatistics,
    evidence_of,
    noise_statistics,
    prediction_error,
)
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import plant


def test_noise_level_is_that_of_the_noise() -> None:
    planted = plant(20, 15, 2, 2000, outliers=0.05, bounded_noise=0.1, rng=8)
    certificate = rr.recover(planted.A, planted.y, 2).certificate
    true = 0.1 * np.linalg.svd(planted.matrix, compute_uv=False)[1] / np.sqrt(3)
    assert certificate.noise * np.linalg.norm(planted.matrix) == pytest.approx(
        true,
        rel=0.1,  # outliers make a typical measurement look larger
    )
    assert certificate.sigma == pytest.approx(true, rel=0.05)


def test_sigma_is_in_the_units_of_y() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, bounded_noise=0.05, rng=5)
    plain, scaled = (rr.recover(planted.A, planted.y * unit, 2).certificate for unit in (1.0, 1e3))
    assert scaled.sigma == pytest.approx(1e3 * plain.sigma, rel=1e-6)
    assert scaled.noise == pytest.approx(plain.noise, rel=1e-6)


def evidence(deviation: float, inliers: int = 900) -> float:
    """That of 900 of 1,000 measurements fitted with 500 degrees of freedom."""
    return evidence_of(np.full(inliers, deviation), 2.0, 1000, 500, epsilon=1e-16)


def test_noise_is_relative_to_the_trivial_prediction() -> None:
    planted = plant(12, 10, 1, 500, rng=1)
    problem = Problem(as_operator(planted.A), planted.y, 1)
    residual = np.full(500, 0.1 * math.sqrt(1 - problem.degrees_of_freedom / 500))
    ones = np.ones(500)
    fit = Fit(problem._changed(trivial_deviation=2.0), residual, ones, ones, norm=1.0)
    assert count(fit, None).noise == pytest.approx(0.05)
    nothing_left = replace(fit, problem=problem._changed(trivial_deviation=0.0))
    assert count(nothing_left, None).noise == math.inf


@pytest.mark.parametrize("inliers", [0, 499, 500])
def test_without_measurements_beyond_the_degrees_of_freedom_nothing_is_known(inliers: int) -> None:
    assert evidence(0.1, inliers) == -math.inf
    assert prediction_error(0.05, inliers, 500) == math.inf


def test_evidence_is_the_likelihood_ratio_less_the_choice_of_outliers() -> None:
    choices = gammaln(1001) - gammaln(901) - gammaln(101)
    expected = 400 * math.log(20) - choices
    assert evidence(0.1) == pytest.approx(expected, abs=0.01)


def test_only_the_least_informative_inliers_are_evidence() -> None:
    """The fit may have been chosen to fit the 500 others."""
    gains = np.concatenate([np.full(450, 100.0), np.full(450, 0.5)])
    changed = evidence_of(2.0 * np.exp(-gains), 2.0, 1000, 500, epsilon=0.0)
    expected = 400 * 0.5 - (400 * math.log(20) - evidence(0.1))
    assert changed == pytest.approx(expected)


def test_evidence_of_an_exact_fit_is_finite() -> None:
    assert 1e4 < evidence(0.0) < math.inf


@pytest.mark.parametrize("deviation", [math.inf, math.nan])
def test_a_deviation_that_is_not_finite_is_no_evidence(deviation: float) -> None:
    assert evidence(deviation) == -math.inf


def test_prediction_error_is_that_of_measurements_left_out() -> None:
    """Least squares with d = 30 of N = 60: the error for new measurements, over many trials."""
    rng = np.random.default_rng(1)
    squares, predicted = [], []
    for _ in range(200):
        J, y = rng.standard_normal((60, 30)), rng.standard_normal(60)
        x = np.linalg.lstsq(J, y, rcond=None)[0]
        new, target = rng.standard_normal((20, 30)), rng.standard_normal(20)
        squares.append(np.mean((target - new @ x) ** 2))
        level = np.linalg.norm(y - J @ x) / math.sqrt(30)
        predicted.append(prediction_error(float(level), 60, 30) ** 2)
    assert np.mean(predicted) == pytest.approx(np.mean(squares), rel=0.1)


Array = np.ndarray[Any, Any]
EVERY, LEFT = np.ones(2000, bool), np.ones(2000)
Noise = Callable[[np.random.Generator, int], Array]
HONEST: dict[str, Noise] = {
    "Gaussian": lambda rng, m: rng.standard_normal(m),
    "uniform": lambda rng, m: rng.uniform(-1, 1, m),
    "Student's t with 3 degrees of freedom": lambda rng, m: rng.standard_t(3, m),
}


@pytest.mark.parametrize("kind", HONEST)
def test_statistics_of_noise_are_about_standard_normal(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = np.asarray(
        [
            noise_statistics(
                HONEST[kind](rng, 400), rng.standard_normal(400), EVERY[:400], LEFT[:400]
            )[:3]
            for _ in range(400)
        ]
    )
    assert np.abs(values.mean(axis=0)).max() < 0.25
    assert np.all((values.std(axis=0) > 0.8) & (values.std(axis=0) < 1.2))
    assert np.mean(np.abs(values).max(axis=1) > 4) < 0.01


# Faults of 20 % of the measurements, given their noise and their predictions, and the statistic
# that detects them.
FAULTS: dict[str, tuple[Callable[[Array, Array], Array], int]] = {
    "offset": (lambda noise, _: noise + 5, 0),
    "dead": (lambda noise, predicted: noise - predicted, 1),
    "gain": (lambda noise, predicted: noise + 0.5 * predicted, 1),
    "clipped": (lambda noise, predicted: np.clip(predicted + noise, -0.5, 0.5) - predicted, 1),
    "noise proportional to the signal": (
        lambda noise, predicted: noise * (1 + 5 * abs(predicted)),
        2,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault_is_detected(fault: str) -> None:
    change, which = FAULTS[fault]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        predicted = rng.standard_normal(2000)
        residual = 0.1 * rng.standard_normal(2000)
        faulty = np.arange(2000) < (2000 if which == 2 else 400)
        residual[faulty] = change(residual, predicted)[faulty]
        assert abs(noise_statistics(residual, predicted, EVERY, LEFT)[which]) > 4


@pytest.mark.parametrize("residual", [np.zeros(50), np.ones(2)])
def test_statistics_without_information_are_zero(residual: Array) -> None:
    size = len(residual)
    assert noise_statistics(residual, np.ones(size), EVERY[:size], LEFT[:size]) == (0.0,) * 5


def test_statistics_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(4)
    residual, predicted = rng.standard_normal(100), rng.standard_normal(100)
    plain = noise_statistics(residual, predicted, EVERY[:100], LEFT[:100])
    scaled = noise_statistics(1e-30 * residual, 1e30 * predicted, EVERY[:100], LEFT[:100])
    assert scaled == pytest.approx(plain)


LIKE_NOISE = NoiseStatistics(1.0, -1.0, 0.5, 3.0, 0.01)


@pytest.mark.parametrize(
    ("changes", "looks"),
    [
        ({}, True),
        ({"skewness": 3.4}, True),
        ({"skewness": -3.6}, False),
        ({"slant": 3.6}, False),
        ({"slant": -3.6}, False),
        ({"growth": 3.6}, False),
        ({"growth": -6.0}, True),  # smaller where predictions are large
        ({"kurtosis": 14.0}, True),
        ({"kurtosis": 16.0}, False),
        ({"near": 0.06}, False),
    ],
)
def test_each_statistic_can_object(changes: dict[str, float], looks: bool) -> None:
    assert LIKE_NOISE._replace(**changes).look_like_noise() is looks


@pytest.mark.parametrize(
    ("changes", "plain"),
    [
        ({}, True),
        ({"skewness": 1.6}, False),
        ({"slant": -1.6}, False),
        ({"growth": 1.6}, False),
        ({"growth": -3.0}, True),
        ({"kurtosis": 2.4}, False),  # two groups
        ({"kurtosis": 5.5}, False),  # outliers
    ],
)
def test_weak_signs_are_conspicuous(changes: dict[str, float], plain: bool) -> None:
    assert LIKE_NOISE._replace(**changes).are_inconspicuous() is plain


def test_without_inliers_there_is_nothing_to_say() -> None:
    none = noise_statistics(np.ones(9), np.ones(9), np.zeros(9, bool), np.ones(9))
    assert none == (0.0,) * 5


def test_residuals_are_compared_with_what_the_fit_leaves_of_their_noise() -> None:
    """A fit that follows large predictions more closely leaves smaller residuals there."""
    rng = np.random.default_rng(5)
    predicted = rng.standard_normal(2000)
    left = 1 / (1 + predicted**2)
    residual = np.sqrt(left) * rng.standard_normal(2000)
    assert noise_statistics(residual, predicted, EVERY, LEFT).growth < -10
    assert abs(noise_statistics(residual, predicted, EVERY, left).growth) < 3
