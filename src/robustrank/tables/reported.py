"""The covariance that is reported: close to that of the rows, not the best for predictions.

Predictions of left-out cells ask for more shrinkage than an estimate of the covariance itself, and
for missing cells what the shrunk covariance says about them is shrunk too. So some steps of
expectation-maximization go on without shrinkage. The eigenvalues of the correlations are then
shrunk each by its own amount, so that the divergence between two normal distributions is small if
rows and columns are many: linear-inverse shrinkage (Ledoit & Wolf, Quadratic shrinkage for large
covariance matrices, 2022).
"""

from __future__ import annotations

import numpy as np

from robustrank.tables.normal import Given, Normal
from robustrank.tables.units import Values

_POWER = 0.35  # of the bandwidth of the eigenvalues, as in the paper


def likeliest(before: Normal, given: Given, centered: bool, least: float) -> Normal:
    """A step of expectation-maximization, without shrinkage.

    ``least`` is the least variance, and the share of it that is added to that of each column:
    columns may be collinear.
    """
    completed = given.completed
    mean = completed.mean(axis=0) * centered
    rest, unknown = completed - mean, before.unknown(given)
    covariance = (rest.T @ rest + (unknown + unknown.T) / 2) / len(completed)
    variances = np.diagonal(covariance)
    more = np.maximum(least - variances, least * variances)
    return Normal(mean, covariance + np.diag(more))


def less_biased(normal: Normal, rows: int) -> Normal:
    """The distribution with the eigenvalues of its correlations shrunk; it is that of ``rows``."""
    deviations = np.sqrt(normal.variances)
    scale = np.outer(deviations, deviations)
    return Normal(normal.mean, _shrunk(normal.covariance / scale, rows - 1) * scale)


def _shrunk(correlations: Values, free: int) -> Values:
    """Correlations with smaller large eigenvalues, and larger small ones."""
    values, vectors = np.linalg.eigh(correlations)
    ratio, inverse = len(values) / free, 1 / values
    width = (ratio**2 / len(values)) ** _POWER * inverse
    differences = inverse - inverse[:, None]
    theta = np.mean(inverse * differences / (differences**2 + width**2), axis=1)
    inverse = np.maximum((1 - ratio + 2 * ratio * theta) * inverse, inverse.min())
    return np.asarray((vectors / inverse) @ vectors.T)
