"""Robust units of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.tables.units import Values, robust_units


def unit_of(values: list[float] | Values) -> tuple[float, float, float]:
    units = robust_units(np.asarray(values, float)[:, None])
    return float(units.center[0]), float(units.scale[0]), float(units.limit[0])


NORMAL = np.random.default_rng(0).standard_normal(4001)

COLUMNS: dict[str, tuple[Values, float, float]] = {
    "normal": (NORMAL, 0, 1),
    "shifted and scaled": (10 - 3 * NORMAL, 10, 3),
    "with 20 % of far values": (np.where(np.arange(4001) % 5 == 0, 1e6, NORMAL), 0.32, 1.4),
    "with missing and infinite values": (np.where(NORMAL > 3, np.inf, NORMAL), 0, 1),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_center_and_scale_are_those_of_most_values(name: str) -> None:
    values, center, scale = COLUMNS[name]
    found = unit_of(values)
    assert found[0] == pytest.approx(center, abs=0.06 * scale)
    assert found[1] == pytest.approx(scale, rel=0.06)
    assert found[2] == np.inf


@pytest.mark.parametrize("values", [[], [3.0], [2.0] * 5, [0.0, 5e-324, 0.0], [np.nan, np.inf]])
def test_every_column_has_finite_units(values: list[float]) -> None:
    center, scale, _ = unit_of(values)
    assert np.isfinite(center)
    assert scale > 0


def test_of_a_column_that_is_mostly_zero_only_values_beyond_the_limit_are_wrong() -> None:
    values = np.zeros(100)
    values[:30] = np.random.default_rng(0).uniform(1, 3, 30)
    values[30] = 500.0
    units = robust_units(values[:, None])
    assert not units.tested[0]
    np.testing.assert_array_equal(np.flatnonzero(units.of(values[:, None])[1]), [30])


def test_original_is_the_inverse_of_of() -> None:
    table = np.random.default_rng(1).standard_normal((20, 3)) * [1, 1e6, 1e-6] + [0, 5, 1]
    units = robust_units(table)
    np.testing.assert_allclose(units.original(units.of(table)[0]), table, rtol=1e-12)


def test_missing_and_infinite_values_are_zero_in_robust_units() -> None:
    table = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0], [np.inf, 7.0]])
    scaled, beyond = robust_units(table).of(table)
    assert scaled[0, 1] == scaled[3, 0] == 0
    assert np.isfinite(scaled).all()
    np.testing.assert_array_equal(beyond, np.isinf(table))


SKEWED: dict[str, tuple[Any, float]] = {  # with the expected skewness
    "normal": (NORMAL, 0.0),
    "log-normal": (np.exp(0.8 * NORMAL), 0.8),
    "mirrored": (-np.exp(0.8 * NORMAL), -0.8),
    "in other units": (1e-6 * np.exp(0.8 * NORMAL) - 273.0, 0.8),
    "very skewed": (np.exp(3 * NORMAL), 1.5),
    "with 4 % of far values": (np.where(np.arange(4001) % 25 == 0, 1e6, np.exp(NORMAL)), 1.25),
    "too few to tell": (np.exp(0.8 * NORMAL[:12]), 0.0),
    "integers with ties": (np.round(np.abs(NORMAL)), 0.0),
    "no values": (np.full(10, np.nan), 0.0),
}


@pytest.mark.parametrize("name", SKEWED)
def test_skewness_is_that_of_the_logarithm(name: str) -> None:
    values, skewness = SKEWED[name]
    units = robust_units(values[:, None]).of_skewed(values[:, None])
    assert units.skewness[0] == pytest.approx(skewness, abs=0.08)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_skewed_column_is_straightened_and_bent_back(sign: float) -> None:
    values = sign * np.exp(0.8 * NORMAL[:400, None])
    units = robust_units(values).of_skewed(values)
    scaled = units.of(values)[0]
    assert np.std(scaled) == pytest.approx(1, rel=0.1)
    assert np.mean(scaled) == pytest.approx(0, abs=0.1)
    # Beyond the bound of the shorter tail, the transformation goes on as a straight line.
    wide = np.linspace(-50, 50, 101)[:, None] * values.std() + values.mean()
    np.testing.assert_allclose(units.original(units.of(wide)[0]), wide, rtol=1e-9)
    assert np.all(np.diff(units.of(wide)[0][:, 0]) > 0)
    deviation = units.deviation(scaled, np.full_like(scaled, 1e-6)) / 1e-6
    steeper = deviation[np.argmax(sign * values)] > 2 * deviation[np.argmin(sign * values)]
    assert steeper.all()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_intervals_are_those_of_the_straightened_values(sign: float) -> None:
    values = sign * np.exp(0.8 * NORMAL[:400, None])
    units = robust_units(values).of_skewed(values)
    middle, spread = np.linspace(-2, 2, 9)[:, None], 0.4
    expected = units.original(middle)
    deviation = units.deviation(middle, np.full_like(middle, spread))
    ends = units.interval(expected, deviation, 2.0)
    for found, end in zip(ends, (middle - 0.8, middle + 0.8), strict=True):
        np.testing.assert_allclose(found, units.original(end), rtol=1e-9)
    plain = robust_units(values).interval(expected, deviation, 2.0)
    np.testing.assert_allclose(plain, [expected - 2 * deviation, expected + 2 * deviation])
