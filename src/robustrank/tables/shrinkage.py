"""How much of a covariance to take from the sample, by the evidence.

The covariance has an inverse Wishart prior around the diagonal of the sample covariance, with the
weight of ν rows. Its mean given n rows with the scatter matrix A is (A + ν diag(A) / n) / (n + ν).
ν maximizes the probability of the rows: it is small if columns are strongly correlated or rows are
many, and large if the correlations could be chance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from robustrank.tables.units import Values

_WEIGHTS = 0.1, 100.0  # the range of ν: absolutely, and for each row


def shrunk(scatter: Values, rows: int) -> tuple[Values, float]:
    """The covariance, and the weight ν of its diagonal."""
    deviations = np.sqrt(np.diagonal(scatter) / rows)
    correlations = scatter / np.outer(deviations, deviations)
    values = np.maximum(np.linalg.eigvalsh(correlations), 0.0)
    least, most = math.log(_WEIGHTS[0]), math.log(_WEIGHTS[1] * rows)
    best = minimize_scalar(
        lambda log: -_evidence(math.exp(log), values, rows),
        bounds=(least, most),
        method="bounded",
        options={"xatol": 0.01},
    )
    weight = math.exp(best.x)
    np.fill_diagonal(correlations, np.diagonal(correlations) + weight)
    covariance = correlations * np.outer(deviations, deviations) / (rows + weight)
    return np.asarray((covariance + covariance.T) / 2), weight


def _evidence(weight: float, values: Values, rows: int) -> float:
    """The log probability of the rows, without terms that do not depend on the weight."""
    p = len(values)
    freedom = weight + p + 1 - np.arange(p)
    normalization = gammaln((freedom + rows) / 2) - gammaln(freedom / 2)
    decay = (weight + p + 1) * p * math.log(weight)
    decay -= (weight + p + 1 + rows) * float(np.sum(np.log(weight + values)))
    return float(np.sum(normalization)) + decay / 2
