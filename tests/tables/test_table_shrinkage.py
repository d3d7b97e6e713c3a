"""The weight of the diagonal of a covariance."""

from __future__ import annotations

import numpy as np
import pytest
from tables import correlated

from robustrank.tables import Normal, fit_table
from robustrank.tables.shrinkage import Spectrum, shrunk
from robustrank.tables.units import Indices, Values

ANY = Normal(np.zeros(1), np.eye(1))


def of_complete(rows: Values) -> tuple[Values, float]:
    """The covariance of rows without missing cells."""
    return of_completed(rows, np.zeros((rows.shape[1],) * 2), np.zeros(len(rows), np.intp))


def of_completed(rows: Values, unknown: Values, missing: Indices) -> tuple[Values, float]:
    normal, weight = shrunk(ANY, rows, unknown, np.zeros(rows.shape[1]), missing)
    return normal.covariance, weight


@pytest.mark.parametrize("weight", [0.3, 4.0, 90.0])
def test_loss_is_minus_twice_the_log_density_of_left_out_rows(weight: float) -> None:
    rows = correlated(rows=12)
    rows = rows / np.sqrt(np.mean(rows**2, axis=0))
    scatter, exact = rows.T @ rows, 0.0
    for row in rows:
        rest = scatter - np.outer(row, row) + weight * np.eye(len(row))
        covariance = rest / (len(rows) - 1 + weight)
        exact += np.linalg.slogdet(covariance)[1] + row @ np.linalg.solve(covariance, row)
    values, vectors = np.linalg.eigh(scatter)
    squares = (rows @ vectors) ** 2
    spectrum = Spectrum(values, np.ones_like(values), squares, np.zeros_like(squares))
    assert spectrum.loss(weight) == pytest.approx(exact)


@pytest.mark.parametrize("rows", [10, 100, 1000])
def test_independent_columns_are_shrunk_more_than_correlated_ones(rows: int) -> None:
    rng = np.random.default_rng(rows)
    independent = rng.standard_normal((rows, 5))
    same = independent[:, :1] + 0.1 * rng.standard_normal((rows, 5))
    assert of_complete(independent)[1] > 5 * of_complete(same)[1]


def test_variances_are_kept_and_correlations_reduced() -> None:
    table = correlated(rows=30)
    covariance, weight = of_complete(table)
    np.testing.assert_allclose(np.diagonal(covariance), np.mean(table**2, axis=0))
    off = ~np.eye(len(covariance), dtype=bool)
    np.testing.assert_allclose(covariance[off], (table.T @ table)[off] / (30 + weight))


def test_unknown_cells_count_like_rows_with_their_variance() -> None:
    table = correlated(rows=30)
    unknown, missing = np.diag(np.arange(1.0, 7)), np.arange(30) % 3
    covariance, weight = of_completed(table, unknown, missing)
    off = ~np.eye(len(covariance), dtype=bool)
    np.testing.assert_allclose(covariance[off], (table.T @ table)[off] / (30 + weight))
    expected = np.mean(table**2, axis=0) + np.arange(1, 7) / 30
    np.testing.assert_allclose(np.diagonal(covariance), expected)


def test_fewer_rows_than_columns_have_a_covariance_of_full_rank() -> None:
    covariance, _ = of_complete(correlated(rows=5, columns=8))
    assert np.linalg.eigvalsh(covariance)[0] > 0


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_cells_of_few_rows_are_predicted_although_their_noise_could_be_explained(
    missing: float,
) -> None:
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 150))
    table = factors + rng.standard_normal(factors.shape)
    hidden = rng.random(table.shape) < missing
    given = np.where(hidden, np.nan, table)
    error = (fit_table(given)[1].expected - factors)[hidden]
    assert np.sqrt(np.mean(error**2)) < 0.7  # that of the mean is 2


def test_the_weight_has_the_least_loss_of_all() -> None:
    rows = np.random.default_rng(2).standard_normal((40, 60))
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values, squares = np.maximum(values, 0.0), (rows @ vectors) ** 2
    spectrum = Spectrum(values, np.ones_like(values), squares, np.zeros_like(squares))
    found = spectrum.loss(spectrum.best_weight())
    others = [spectrum.loss(weight) for weight in np.geomspace(1e-5, 4e3, 200)]
    assert found <= min(others) + 1e-2 * abs(min(others))
