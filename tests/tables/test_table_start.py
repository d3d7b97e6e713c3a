"""The first normal distribution."""

from __future__ import annotations

import numpy as np
import pytest
from tables import correlated, some

from robustrank.tables.start import first_normal, wrapped
from robustrank.tables.units import robust_units


def test_wrapped_values_are_kept_near_zero_and_vanish_far_away() -> None:
    values = np.linspace(-6, 6, 1201)
    found = wrapped(values)
    near, far = np.abs(values) < 1.5, np.abs(values) >= 4
    np.testing.assert_array_equal(found[near], values[near])
    np.testing.assert_array_equal(found[far], 0)
    np.testing.assert_allclose(found, -found[::-1], atol=1e-12)
    assert np.abs(np.diff(found)).max() < 0.02  # continuous


@pytest.mark.parametrize("far", [10.0, 1e6])
def test_far_cells_and_rows_hardly_change_the_correlations(far: float) -> None:
    table = correlated(rows=400)
    spoiled = table + far * some(table.shape, 0.05)
    spoiled[:40] = far
    found = []
    for one in (table, spoiled):
        units = robust_units(one)
        covariance = first_normal(units.of(one)[0], ~np.isnan(one), units.tested).covariance
        deviations = np.sqrt(np.diagonal(covariance))
        found.append(covariance / np.outer(deviations, deviations))
    np.testing.assert_allclose(found[0], found[1], atol=0.2)


def test_the_covariance_is_positive_definite_even_with_few_common_cells() -> None:
    table = correlated(rows=12, columns=9)
    normal = first_normal(table, ~some(table.shape, 0.6), np.ones(9, bool))
    assert np.linalg.eigvalsh(normal.covariance)[0] > 0
