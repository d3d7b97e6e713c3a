"""Outlier models: the corrupted measurements have the stated distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from robustrank.simulate import OUTLIER_MODELS, plant

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


def test_every_model_has_a_description_for_the_help_text() -> None:
    for name, model in OUTLIER_MODELS.items():
        assert 10 < len(model.description) < 66, name
        assert not model.description.endswith(".")
