"""The weight of the diagonal of a covariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import multigammaln
from tables import correlated

from robustrank.tables.shrinkage import _evidence, shrunk


def test_evidence_is_that_of_an_inverse_wishart_prior_up_to_a_constant() -> None:
    scatter = np.asarray(np.corrcoef(correlated(rows=20).T))
    rows, p = 20, len(scatter)

    def exact(weight: float) -> float:
        """The log probability of the rows with correlations R and the prior IW(ν I, ν + p + 1)."""
        freedom = weight + p + 1
        value = float(multigammaln((freedom + rows) / 2, p) - multigammaln(freedom / 2, p))
        value += freedom / 2 * p * math.log(weight)
        posterior = weight * np.eye(p) + rows * scatter
        return value - (freedom + rows) / 2 * float(np.linalg.slogdet(posterior)[1])

    values = np.asarray(np.linalg.eigvalsh(rows * scatter), float)
    weights = [0.2, 1.0, 5.0, 80.0]
    differences = [_evidence(weight, values, rows) - exact(weight) for weight in weights]
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


@pytest.mark.parametrize("rows", [10, 100, 1000])
def test_independent_columns_are_shrunk_more_than_correlated_ones(rows: int) -> None:
    rng = np.random.default_rng(rows)
    independent = rng.standard_normal((rows, 5))
    same = independent[:, :1] + 0.1 * rng.standard_normal((rows, 5))
    weights = [shrunk(table.T @ table, rows)[1] for table in (independent, same)]
    assert weights[0] > 5 * weights[1]


def test_variances_are_kept_and_correlations_reduced() -> None:
    table = correlated(rows=30)
    scatter = table.T @ table
    covariance, weight = shrunk(scatter, 30)
    np.testing.assert_allclose(np.diagonal(covariance), np.diagonal(scatter) / 30)
    off = ~np.eye(len(scatter), dtype=bool)
    np.testing.assert_allclose(covariance[off], scatter[off] / (30 + weight))


def test_a_singular_scatter_has_a_covariance_of_full_rank() -> None:
    table = correlated(rows=5, columns=8)
    covariance, _ = shrunk(table.T @ table, 5)
    assert np.linalg.eigvalsh(covariance)[0] > 0
