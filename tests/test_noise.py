"""Noise models: the sizes of the noise, and who asks for them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.noise import EQUAL, KNOWN, PROPORTIONAL, Conditions, NoiseModel

PREDICTION = np.asarray([3.0, -1.0, 0.0])
CONDITIONS = Conditions(
    count=3,
    row_factors=np.asarray([1.0, 2.0, 0.5]),
    typical=2.0,
    one=4.0,
    known=np.asarray([1.0, 1.0, 4.0]),
    groups={"groups": np.asarray([0, 1, 1])},
)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (PROPORTIONAL, [1.0, 1.0, 1.0]),
        (EQUAL, [1.0, 2.0, 0.5]),
        (KNOWN, [1.0, 2.0, 2.0]),
        # Predictions of 1.5, 0.25 and 0 typical measurements as they were given.
        (
            NoiseModel(growth=0.75, law="square", typical=2.0),
            [(0.25 + 0.75 * 2.25) ** 0.5, 2 * (0.25 + 0.75 / 16) ** 0.5, 0.25],
        ),
        (
            NoiseModel(growth=0.75, law="linear", typical=2.0),
            [(0.25 + 0.75 * 1.5) ** 0.5, 2 * (0.25 + 0.75 / 4) ** 0.5, 0.25],
        ),
        (NoiseModel(of_rows=True, growth=1.0, law="square", typical=2.0), [1.5, 0.5, 0.0]),
        (NoiseModel(groups="groups", levels=(3.0, 0.1)), [3.0, 0.2, 0.05]),
        (NoiseModel(groups="groups", levels=(3.0,)), [3.0, 2.0, 0.5]),  # none of the last group
    ],
)
def test_sizes_in_units_of_rows_of_equal_norm(model: NoiseModel, expected: list[float]) -> None:
    assert model.sizes(PREDICTION, CONDITIONS).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (EQUAL, "equal for all"),
        (PROPORTIONAL, "in proportion to the norm of A_i"),
        (KNOWN, "in proportion to noise_scale"),
        (
            NoiseModel(growth=0.84, law="square", typical=5.0),
            "σ² = 0.2² + (9.17% of the prediction)²",
        ),
        (NoiseModel(growth=0.84, law="linear", typical=5.0), "σ² = 0.2² + 0.042 · |prediction|"),
        (
            NoiseModel(groups="columns", levels=(0.1, 4.0, 1.0)),
            "a level for each column, from 0.05 to 2",
        ),
    ],
)
def test_models_are_described_with_their_numbers(model: NoiseModel, words: str) -> None:
    assert model.describe(0.5) == words


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
    assert result.noise_model.of_rows is not equal
    assert result.noise_model.growth == 0
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
    assert rr.load(path).noise_model == result.noise_model
    assert "equal for all" in str(rr.load(path))


def uneven(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, y with 10 % outliers, the matrix, and the standard deviation of each measurement."""
    rng = np.random.default_rng(seed)
    planted = rr.simulate.plant(24, 20, 2, 340, rng=seed)
    typical = np.median(np.abs(planted.y))
    sizes = {
        "signal": np.hypot(2e-3 * typical, 0.03 * planted.y),
        "counts": np.sqrt((2e-3 * typical) ** 2 + 4e-4 * typical * np.abs(planted.y)),
        "groups": 0.003 * typical * 8.0 ** (np.arange(340) % 4 - 2),
        "known": 0.02 * typical * 10 ** rng.uniform(-1, 1, 340),
    }[kind]
    y = planted.y + sizes * rng.standard_normal(340)
    wrong = rng.choice(340, 34, replace=False)
    y[wrong] = 50 * typical * rng.standard_normal(34)
    return planted.A, y, planted.matrix, sizes


@pytest.mark.parametrize("kind", ["signal", "counts", "groups", "known"])
def test_uneven_noise_is_certified_with_a_smaller_error(kind: str) -> None:
    """Fits that take the noise for equal have up to twice the error, or are not certified."""
    options: dict[str, Any] = {"groups": {"groups": np.arange(340) % 4}}
    for seed in (1, 2):
        A, y, M, sizes = uneven(kind, seed)
        if kind == "known":
            options = {"known": {"noise_scale": 5 * sizes}}
        result = rr.recover(A, y, 2, **options.get(kind, {}))
        assert result.status is rr.Status.ESTIMATED
        model = result.noise_model
        assert (model.growth > 0.5) is (kind in ("signal", "counts"))
        assert len(model.levels) == (4 if kind == "groups" else 0)
        assert model.known is (kind == "known")
        error = np.abs(result.matrix - M)
        places = np.indices(M.shape).reshape(2, -1)
        half = 0.6745 * result.standard_error(*places)
        assert 0.4 < np.mean(error.ravel() < half) < 0.6


def test_equal_noise_is_taken_for_equal() -> None:
    for seed in range(4):
        planted = rr.simulate.plant(20, 15, 2, 300, noise=0.02, outliers=0.1, rng=seed)
        model = rr.recover(planted.A, planted.y, 2, groups=np.arange(300) % 10).noise_model
        assert model.growth <= 0.2
        assert not model.levels


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones(3), "noise_scale has shape (3,)"),
        (np.zeros(300), "not positive and finite"),
        (np.full(300, np.nan), "not positive and finite"),
        (np.full(300, "1"), "dtype <U1"),
    ],
)
def test_wrong_sizes_of_the_noise_are_refused(given: np.ndarray, words: str) -> None:
    planted = rr.simulate.plant(20, 15, 2, 300, rng=1)
    with pytest.raises(ValueError, match=re.escape(words)):
        rr.recover(planted.A, planted.y, 2, noise_scale=given)


@pytest.mark.parametrize("digits", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("entries", [False, True])
def test_rounding_to_significant_digits_is_noise(digits: int, entries: bool) -> None:
    """Also beside the powers of ten, where the size of the last digit changes."""
    for seed in (0, 1):
        if entries:
            sampled = rr.simulate.plant_entries(50, 40, 2, 1100, rng=seed)
            clean, M = sampled.values, sampled.matrix
        else:
            planted = rr.simulate.plant(30, 24, 2, 600, rng=seed)
            clean, M = planted.y, planted.matrix
        last = 10.0 ** (np.floor(np.log10(np.abs(clean))) - digits + 1)
        y = last * np.round(clean / last)
        if entries:
            result = rr.complete((sampled.rows, sampled.columns, y), shape=(50, 40))
        else:
            result = rr.recover(planted.A, y)
        error = np.linalg.norm(result.matrix - M) / np.linalg.norm(M)
        assert result.certified
        assert error < max(result.error_bound, 1e-6)
        assert error < 0.02 * 10.0 ** (2 - digits)
        if digits < 6:
            assert result.noise_model.law == "digits"
