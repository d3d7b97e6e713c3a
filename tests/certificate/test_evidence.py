"""The set of inliers with the most evidence, against all sets tried one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from robustrank.backend import like, to_numpy
from robustrank.certificate import best_set
from robustrank.certificate.evidence import log_choices

Array = np.ndarray[Any, Any]


def brute_force(magnitudes: Array, spread: Array, null: float, freedom: int) -> tuple[float, float]:
    """The cutoff and the evidence of the best set, from its definition."""
    scaled = magnitudes / spread
    informative = spread * np.sort(scaled)[(len(scaled) - 1) // 2] < null
    total = int(informative.sum())
    best = 0.0, -math.inf
    for cutoff in np.sort(scaled[informative]):
        chosen = informative & (scaled <= cutoff)
        count = int(chosen.sum())
        if count <= freedom or 2 * count <= total:
            continue
        deviation = math.sqrt(np.sum(scaled[chosen] ** 2) / (count - freedom))
        gain = np.mean(np.log(null / (deviation * spread[chosen])))
        choices = gammaln(total + 1) - gammaln(count + 1) - gammaln(total - count + 1)
        evidence = (count - freedom) * gain - choices
        rest = informative & (scaled > cutoff)
        size = math.sqrt(np.mean(scaled[rest] ** 2)) if rest.any() else 0.0
        if 5 * deviation < size < null and np.ptp(spread) == 0:
            evidence += np.count_nonzero(rest) * math.log(null / size)
        if evidence > best[1]:
            best = float(cutoff), float(evidence)
    return best


def residuals(seed: int, m: int, outliers: int, noise: float) -> Array:
    rng = np.random.default_rng(seed)
    values = np.abs(noise * rng.standard_normal(m))
    values[:outliers] = np.abs(rng.standard_normal(outliers))
    return values


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize(
    ("outliers", "noise", "freedom"), [(0, 0.1, 10), (20, 0.1, 10), (40, 0.01, 30), (45, 1e-6, 5)]
)
def test_best_set_is_the_best_of_all(
    outliers: int, noise: float, freedom: int, equal: bool
) -> None:
    for seed in range(3):
        magnitudes = residuals(seed, 100, outliers, noise)
        spread = np.ones(100)
        if not equal:  # rows of different size: some would have more noise than signal
            spread = 10.0 ** np.random.default_rng(9).uniform(-1, 2, 100)
            magnitudes = magnitudes * np.where(np.arange(100) < outliers, 1, spread)
        found = best_set(magnitudes, spread, np.asarray(1.0), freedom)
        cutoff, evidence = brute_force(magnitudes, spread, 1.0, freedom)
        assert float(found.cutoff) == pytest.approx(cutoff)
        assert float(found.evidence) == pytest.approx(evidence, rel=1e-2, abs=0.5)  # Stirling


def test_outliers_are_not_in_the_best_set() -> None:
    magnitudes = residuals(0, 200, 60, 0.01)
    found = best_set(magnitudes, np.ones(200), np.asarray(1.0), 20)
    inliers = magnitudes <= float(found.cutoff)
    assert np.count_nonzero(inliers[60:]) >= 138
    assert np.count_nonzero(inliers[:60]) <= 4
    assert float(found.deviation) == pytest.approx(0.01 * math.sqrt(140 / 120), rel=0.2)


def test_best_set_is_a_majority() -> None:
    """40 % fit far more closely, and without the others they would have more evidence."""
    magnitudes = residuals(1, 100, 0, 0.3)
    magnitudes[:40] *= 1e-9
    found = best_set(magnitudes, np.ones(100), np.asarray(1.0), 5)
    assert np.count_nonzero(magnitudes <= float(found.cutoff)) > 50


def test_exact_residuals_and_infinite_ones_have_finite_evidence() -> None:
    magnitudes = np.zeros(100)
    magnitudes[:15], magnitudes[15:30] = math.inf, 1e300  # warnings would be errors
    found = best_set(magnitudes, np.ones(100), np.asarray(1.0), 10)
    assert 500 < float(found.evidence) < 1e4
    assert float(found.cutoff) == 0
    assert 0 < float(found.deviation) < 1e-13


def test_without_more_measurements_than_parameters_there_is_no_evidence() -> None:
    found = best_set(residuals(0, 20, 0, 0.1), np.ones(20), np.asarray(1.0), 20)
    assert float(found.evidence) == -math.inf


def test_libraries_and_batches_agree(xp: Any) -> None:
    magnitudes = np.stack([residuals(seed, 60, 15, 0.05) for seed in range(3)])
    null = np.asarray([1.0, 2.0, 0.5])
    batch = best_set(xp.asarray(magnitudes), xp.asarray(np.ones(60)), xp.asarray(null), 12)
    assert like(batch.cutoff) == like(xp.asarray(null))
    for k in range(3):
        alone = best_set(magnitudes[k], np.ones(60), np.asarray(null[k]), 12)
        for together, single in zip(batch, alone, strict=True):
            assert float(to_numpy(together)[k]) == pytest.approx(float(single))


@pytest.mark.parametrize(("total", "chosen"), [(10, 0), (10, 10), (10, 5), (1000, 900), (40, 1)])
def test_logarithm_of_the_number_of_choices(total: int, chosen: int) -> None:
    exact = gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1)
    found = log_choices(np.asarray([float(total)]), np.asarray([float(chosen)]))
    assert float(found[0]) == pytest.approx(exact, abs=0.15)


def test_small_outliers_are_not_taken_for_noise() -> None:
    """All measurements together have more evidence than inliers beside unrelated values."""
    rng = np.random.default_rng(1)
    small = 0.1 * rng.standard_normal(40)
    magnitudes = np.abs(np.concatenate([small, 0.007 * rng.standard_normal(63)]))
    inliers = magnitudes <= float(best_set(magnitudes, np.ones(103), np.asarray(1.0), 13).cutoff)
    assert np.count_nonzero(inliers[40:]) >= 61
    assert np.count_nonzero(inliers[:40]) <= 8


@pytest.mark.parametrize("kind", ["gaussian", "uniform", "t3"])
def test_the_tails_of_noise_are_kept(kind: str) -> None:
    draws = {
        "gaussian": lambda rng: rng.standard_normal(400),
        "uniform": lambda rng: rng.uniform(-1, 1, 400),
        "t3": lambda rng: rng.standard_t(3, 400),
    }
    for seed in range(10):
        magnitudes = 1e-3 * np.abs(draws[kind](np.random.default_rng(seed)))
        found = best_set(magnitudes, np.ones(400), np.asarray(1.0), 50)
        kept = np.count_nonzero(magnitudes <= float(found.cutoff))
        assert kept >= (400 if kind == "uniform" else 380)
