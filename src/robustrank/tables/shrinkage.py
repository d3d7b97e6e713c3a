"""How much of a covariance to take from the sample, by predictions of left-out rows.

The covariance has an inverse Wishart prior around the diagonal of the sample covariance, with the
weight of ν rows. Its mean given n rows with the scatter matrix A is (A + ν diag(A) / n) / (n + ν).
ν maximizes the density of the rows, each given all others (Hoffbeck & Landgrebe, 1996). It is
small if columns are strongly correlated or rows are many, and large if the correlations could be
chance.

What a row says is also repeated by the missing cells of other rows, which were completed with its
help. So the uncertainty of missing cells counts as further rows that are left out with it.
Otherwise completed rows would explain each other exactly if they are fewer than the columns.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from robustrank.tables.units import Indices, Values

_WEIGHTS = 1e-5, 100.0  # the range of ν: absolutely, and for each row
_TRIED = 12  # values of ν between which a minimum is searched; there may be several
_LEAST = 1e-9  # what is left of one without the leverage of a row, up to rounding


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
    repeated = np.outer(missing / max(int(missing.sum()), 1), rest)
    weight = _best_weight(np.maximum(values, 0.0), squares, repeated)
    np.fill_diagonal(correlations, np.diagonal(correlations) + weight)
    covariance = correlations * np.outer(deviations, deviations) / (count + weight)
    return np.asarray((covariance + covariance.T) / 2), weight


def _best_weight(values: Values, squares: Values, repeated: Values) -> float:
    """The weight with the smallest loss."""

    def loss(logarithm: float) -> float:
        return _loss(math.exp(logarithm), values, squares, repeated)

    least, most = math.log(_WEIGHTS[0]), math.log(_WEIGHTS[1] * len(squares))
    tried = np.linspace(least, most, _TRIED)
    best = int(np.argmin([loss(logarithm) for logarithm in tried]))
    bounds = tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)]
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
    return math.exp(found.x)


def _loss(weight: float, values: Values, squares: Values, repeated: Values) -> float:
    """Minus twice the log density of all rows, each given the others, up to a constant.

    Without one row, the inverse of the scatter matrix follows from that with it by the leverage.
    """
    (count, columns), total = squares.shape, len(squares) + weight - 1
    inverse = 1 / (values + weight)
    rest = (1 - np.minimum(squares @ inverse, 1.0)) * np.exp(-repeated @ inverse)
    rest = np.maximum(rest, _LEAST)
    determinants = count * float(np.sum(np.log(values + weight)) - columns * math.log(total))
    return float(determinants + np.sum(np.log(rest) + total * (1 - rest) / rest))
