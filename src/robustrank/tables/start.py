"""A first normal distribution that far values cannot spoil."""

from __future__ import annotations

import numpy as np

from robustrank.tables.factors import Distribution, FactorNormal, largest, needs_factors
from robustrank.tables.normal import Normal
from robustrank.tables.units import Mask, Values

# The wrapping function of Raymaekers and Rousseeuw (2021), with the constants of that paper: values
# up to 1.5 robust deviations as they are, then smaller and smaller, zero from 4 on.
_LINEAR, _ZERO, _HEIGHT, _SLOPE = 1.5, 4.0, 1.540793, 0.8622731
FAR = 3.5  # robust deviations of a value, or of the logarithm of the distance of a row
MOST_FAR = 0.3  # of the values of a row; with more, the row is left out
_LEAST_SHRINKAGE = 0.05  # of the correlations toward zero


def wrapped(table: Values) -> Values:
    """Values in robust units, with bounded and finally no influence."""
    size = np.abs(table)
    tail = np.sign(table) * _HEIGHT * np.tanh(_SLOPE * (_ZERO - np.minimum(size, _ZERO)))
    return np.where(size < _LINEAR, table, tail)


def first_normal(table: Values, usable: Mask, tested: Mask) -> Distribution:
    """The covariance of values in robust units, about zero; wrapped in columns that are tested.

    Rows that are larger than usual have the influence of a row of usual size.
    """
    far = ((np.abs(table) > FAR) & usable & tested).sum(axis=1) > MOST_FAR * usable.sum(axis=1)
    used = (usable & ~far[:, None]).astype(float)
    values = np.where(tested, wrapped(table), table) * used
    weights = _influence(values, used)[:, None]
    values, used = weights * values, weights * used
    return _first_factors(values, used) if needs_factors(values) else _first_full(values, used)


def _first_full(values: Values, used: Values) -> Normal:
    """The covariance of pairs of columns, which may be negative, made positive."""
    rows, columns = values.shape
    covariance = values.T @ values / np.maximum(used.T @ used, 1)
    deviations = np.sqrt(np.diagonal(covariance))
    deviations = np.where(deviations > 0, deviations, 1.0)
    correlations = np.clip(covariance / np.outer(deviations, deviations), -1, 1)
    values, vectors = np.linalg.eigh(correlations)
    correlations = (vectors * np.maximum(values, 0)) @ vectors.T
    shrinkage = _shrinkage(rows, columns)
    correlations = (correlations + shrinkage * np.eye(columns)) / (1 + shrinkage)
    return Normal(np.zeros(columns), correlations * np.outer(deviations, deviations))


def _first_factors(values: Values, used: Values) -> FactorNormal:
    """The largest components of the values, as if unused ones were zero."""
    rows, columns = values.shape
    deviations = np.sqrt(np.sum(values**2, axis=0) / np.maximum(np.sum(used**2, axis=0), 1))
    deviations = np.where(deviations > 0, deviations, 1.0)
    found = largest(values / deviations / np.sqrt(np.maximum(np.sum(used**2, axis=0), 1)))
    shrinkage = _shrinkage(rows, columns)
    part = deviations**2 / (1 + shrinkage)
    loadings = np.sqrt(part)[:, None] * found.vectors * np.sqrt(found.values)
    return FactorNormal(np.zeros(columns), loadings, part * (found.rest + shrinkage))


def _shrinkage(rows: int, columns: int) -> float:
    return max(columns / rows, _LEAST_SHRINKAGE)


def _influence(values: Values, used: Values) -> Values:
    """At most one, so that no row is larger than usual after multiplication."""
    sizes = np.sqrt(np.sum(values**2, axis=1) / np.maximum(used.sum(axis=1), 1))
    usual = np.median(sizes[sizes > 0]) if sizes.any() else 1.0
    return np.asarray(np.minimum(usual / np.where(sizes > 0, sizes, usual), 1.0))
