"""The distribution of the correct rows of a table: mean, covariance, and how probable rows are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from robustrank.api.streaming import RowModel, table_of
from robustrank.estimators.rows import Rows
from robustrank.result import Result
from robustrank.tables import (
    CleanTable,
    Mask,
    Normal,
    Units,
    Values,
    known_moments,
    noise_variances,
)
from robustrank.tables.wrong_cells import log_density_of_wrong

_LEAST = 1e-8  # variance of a cell given the others, in robust units: a density has to be finite


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
    """The moments of a matrix of exactly low rank, or else of the normal model."""
    table, exact = table_of(result), result.fit_new_rows is not None
    mean, covariance, noise, rows = _of_matrix(result) if exact else _of_model(table)
    mean, covariance, rank = known_moments((mean, covariance), noise, rows, table.empty_columns)
    return Moments(mean, covariance, max(rank, 1))


def moments_of_stream(model: RowModel) -> Moments:
    """The moments of batches of rows."""
    mean, covariance, rank = model.moments()
    return Moments(mean, covariance, max(rank, 1))


def _of_model(table: CleanTable) -> tuple[Values, Values, Values, float]:
    """The mean, the covariance, the noise variances and the number of rows behind the model."""
    model, rows = table.model, table.rows_of_fit
    noise = model.units.scale**2 * noise_variances(model, rows)
    return model.mean, model.predictive_covariance, noise, rows + model.weight


def _of_matrix(result: Result) -> tuple[Values, Values, Values, float]:
    """The same for the decided rows of a certified matrix, without noise.

    Columns that are not decided have the variances of the model, and no correlations.
    """
    table, other = table_of(result), result.undecided_columns
    used = ~table.wrong_rows
    used[result.undecided_rows] = False
    left, right = result.left[used], result.right.copy()
    right[other] = 0.0
    centered, rows = left - left.mean(axis=0), len(left) - 1
    mean, noise = right @ left.mean(axis=0), np.zeros(len(right))
    mean[other], noise[other] = (
        table.model.mean[other],
        np.diag(table.model.predictive_covariance)[other],
    )
    covariance = right @ (centered.T @ centered / rows) @ right.T
    return mean, covariance + np.diag(noise), noise, rows


def log_densities(
    model: Rows, mean: Values, covariance: Values, X: Values, wrong: Mask
) -> tuple[Values, Values]:
    """The log densities of rows as right and as wrong ones, with how frequent these are.

    In a right row, the number of wrong cells is binomial, and the other cells are normal. In a
    wrong row, any number of wrong cells is equally probable, and the others are independent.
    Missing cells are left out. By this comparison the model of tables finds wrong rows.
    """
    units, (wrong_cells, wrong_rows) = model.units, model.shares
    rows = np.where(model.empty, np.nan, X)
    scaled, beyond = units.of(rows)
    seen = ~np.isnan(rows)
    used = seen & ~beyond & ~wrong
    of_cells = np.where(seen & ~beyond, log_density_of_wrong(scaled), 0.0)
    count, kept = seen.sum(axis=1), used.sum(axis=1)
    rejected = count - kept
    ways = gammaln(count + 1) - gammaln(rejected + 1) - gammaln(kept + 1)
    right = _normal(units, mean, covariance).given(scaled, used).log_density() + ways
    right += rejected * math.log(wrong_cells) + kept * math.log1p(-wrong_cells)
    independent = np.where(used, of_cells, 0.0).sum(axis=1) - np.log(count + 1)
    # The same for both: which cells are wrong and their values, and the units.
    common = np.where(used, 0.0, of_cells).sum(axis=1) - ways
    common -= np.where(seen, np.log(units.scale), 0.0).sum(axis=1)
    return (
        common + right + math.log1p(-wrong_rows),
        common + independent + math.log(wrong_rows),
    )


def _normal(units: Units, mean: Values, covariance: Values) -> Normal:
    """The distribution in robust units; columns without values, which are not used, have none."""
    scaled = covariance / np.outer(units.scale, units.scale)
    place = np.arange(len(scaled))
    scaled[place, place] = scaled[place, place] + _LEAST
    return Normal(np.nan_to_num(units.linear(mean)), scaled)
