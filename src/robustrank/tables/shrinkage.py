"""How much of a covariance to take from the sample, by predictions of left-out rows.

The covariance has an inverse Wishart prior around the diagonal of the sample covariance, with the
weight of ν rows. Its mean given n rows with the scatter matrix A is (A + ν diag(A) / n) / (n + ν).
ν maximizes the density of the rows, each given all others (Hoffbeck & Landgrebe, 1996). It is
small if columns are strongly correlated or rows are many, and large if the correlations could be
chance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from robustrank.tables.units import Indices, Values

_WEIGHTS = 1e-5, 100.0  # the range of ν: absolutely, and for each row
# With fewer rows than columns, completed rows would be explained exactly, and so by themselves.
_LEAST_OF_SINGULAR = 0.1
_MOST_LEVERAGE = 1 - 1e-9  # of a row, up to rounding


def shrunk(rows: Values, unknown: Values, missing: Indices) -> tuple[Values, float]:
    """The covariance, and the weight ν of its diagonal.

    ``rows`` are completed and centered. The sum of the covariances of their missing cells is
    ``unknown``; each row contributes to it in proportion to the number of these cells, ``missing``.
    """
    count = len(rows)
    scatter = rows.T @ rows + unknown
    deviations = np.sqrt(np.diagonal(scatter) / count)
    correlations = scatter / np.outer(deviations, deviations)
    values, vectors = np.linalg.eigh(correlations)
    squares = (rows / deviations @ vectors) ** 2
    rest = np.einsum("jk,jk->k", vectors, unknown / np.outer(deviations, deviations) @ vectors)
    squares += np.outer(missing / max(int(missing.sum()), 1), rest)
    least = _WEIGHTS[0] if count > rows.shape[1] else _LEAST_OF_SINGULAR
    least, most = math.log(least), math.log(_WEIGHTS[1] * count)
    best = minimize_scalar(
        lambda log: _loss(math.exp(log), np.maximum(values, 0.0), squares),
        bounds=(least, most),
        method="bounded",
        options={"xatol": 0.01},
    )
    weight = math.exp(best.x)
    np.fill_diagonal(correlations, np.diagonal(correlations) + weight)
    covariance = correlations * np.outer(deviations, deviations) / (count + weight)
    return np.asarray((covariance + covariance.T) / 2), weight


def _loss(weight: float, values: Values, squares: Values) -> float:
    """Minus twice the log density of all rows, each given the others, up to a constant.

    Without one row, the inverse of the scatter matrix follows from that with it by the leverage.
    """
    (count, columns), total = squares.shape, len(squares) + weight - 1
    leverage = np.minimum(squares @ (1 / (values + weight)), _MOST_LEVERAGE)
    determinants = count * float(np.sum(np.log(values + weight)) - columns * math.log(total))
    rows = np.log1p(-leverage) + total * leverage / (1 - leverage)
    return float(determinants + np.sum(rows))
