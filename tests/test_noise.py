"""Noise models: the sizes of the noise, and who asks for them."""

from __future__ import annotations

import numpy as np
import pytest

import robustrank as rr
from robustrank.noise import EQUAL, NOISE_MODELS, PROPORTIONAL, NoiseModel

FACTORS = np.asarray([1.0, 2.0, 0.5])
PREDICTION = np.asarray([3.0, -1.0, 0.0])


@pytest.mark.parametrize(
    ("model", "expected"), [(PROPORTIONAL, [1.0, 1.0, 1.0]), (EQUAL, [1.0, 2.0, 0.5])]
)
def test_sizes_in_units_of_rows_of_equal_norm(model: NoiseModel, expected: list[float]) -> None:
    assert model.sizes(PREDICTION, FACTORS).tolist() == expected


def test_models_are_found_by_their_names() -> None:
    assert NOISE_MODELS == {"proportional": PROPORTIONAL, "equal": EQUAL}


def planted_rows(equal: bool) -> tuple[np.ndarray, np.ndarray, rr.simulate.Planted]:
    """Rows whose norms differ by a factor of ten, with noise of 1 % of a typical measurement."""
    planted = rr.simulate.plant(20, 15, 2, 500, outliers=0.05, rng=3)
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.uniform(-0.5, 0.5, 500)
    noise = 0.01 * np.median(np.abs(planted.y)) * rng.standard_normal(500)
    A = sizes[:, None, None] * planted.A
    return A, sizes * planted.y + (noise if equal else sizes * noise), planted


@pytest.mark.parametrize("equal", [True, False])
def test_the_model_with_the_most_evidence_is_in_the_result(equal: bool) -> None:
    A, y, planted = planted_rows(equal)
    result = rr.recover(A, y, 2)
    assert result.status is rr.Status.ESTIMATED
    assert result.noise_model == ("equal" if equal else "proportional")
    # The error bars use it: half of the errors of all entries are within 0.67 standard errors.
    error = np.abs(result.matrix - planted.matrix)
    rows, columns = (places.ravel() for places in np.indices(error.shape))
    within = error.ravel() < 0.6745 * result.standard_error(rows, columns)
    assert 0.35 < within.mean() < 0.65


def test_a_saved_result_keeps_its_model(tmp_path: object) -> None:
    A, y, _ = planted_rows(equal=True)
    result = rr.recover(A, y, 2)
    path = f"{tmp_path}/result.npz"
    result.save(path)
    assert rr.load(path).noise_model == "equal"
