"""Planted problems whose sensing matrices are regenerated from a seed."""

from __future__ import annotations

import tracemalloc
from typing import Literal

import numpy as np
import pytest

from robustrank.simulate import plant, plant_seeded, sensing_seed


@pytest.mark.parametrize("ensemble", ["gaussian", "sign"])
def test_y_has_the_measurements_of_the_matrix(
    ensemble: Literal["gaussian", "sign"], dtype: str
) -> None:
    planted = plant_seeded(12, 9, 2, 300, ensemble=ensemble, outliers=0.1, dtype=dtype, rng=4)
    entries = np.stack([planted.A.measure(*_entry(k)) for k in range(12 * 9)], axis=1)
    expected = entries @ planted.matrix.ravel()
    fits = np.abs(planted.y - expected) <= 10 * np.finfo(dtype).eps * np.abs(expected).max()
    assert np.array_equal(fits, ~planted.outliers)
    assert planted.outliers.sum() == 30
    assert planted.y.dtype == planted.A.dtype


def _entry(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the matrix with a one at one place."""
    return np.eye(12)[:, [k // 9]], np.eye(9)[:, [k % 9]]


def test_the_truth_is_that_of_a_stored_problem() -> None:
    stored = plant(12, 9, 2, 300, condition_number=5, outliers=0.1, rng=4)
    seeded = plant_seeded(12, 9, 2, 300, condition_number=5, outliers=0.1, rng=4)
    assert np.array_equal(stored.matrix, seeded.matrix)
    assert np.array_equal(stored.outliers, seeded.outliers)
    assert stored.seed == seeded.seed
    assert not np.allclose(stored.y, seeded.y)


def test_outliers_of_an_impostor_are_its_measurements() -> None:
    planted = plant_seeded(6, 5, 1, 200, outliers=0.4, outlier_model="impostor", rng=2)
    rows = np.stack(
        [
            planted.A.measure(np.eye(6)[:, [i]], np.eye(5)[:, [j]])
            for i in range(6)
            for j in range(5)
        ]
    ).T[planted.outliers]
    other = np.linalg.lstsq(rows, planted.y[planted.outliers])[0]
    assert np.allclose(rows @ other, planted.y[planted.outliers])
    assert np.linalg.norm(other) == pytest.approx(np.linalg.norm(planted.matrix))


def test_noise_is_added() -> None:
    quiet, noisy = (plant_seeded(12, 9, 2, 300, bounded_noise=noise, rng=4) for noise in (0, 0.1))
    size = 0.1 * np.linalg.svd(quiet.matrix, compute_uv=False)[1]
    assert 0.9 * size < np.abs(noisy.y - quiet.y).max() <= size


def test_the_sensing_data_is_not_stored_and_progress_is_shown() -> None:
    fractions: list[float] = []
    tracemalloc.start()
    plant_seeded(100, 80, 2, 2500, ensemble="sign", rng=1, progress=fractions.append)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 2500 * 100 * 80
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="rank=7; expected 1 ≤ rank"):
        plant_seeded(6, 5, 7, 100)
    with pytest.raises(ValueError, match="ensemble='odd'; expected"):
        plant_seeded(6, 5, 1, 100, ensemble="odd")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'odd' is not known"):
        plant_seeded(6, 5, 1, 100, outlier_model="odd")


def test_the_seed_of_the_sensing_data_is_recorded() -> None:
    assert sensing_seed(4) == SENSING_SEED  # a change would change every file with seeded data


SENSING_SEED = 1436796657767296046
