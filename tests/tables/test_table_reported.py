"""The covariance that is reported."""

from __future__ import annotations

import numpy as np
import pytest
from tables import correlated

from robustrank.tables import Normal, fit_table
from robustrank.tables.reported import less_biased, likeliest
from robustrank.tables.units import Values


def divergence(estimate: Values, covariance: Values) -> float:
    """Stein's loss."""
    product = np.linalg.solve(covariance, estimate)
    return float(np.trace(product) - np.linalg.slogdet(product)[1] - len(product))


def planted(columns: int = 20) -> Values:
    """A covariance with small and large eigenvalues."""
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((columns, columns)))[0]
    return np.asarray((axes * np.geomspace(1, 100, columns)) @ axes.T)


def drawn(covariance: Values, rows: int, seed: int = 0) -> Values:
    rng = np.random.default_rng(seed)
    zero = np.zeros(len(covariance))
    return np.asarray(rng.multivariate_normal(zero, covariance, rows))


def test_steps_without_shrinkage_have_the_moments_of_complete_rows() -> None:
    rows, used = correlated(), np.ones((60, 6), bool)
    before = Normal(np.zeros(6), np.eye(6))
    found = likeliest(before, before.given(rows, used), True, 0.0)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0))
    np.testing.assert_allclose(found.covariance, np.cov(rows.T, bias=True), rtol=1e-6)


@pytest.mark.parametrize("rows", [30, 60])
def test_shrunk_eigenvalues_are_closer_to_the_truth(rows: int) -> None:
    covariance = planted()
    found = np.cov(drawn(covariance, rows).T)
    less = less_biased(Normal(np.zeros(20), found), rows).covariance
    assert divergence(less, covariance) < 0.9 * divergence(found, covariance)


def test_it_is_closer_to_the_truth_than_that_for_predictions() -> None:
    covariance, sums = planted(), np.zeros(2)
    for seed in range(3):
        table = drawn(covariance, 60, seed)
        table[np.random.default_rng(2).random(table.shape) < 0.1] = np.nan
        model = fit_table(table, transform_skewed=False)[0]
        best = model.normal.covariance * np.outer(model.units.scale, model.units.scale)
        sums += [divergence(found, covariance) for found in (model.covariance, best)]
    assert sums[0] < 0.95 * sums[1]


def test_a_separated_group_of_rows_does_not_count() -> None:
    covariance = planted()
    table = drawn(covariance, 400)
    values, axes = np.linalg.eigh(covariance)
    table[:40] += 13 * np.sqrt(values[0]) * axes[:, 0]
    model = fit_table(table, transform_skewed=False)[0]
    assert divergence(model.covariance, covariance) < 1.0


@pytest.mark.parametrize("rows", [5, 6])
def test_it_is_the_same_without_more_rows_than_columns(rows: int) -> None:
    model = fit_table(correlated(rows=rows), transform_skewed=False)[0]
    assert model.reported is model.normal
