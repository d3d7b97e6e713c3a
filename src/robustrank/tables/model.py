"""A robust normal model of the rows of a table.

In robust units of each column, correct rows are normal; single cells may be wrong, rows may be
wrong altogether, and cells may be missing. Three things are repeated until the covariance no longer
changes: reject the cells that contradict the others of their row (``wrong_cells``), reject the rows
that independent cells explain better, and estimate the mean and the covariance of what is left by
a step of expectation–maximization, shrunk as much as predictions of left-out rows ask for
(``shrinkage``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import SupportsFloat

import numpy as np
from scipy.special import gammaln

from robustrank.tables.factors import Distribution, FactorNormal
from robustrank.tables.normal import Given, Normal
from robustrank.tables.reported import less_biased, likeliest
from robustrank.tables.separated import separated_rows
from robustrank.tables.shrinkage import shrunk
from robustrank.tables.start import FAR, MOST_FAR, first_normal
from robustrank.tables.units import (
    MEDIAN_SIZE,
    Mask,
    Units,
    Values,
    first_units,
)
from robustrank.tables.wrong_cells import (
    Cells,
    consistent_cells,
    log_density_of_wrong,
    row_scales,
)

_SWEEPS = 30
_TOLERANCE = 1e-3  # largest change of a correlation in the last sweep
# The range of the shares of wrong cells and rows. A fit starts from the largest: wrong cells that
# are used at first widen the distribution and then look right.
_SHARES = 1e-3, 0.4
SMALLEST = 1e-6  # variance of a column in robust units: its values are equal up to rounding
_LARGEST_LOGARITHM = math.log(np.finfo(float).max)
_STEPS = 3  # without shrinkage; with 12, planted covariances are as accurate within 1 %
_BEYOND = 0.25  # predictions are within the range of the column, and this share of it beyond


@dataclass(frozen=True, eq=False)
class Explained:
    """What a model says about the rows of a table, in the units of the data.

    Attributes
    ----------
    expected, deviation
        What the other correct cells of its row predict for each cell, and the standard deviation
        of the error of this prediction.
    wrong
        The observed cells that contradict the others of their row.
    log_odds
        The log odds that an observed cell is wrong; negative infinity for the others.
    wrong_rows
        The rows that independent cells explain better than the model.
    row_log_odds
        The log odds that a row is wrong; at most zero for those that do not stand out.
    variance
        The variance of the error of each prediction, in robust units.
    """

    expected: Values
    deviation: Values
    wrong: Mask
    log_odds: Values
    wrong_rows: Mask
    row_log_odds: Values
    variance: Values


@dataclass(frozen=True, eq=False)
class TableModel:
    """The normal distribution of correct rows, in robust units, and the shares of wrong data."""

    units: Units
    normal: Distribution
    reported: Distribution  # with the covariance that is reported, which is less shrunk
    wrong_cells: float
    wrong_rows: float
    weight: float  # of the prior of the covariance, in rows
    usual: float  # largest mean squared distance of the cells of rows that are not wrong
    low: Values  # the range of predictions, in robust units
    high: Values
    sweeps: int = 0

    @cached_property
    def mean(self) -> Values:
        """The mean of each column, in the units of the data."""
        skewness, mean = self.units.skewness, self.normal.mean
        skewed = np.where(skewness == 0, 1.0, skewness)
        shifted = skewed * mean + skewed**2 * self.normal.variances / 2
        return self.units.unscaled(np.where(skewness == 0, mean, np.expm1(shifted) / skewed))

    @cached_property
    def covariance(self) -> Values:
        """The covariance of the columns of correct rows, in the units of the data."""
        return self._covariance(self.reported, self.units.scale)

    @cached_property
    def predictive_covariance(self) -> Values:
        """The one that predicts cells best, which is shrunk more toward its diagonal."""
        return self._covariance(self.normal, self.units.scale)

    @property
    def in_scales(self) -> Distribution:
        """The same in scales; it is finite where the squares of the units of the data are not.

        With many columns, skewed ones are transformed as if their curves were straight.
        """
        normal = self.normal
        if isinstance(normal, Normal):
            return Normal(normal.mean, self._covariance(normal, np.ones_like(self.units.scale)))
        sizes = self._slopes
        return FactorNormal(normal.mean, sizes[:, None] * normal.loadings, sizes**2 * normal.noise)

    def _covariance(self, normal: Distribution, units: Values) -> Values:
        skewness, covariance = self.units.skewness, normal.covariance
        products = np.outer(skewness, skewness)
        both = np.where(products == 0, 1.0, products)
        found = np.where(products == 0, covariance, np.expm1(both * covariance) / both)
        sizes = units * self._slopes
        return found * np.outer(sizes, sizes)

    @property
    def _slopes(self) -> Values:
        """The mean slopes of the curves that transform skewed columns back."""
        skewness, normal = self.units.skewness, self.normal
        return np.exp(skewness * normal.mean + skewness**2 * normal.variances / 2)

    def explain(self, table: Values) -> Explained:
        """Compare each cell of rows, also of new ones, with the others of its row."""
        data = Data.of(table, self.units)
        given, row_odds = self.sort(data)
        scales = row_scales(given.used, given.a, given.diagonal)[:, None]
        variance = given.variance() * scales
        expected = np.clip(given.expected(), self.low, self.high)
        odds = self._cells(data).log_odds((data.scaled - given.expected()) ** 2, variance)
        odds = np.where(data.beyond, np.inf, np.where(data.seen, odds, -np.inf))
        return Explained(
            self.units.original(expected) * data.sizes,
            self.units.deviation(expected, np.sqrt(variance)) * data.sizes,
            data.seen & ~given.used,
            odds,
            row_odds > 0,
            row_odds,
            variance,
        )

    def contradicted(self, table: Values, found: Explained, sizes: Values) -> Mask:
        """The cells of a table that contradict predictions which were made without them.

        ``sizes`` are those of the rows, without these cells.
        """
        data = Data.of(table, self.units, sizes)
        residual = data.scaled - self.units.of(found.expected / sizes)[0]
        odds = self._cells(data).log_odds(residual**2, found.variance)
        return np.asarray(data.beyond | (odds > 0))

    def range_with(self, given: Given) -> tuple[Values, Values]:
        """The range of predictions after a fit to used values; infinite for a known low rank."""
        normal = self.normal
        if isinstance(normal, FactorNormal) and normal.most:
            return np.full_like(normal.mean, -np.inf), np.full_like(normal.mean, np.inf)
        return _range_of(given, self.units)

    def _cells(self, data: Data) -> Cells:
        return Cells(data.scaled, data.usable, self.units.tested, self.wrong_cells, data.own)

    def sort(self, data: Data, before: Mask | None = None) -> tuple[Given, Values]:
        """What the cells that are not wrong say about the others; the log odds of wrong rows.

        The search may go on from cells that were used ``before``.
        """
        given = consistent_cells(self.normal, self._cells(data), before)
        # Without this, heavy tails are taken for wrong rows.
        rejected = 1 - given.used.sum(axis=1) / np.maximum(data.seen.sum(axis=1), 1)
        far = (_mean_distances(given) > self.usual) | (rejected > MOST_FAR)
        odds = self._row_odds(data, given)
        return given, np.where(far, odds, np.minimum(odds, 0.0))

    def _row_odds(self, data: Data, given: Given) -> Values:
        """The log odds that rows are wrong.

        In a correct row, the number of rejected cells is binomial, and the others are normal. In a
        wrong row, any number of rejected cells is equally probable, and the others are independent.
        """
        seen, kept = data.seen.sum(axis=1), given.used.sum(axis=1)
        rejected = seen - kept
        binomial = gammaln(seen + 1) - gammaln(rejected + 1) - gammaln(kept + 1)
        binomial += rejected * math.log(self.wrong_cells) + kept * math.log1p(-self.wrong_cells)
        independent = np.where(given.used, log_density_of_wrong(data.scaled), 0.0).sum(axis=1)
        prior = math.log(self.wrong_rows) - math.log1p(-self.wrong_rows)
        right = given.log_density() + binomial
        return np.asarray(independent - np.log(seen + 1) + prior - right)


Report = Callable[[float, TableModel], None]  # the finished share, and the model so far


@dataclass(frozen=True, eq=False)
class Data:
    """A table in robust units, and which of its cells are observed and within the limits.

    ``sizes`` are those of its rows, (n, 1).
    """

    scaled: Values
    seen: Mask
    beyond: Mask
    sizes: Values
    own: Values | None = None  # the shares of the rows in the factors of a model fitted to them

    @classmethod
    def of(cls, table: Values, units: Units, sizes: Values | None = None) -> Data:
        sizes = units.sizes(table) if sizes is None else sizes
        scaled, beyond = units.of(table / sizes)
        return cls(scaled, ~np.isnan(table), beyond, sizes)

    @property
    def usable(self) -> Mask:
        return self.seen & ~self.beyond


def fit_table(
    table: Values,
    report: Report | None = None,
    transform_skewed: bool = True,
    center: bool = True,
) -> tuple[TableModel, Explained]:
    """The model of a table, and what it says about it.

    The table has NaN for missing cells, and at least two rows. Skewed columns are straightened if
    the cells are then predicted better. If the columns are not centered, the mean is zero, no
    column is straightened, and rows are divided by their size.
    """
    transform_skewed &= center
    part = 0.5 if transform_skewed else 1.0
    model, explained = _fitted(table, first_units(table, center), part_of(report, 0.0, part))
    units = plain = model.units
    if transform_skewed:
        units = plain.of_skewed(table[~explained.wrong_rows])
    if units.skewness.any():
        fits = (model, explained), _fitted(table, units, part_of(report, part, 1.0))
        model, explained = min(
            fits, key=lambda fit: typical_error(fit[1].expected, table, plain.scale)
        )
    return _with_reported(model, table), explained


def _fitted(table: Values, units: Units, report: Report | None) -> tuple[TableModel, Explained]:
    model = refitted(first_model(table, units), table, report)
    return model, model.explain(table)


def part_of(report: Report | None, begin: float, end: float) -> Report | None:
    """Report the share that is finished of a part as that of the whole."""
    if report is None:
        return None
    return lambda fraction, model: report(begin + (end - begin) * fraction, model)


def typical_error(expected: Values, table: Values, scale: Values) -> float:
    """How far cells are from what the others of their row predict, up to a common factor.

    The mean over the columns of the logarithm of the mean error, in which no error counts more
    than that of a cell that is far away.
    """
    errors = np.minimum(np.abs(table - expected) / scale, FAR)
    seen = np.isfinite(table)
    means = np.where(seen, errors, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return float(np.mean(np.log(np.maximum(means, math.sqrt(SMALLEST)))))


def refitted(model: TableModel, table: Values, report: Report | None = None) -> TableModel:
    """The model of a table in the same units as another one, from which the fit goes on."""
    data, used = Data.of(table, model.units), None
    for sweep in range(_SWEEPS):
        given, row_odds = model.sort(data, used)
        used = given.used
        previous, (model, data) = model, _estimated(model, data, given, row_odds > 0)
        if report is not None:
            report((sweep + 1) / _SWEEPS, model)
        if previous.normal.change(model.normal) < _TOLERANCE:
            break
    return replace(model, sweeps=sweep + 1)


def _with_reported(model: TableModel, table: Values) -> TableModel:
    """The model with the distribution that is reported, without a separated group of rows.

    It is the same if there are many columns, or not more rows than columns. In predictions, such a
    group may be one of several kinds of rows that have to be predicted, so that it counts there.
    """
    now, normal, group = model, model.normal, np.zeros(len(table), bool)
    if not isinstance(normal, Normal):
        return model
    data = Data.of(table, model.units)
    for step in range(_STEPS):
        given, row_odds = now.sort(data)
        rows = row_odds <= 0
        if step == 0:
            group[rows] = separated_rows(given.completed[rows][:, model.units.tested])
        rows &= ~group
        count = int(np.count_nonzero(rows))
        if count <= normal.dimensions + 1:
            return model
        normal = likeliest(normal, given.of_rows(rows), model.units.centered, SMALLEST)
        now = replace(now, normal=normal)
    return replace(model, reported=less_biased(normal, count))


def first_model(table: Values, units: Units | None = None) -> TableModel:
    """The model from which the fit starts, in robust units by default."""
    units = first_units(table) if units is None else units
    data = Data.of(table, units)
    return model_of(units, first_normal(data.scaled, data.usable, units.tested))


def model_of(units: Units, normal: Distribution) -> TableModel:
    """The model from which the fit starts with a distribution of the rows."""
    nothing = np.zeros_like(normal.mean)
    shares = _SHARES[1], _SHARES[1]
    return TableModel(units, normal, normal, *shares, math.nan, 0.0, nothing, nothing)


def _estimated(
    model: TableModel, data: Data, given: Given, wrong_rows: Mask
) -> tuple[TableModel, Data]:
    """The model of the used cells of correct rows, and the data with the shares of these rows."""
    usual = _usual_distance(given)
    rows = ~wrong_rows
    if np.count_nonzero(rows) < 2:  # nothing agrees; keep all
        rows = np.ones_like(rows)
    if not rows.all():
        given = given.of_rows(rows)
    count, weights = len(given.used), _row_weights(model, given)
    completed = given.completed
    mean = weights @ completed / count * model.units.centered
    centered = np.sqrt(weights)[:, None] * (completed - mean)
    least = np.maximum(SMALLEST * count - np.sum(centered**2, axis=0), 0.0)
    unused = np.count_nonzero(~given.used, axis=1)
    unknown = model.normal.unknown(given, weights)
    shrunken, weight = shrunk(model.normal, centered, unknown, least, unused)
    low, high = model.range_with(given)
    rejected = np.count_nonzero(data.seen[rows] & ~given.used)
    if isinstance(shrunken, FactorNormal):  # wrong cells that were used would explain themselves
        own = np.zeros((len(rows), shrunken.loadings.shape[1]))
        own[rows] = shrunken.shares(centered, count + weight)
        data = replace(data, own=own)
    normal = shrunken.with_mean(mean)
    estimated = replace(
        model,
        normal=normal,
        reported=normal,
        wrong_cells=share(rejected, np.count_nonzero(data.seen[rows])),
        wrong_rows=share(np.count_nonzero(wrong_rows), len(rows)),
        weight=weight,
        usual=usual,
        low=low,
        high=high,
    )
    return estimated, data


def _row_weights(model: TableModel, given: Given) -> Values:
    """The weights of rows, one on average.

    All rows are equal, unless the number of factors is known: then those with more noise than usual
    count less, because a group of them would make all noise larger.
    """
    if not (isinstance(model.normal, FactorNormal) and model.normal.most):
        return np.ones(len(given.used))
    weights = 1 / row_scales(given.used, given.a, given.diagonal)
    return np.asarray(weights / weights.mean())


def _range_of(given: Given, units: Units) -> tuple[Values, Values]:
    """The range of the used values of each column, and some more."""
    low = np.where(given.used, given.table, np.inf).min(axis=0)
    high = np.where(given.used, given.table, -np.inf).max(axis=0)
    some = low <= high
    low, high = (units.bent(np.where(some, end, 0.0)) for end in (low, high))
    beyond = _BEYOND * (high - low)
    return units.straightened(low - beyond), units.straightened(high + beyond)


def share(count: SupportsFloat, total: SupportsFloat) -> float:
    """A share with one half added to the count, and limited."""
    return float(np.clip((float(count) + 0.5) / (float(total) + 1), *_SHARES))


def _mean_distances(given: Given) -> Values:
    """The squared distance of each row from the mean, for each used cell."""
    return np.asarray(given.distances() / np.maximum(given.used.sum(axis=1), 1))


def _usual_distance(given: Given) -> float:
    """The largest mean distance of rows that do not differ from the model more than others do."""
    logarithms = np.log(np.maximum(_mean_distances(given), np.finfo(float).tiny))
    middle = np.median(logarithms)
    spread = np.median(np.abs(logarithms - middle)) / MEDIAN_SIZE
    of_normal = math.sqrt(2 / max(float(np.median(given.used.sum(axis=1))), 1.0))
    limit = middle + FAR * max(float(spread), of_normal)
    return float(np.exp(np.minimum(limit, _LARGEST_LOGARITHM)))
