"""Draws of missing cells, with the uncertainty of the model: multiple imputation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robustrank.tables.normal import Normal, blocks
from robustrank.tables.units import Mask, Values


def drawn_models(
    normal: Normal, rows: float, weight: float, count: int, rng: np.random.Generator
) -> Iterator[Normal]:
    """Means and covariances from their posterior: inverse Wishart, and normal given that.

    The posterior has the weight of the rows and of the prior, and the covariance as its mean.
    """
    columns = len(normal.mean)
    freedom = rows + weight + columns + 1
    root = np.linalg.cholesky(normal.precision)
    for _ in range(count):
        # The lower triangular factor of a Wishart matrix, by Bartlett's decomposition.
        factor = np.tril(rng.standard_normal((columns, columns)), -1)
        factor += np.diag(np.sqrt(rng.chisquare(freedom - np.arange(columns))))
        inverse = np.linalg.inv(root @ factor)
        covariance = (freedom - columns - 1) * inverse.T @ inverse
        mean = normal.mean + np.linalg.cholesky(covariance / rows) @ rng.standard_normal(columns)
        yield Normal(mean, covariance)


def drawn_rows(normal: Normal, table: Values, used: Mask, rng: np.random.Generator) -> Values:
    """The used cells, and random values for the others, given the used ones of their row.

    A row is drawn from the normal distribution, and the others get what they would be expected to
    be, plus how far this draw is from what would be expected of it (Matheron's rule).
    """
    root = np.linalg.cholesky(normal.covariance)
    filled = table.copy()
    for rows in blocks(used):
        random = normal.mean + rng.standard_normal((len(rows), len(root))) @ root.T
        difference = np.where(used[rows], table[rows] - random, 0.0)
        correction = Normal(np.zeros(len(root)), normal.covariance).given(difference, used[rows])
        filled[rows] = np.where(used[rows], table[rows], random + correction.completed())
    return filled
