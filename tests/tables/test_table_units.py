"""Robust units of columns."""

from __future__ import annotations

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
