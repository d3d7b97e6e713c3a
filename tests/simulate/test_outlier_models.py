"""Outlier models: the corrupted measurements have the stated distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from robustrank.simulate import OUTLIER_MODELS, find_outlier_model, plant

Array = np.ndarray[Any, Any]


def measured(A: Array, M: Array) -> Array:
    return np.einsum("ijk,jk->i", A.astype(float), M)  # type: ignore[no-any-return]


@pytest.mark.parametrize("model", OUTLIER_MODELS)
def test_exact_number_of_measurements_is_corrupted(model: str) -> None:
    planted = plant(12, 9, 2, 333, outliers=0.1, outlier_model=model, rng=1)
    clean = measured(planted.A, planted.matrix)
    assert planted.outliers.sum() == 33
    assert np.allclose(planted.y[~planted.outliers], clean[~planted.outliers])
    assert not np.any(np.isclose(planted.y[planted.outliers], clean[planted.outliers]))


DISTRIBUTIONS: dict[str, Callable[[Array, float], Any]] = {
    "huge": lambda eta, norm: kstest(eta / (100 * norm), "norm").pvalue > 0.01,
    "scale": lambda eta, norm: kstest(eta / norm, "norm").pvalue > 0.01,
    "impostor": lambda eta, norm: kstest(eta / norm, "norm").pvalue > 0.01,
    "constant": lambda eta, norm: np.allclose(eta, 5 * norm),
    "cauchy": lambda eta, norm: kstest(eta / norm, "cauchy").pvalue > 0.01,
}


@pytest.mark.parametrize("model", DISTRIBUTIONS)
def test_outliers_have_the_stated_distribution(model: str) -> None:
    planted = plant(6, 5, 1, 4000, outliers=0.4, outlier_model=model, rng=8)
    norm = float(np.linalg.norm(planted.matrix))
    assert DISTRIBUTIONS[model](planted.y[planted.outliers], norm)


def test_flip_changes_the_sign_and_one_sided_errors_are_positive() -> None:
    flip = plant(6, 5, 1, 200, outliers=0.3, outlier_model="flip", rng=2)
    clean = measured(flip.A, flip.matrix)
    assert np.allclose(flip.y[flip.outliers], -clean[flip.outliers])
    positive = plant(6, 5, 1, 200, outliers=0.3, outlier_model="one-sided", rng=2)
    errors = positive.y[positive.outliers] - clean[positive.outliers]
    assert np.all(errors > 0)
    norm = np.linalg.norm(positive.matrix)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(10 * norm, rel=0.3)


def test_impostor_outliers_are_measurements_of_one_other_matrix() -> None:
    planted = plant(6, 5, 2, 400, outliers=0.4, outlier_model="impostor", rng=2)
    rows = planted.A[planted.outliers].reshape(-1, 30)
    other = np.linalg.lstsq(rows, planted.y[planted.outliers], rcond=None)[0].reshape(6, 5)
    assert np.allclose(rows @ other.ravel(), planted.y[planted.outliers])
    assert np.linalg.matrix_rank(other, tol=1e-8) == 2
    assert np.linalg.norm(other) == pytest.approx(np.linalg.norm(planted.matrix))


def faulty(model: str, share: float = 0.3) -> tuple[Array, Array, Array]:
    """The outliers, their values before corruption, and all measurements before corruption."""
    planted = plant(6, 5, 1, 201, outliers=share, outlier_model=model, rng=2)
    clean = measured(planted.A, planted.matrix) / np.linalg.norm(planted.matrix)
    y = planted.y / np.linalg.norm(planted.matrix)
    return y[planted.outliers], clean[planted.outliers], clean


@pytest.mark.parametrize(
    ("model", "gain", "offset"),
    [
        ("offset", 1, 0.3),
        ("offset:-0.1", 1, -0.1),
        ("gain", 2, 0),
        ("gain:0.5", 0.5, 0),
        ("dead", 0, 0),
    ],
)
def test_faulty_sensors_report_the_stated_values(model: str, gain: float, offset: float) -> None:
    y, clean, _ = faulty(model)
    assert np.allclose(y, gain * clean + offset)


def test_a_stuck_sensor_repeats_the_last_uncorrupted_measurement() -> None:
    planted = plant(6, 5, 1, 40, outliers=0.5, outlier_model="stuck", rng=2)
    assert planted.outliers[0]  # the last measurement precedes the first
    expected = planted.y[np.flatnonzero(~planted.outliers)[-1]]
    for value, corrupted in zip(planted.y, planted.outliers, strict=True):
        expected = expected if corrupted else value
        assert value == expected


def test_saturated_measurements_are_clipped_at_the_median() -> None:
    y, clean, everything = faulty("saturated")
    median = np.median(np.abs(everything))
    assert np.allclose(y, np.clip(clean, -median, median))
    with pytest.raises(ValueError, match="can change only 100"):
        faulty("saturated", 0.6)


@pytest.mark.parametrize("share", [0.3, 0.01, 5 / 201])  # 60, 2 and 5 outliers
def test_swapped_measurements_are_a_permutation(share: float) -> None:
    y, clean, _ = faulty("swapped", share)
    assert np.allclose(np.sort(y), np.sort(clean))
    with pytest.raises(ValueError, match="at least two"):
        faulty("swapped", 1 / 201)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("offset:", "expected a number after the colon"),
        ("gain:inf", "expected a number after the colon"),
        ("huge:2", "huge has no strength; expected 'huge'"),
        ("odd:2", "is not known; expected one of huge"),
    ],
)
def test_invalid_names_raise(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_outlier_model(name)


def test_every_model_has_a_description_for_the_help_text() -> None:
    for name, model in OUTLIER_MODELS.items():
        assert 10 < len(model.description) < 66, name
        assert not model.description.endswith(".")
