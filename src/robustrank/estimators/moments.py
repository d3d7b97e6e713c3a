"""The distribution of the correct rows of a table: mean, covariance, and how probable rows are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robustrank.estimators.rows import table_of
from robustrank.result import Result
from robustrank.tables import Mask, Normal, TableModel, Values
from robustrank.tables.clean_table import components
from robustrank.tables.wrong_cells import log_density_of_wrong

_LEAST = 1e-8  # variance of a cell given the others, in robust units: a density has to be finite
_ROUNDING = 1e-10  # eigenvalues of an exact covariance, relative to the largest one


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean and the covariance of the correct rows, in the units of the data.

    ``rank`` is the number of components whose variance exceeds what noise would give. The mean of
    columns without values is NaN, and their covariance is zero.
    """

    mean: Values
    covariance: Values
    rank: int


def moments_of(result: Result) -> Moments:
    """The moments of the certified matrix, or else of the normal model."""
    table = table_of(result)
    if result.certified:
        return _of_matrix(result)
    model, known = table.model, np.flatnonzero(~table.empty_columns)
    if not len(known):
        return Moments(np.full(len(model.mean), np.nan), np.zeros_like(model.covariance), 1)
    part = Normal(model.normal.mean[known], model.normal.covariance[np.ix_(known, known)])
    covariance = np.zeros_like(model.covariance)
    covariance[np.ix_(known, known)] = model.covariance[np.ix_(known, known)]
    mean = np.where(table.empty_columns, np.nan, model.mean)
    return Moments(mean, covariance, len(components(part, len(table.given))[0]))


def _of_matrix(result: Result) -> Moments:
    """The moments of the decided rows of a matrix, and the noise of each column.

    Columns that are not decided have no correlations.
    """
    table = table_of(result)
    used = ~table.wrong_rows
    used[result.undecided_rows] = False
    left, right = result.left[used], result.right.copy()
    right[result.undecided_columns] = 0.0
    rows = max(len(left) - 1, 1)
    centered = left - left.mean(axis=0)
    low_rank = right @ (centered.T @ centered / rows) @ right.T
    fitted = ~table.replaced[used]
    squares = np.where(fitted, table.given[used] - left @ right.T, 0.0) ** 2
    noise = squares.sum(axis=0) / np.maximum(fitted.sum(axis=0), 1)
    mean = right @ left.mean(axis=0)
    model, other = table.model, result.undecided_columns
    mean[other], noise[other] = model.mean[other], np.diagonal(model.covariance)[other]
    noise[table.empty_columns], mean[table.empty_columns] = 0.0, np.nan
    scale = model.units.scale
    variances = np.linalg.eigvalsh(low_rank / np.outer(scale, scale))
    decided = np.delete(noise / scale**2, other)
    edge = decided.max(initial=0.0) * (1 + math.sqrt(len(scale) / rows)) ** 2
    edge = max(edge, _ROUNDING * variances[-1])
    return Moments(mean, low_rank + np.diag(noise), max(int(np.sum(variances > edge)), 1))


def log_densities(
    result: Result, mean: Values, covariance: Values, X: Values, wrong: Mask
) -> tuple[Values, Values]:
    """The log densities of rows as right and as wrong ones, with how frequent these are.

    The cells of a right row that are not wrong have the normal distribution; all others have the
    density of wrong cells. Missing cells are left out, and infinite ones count as wrong.
    """
    table = table_of(result)
    model, units = table.model, table.model.units
    rows = np.where(table.empty_columns, np.nan, X)
    scaled, beyond = units.of(rows)
    seen = ~np.isnan(rows)
    used = seen & ~beyond & ~wrong
    independent = np.where(seen & ~beyond, log_density_of_wrong(scaled), 0.0)
    right = _normal(table.model, mean, covariance).given(scaled, used).log_density()
    right += used.sum(axis=1) * math.log1p(-model.wrong_cells)
    right += np.sum(np.where(used, 0.0, independent), axis=1)
    right += math.log(model.wrong_cells) * np.sum(seen & ~used, axis=1)
    in_units = -np.where(seen, np.log(units.scale), 0.0).sum(axis=1)
    return (
        in_units + right + math.log1p(-model.wrong_rows),
        in_units + independent.sum(axis=1) + math.log(model.wrong_rows),
    )


def _normal(model: TableModel, mean: Values, covariance: Values) -> Normal:
    """The distribution in robust units; columns without values, which are not used, have none."""
    units = model.units
    scaled = covariance / np.outer(units.scale, units.scale)
    place = np.arange(len(scaled))
    scaled[place, place] = scaled[place, place] + _LEAST
    return Normal(np.nan_to_num((mean - units.center) / units.scale), scaled)
