"""The noise behind the residuals of the inliers, and the evidence that it is noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

import robustrank as rr
from robustrank.certificate.noise import NoiseFit, fit_noise
from robustrank.operators import as_operator
from robustrank.problem import Problem
from robustrank.simulate import plant


def test_noise_level_is_that_of_the_noise() -> None:
    planted = plant(20, 15, 2, 2000, outliers=0.05, noise=0.1, rng=8)
    certificate = rr.recover(planted.A, planted.y, 2).certificate
    true = 0.1 * np.linalg.svd(planted.matrix, compute_uv=False)[1] / np.sqrt(3)
    assert certificate.noise * np.linalg.norm(planted.matrix) == pytest.approx(
        true,
        rel=0.1,  # outliers make a typical measurement look larger
    )
    assert certificate.sigma == pytest.approx(true, rel=0.05)


def test_sigma_is_in_the_units_of_y() -> None:
    planted = plant(20, 15, 2, 600, outliers=0.05, noise=0.05, rng=5)
    plain, scaled = (rr.recover(planted.A, planted.y * unit, 2).certificate for unit in (1.0, 1e3))
    assert scaled.sigma == pytest.approx(1e3 * plain.sigma, rel=1e-6)
    assert scaled.noise == pytest.approx(plain.noise, rel=1e-6)


def test_level_counts_the_measurements_beyond_the_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(as_operator(rng.standard_normal((100, 8, 6))), rng.standard_normal(100), 2)
    residual = np.where(np.arange(100) < 80, 0.1, 0.0)
    fit = fit_noise(problem, residual, 80)
    assert problem.degrees_of_freedom == 24
    deviation = math.sqrt(80 * 0.1**2 / (80 - 24))
    assert fit.level == pytest.approx(deviation / float(problem.typical_deviation))
    assert (fit.inliers, fit.measurements, fit.degrees_of_freedom) == (80, 100, 24)


@pytest.mark.parametrize("inliers", [0, 23, 24])
def test_without_measurements_beyond_the_degrees_of_freedom_nothing_is_known(inliers: int) -> None:
    rng = np.random.default_rng(0)
    problem = Problem(as_operator(rng.standard_normal((100, 8, 6))), rng.standard_normal(100), 2)
    fit = fit_noise(problem, np.zeros(100), inliers)
    assert fit.level == math.inf
    assert fit.evidence == -math.inf
    assert fit.prediction_error == math.inf


def test_evidence_is_the_likelihood_ratio_less_the_choice_of_outliers() -> None:
    fit = NoiseFit(level=0.05, inliers=900, measurements=1000, degrees_of_freedom=500)
    choices = gammaln(1001) - gammaln(901) - gammaln(101)
    assert fit.evidence == pytest.approx(400 * math.log(20) - choices)


def test_evidence_of_an_exact_fit_is_finite() -> None:
    fit = NoiseFit(level=0.0, inliers=900, measurements=1000, degrees_of_freedom=500)
    assert 1e5 < fit.evidence < math.inf


@pytest.mark.parametrize("level", [math.inf, math.nan])
def test_a_level_that_is_not_finite_is_no_evidence(level: float) -> None:
    fit = NoiseFit(level=level, inliers=900, measurements=1000, degrees_of_freedom=500)
    assert fit.evidence == -math.inf


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
        predicted.append(NoiseFit(float(level), 60, 60, 30).prediction_error ** 2)
    assert np.mean(predicted) == pytest.approx(np.mean(squares), rel=0.1)
