"""Planted problems of completion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.simulate import ENTRY_OUTLIER_MODELS, plant_entries


def test_values_are_entries_of_the_matrix() -> None:
    planted = plant_entries(30, 20, 3, 200, rng=1)
    np.testing.assert_allclose(planted.values, planted.matrix[planted.rows, planted.columns])
    assert np.linalg.matrix_rank(planted.matrix) == 3
    assert len(set(zip(planted.rows, planted.columns, strict=True))) == 200
    assert np.nansum(np.isfinite(planted.incomplete)) == 200


@pytest.mark.parametrize("model", ENTRY_OUTLIER_MODELS)
def test_only_outliers_differ_from_the_matrix(model: str) -> None:
    planted = plant_entries(30, 20, 3, 400, outliers=0.25, outlier_model=model, rng=1)
    truth = planted.matrix[planted.rows, planted.columns]
    assert planted.outliers.sum() == 100
    np.testing.assert_allclose(planted.values[~planted.outliers], truth[~planted.outliers])
    assert (np.abs(planted.values - truth)[planted.outliers] > 1e-6).all()


def test_noise_is_relative_to_an_entry() -> None:
    planted = plant_entries(200, 200, 3, 40_000, noise=0.1, rng=1)
    error = planted.values - planted.matrix[planted.rows, planted.columns]
    assert error.std() / planted.matrix.std() == pytest.approx(0.1, rel=0.03)


def test_condition_number_and_scales() -> None:
    values = np.linalg.svd(plant_entries(30, 20, 3, 10, condition_number=50.0, rng=1).matrix)[1]
    assert values[0] / values[2] == pytest.approx(50)
    sizes = np.linalg.norm(plant_entries(500, 20, 3, 10, scales=1.0, rng=1).matrix, axis=1)
    assert 0.8 < np.log(sizes).std() < 1.3


def test_power_law_has_scarce_rows() -> None:
    planted = plant_entries(300, 250, 2, 9_000, sampling="power-law", rng=1)
    counts = np.bincount(planted.rows, minlength=300)
    assert 8_000 < len(planted.rows) < 10_000
    assert counts.max() > 10 * np.median(counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outliers": 1.0}, "expected a fraction"),
        ({"outlier_model": "none"}, "is not known; expected one of huge, scale"),
        ({"sampling": "none"}, "sampling='none' is not known"),
        ({"noise": -1.0}, "noise=-1.0"),
    ],
)
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plant_entries(30, 20, 3, 200, **options)


def test_more_entries_than_the_matrix_has() -> None:
    with pytest.raises(ValueError, match="has only 600"):
        plant_entries(30, 20, 3, 601)


def test_outliers_of_the_largest_size_have_both_signs() -> None:
    planted = plant_entries(20, 15, 2, 300, outliers=0.2, outlier_model="max", rng=1)
    values = planted.values[planted.outliers]
    largest = np.abs(planted.matrix).max()
    np.testing.assert_allclose(np.sort(np.unique(values)), [-largest, largest])
