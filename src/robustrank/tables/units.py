"""Robust units: the center and the scale of each column of a table, and how skewed it is.

A skewed column is straightened by Tukey's g: z = (exp(g y) - 1) / g has normal y for a shifted
log-normal column z, for a positive g if the larger values are the rare ones, and is z = y for
g = 0. Unlike a logarithm it depends neither on the unit nor on the zero of a column.

In a table of intensities or counts, zero is the natural center of all columns, and rows have scales
too. Each row is then divided by its size, the median of its values without their sign.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

Values = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Indices = np.ndarray[Any, np.dtype[np.intp]]

_UPPER = 0.75  # a quantile of sizes, which is compared with their median
MEDIAN_SIZE, _UPPER_SIZE = ndtri([0.75, (1 + _UPPER) / 2])  # those of normal numbers
# Where half of a column is closer to its median than this share of what the upper quartile of the
# distances suggests, many values are equal, and the quartile is the better scale.
_LEAST_SHARE = 0.2
_FAR = 6.0  # robust deviations of the rarer values of a column that is mostly one value
_FARTHEST = 1e8  # scales; with larger values, rounding would spoil what the rest of a row says
# The quantiles that tell how skewed a column is; one of them may be spoilt by wrong cells.
_TAILS = np.array([0.05, 0.1, 0.25])
_DEVIATION = 1.55  # of the median of the three answers, times the root of the number of values
_CHANCE = 0.01  # that one of the columns of a table of normal numbers seems to be skewed
_LEAST_SKEWED = 0.2  # what a straight line leaves of the variance is g² / 2, two percent
_MOST_SKEWED = 1.5  # log-normal values, most within a factor of 20 of their median
_SHORT = 3.0  # from g y = -3 on, straight lines: the values of the shorter tail are bounded


@dataclass(frozen=True, eq=False)
class Units:
    """The center and scale of each column; how far from the center a value can be right.

    The limit, in scales, is infinite for all columns but those in which more than half of the
    values are equal. Of these, only values beyond the limit can be recognized as wrong: the normal
    model would reject all rarer values.
    """

    center: Values
    scale: Values
    limit: Values
    skewness: Values  # g of each column
    centered: bool = True  # if not, the center is zero, and rows are divided by their size

    @property
    def tested(self) -> Mask:
        """The columns whose cells are compared with the others of their row."""
        return np.isinf(self.limit)

    def sizes(self, table: Values) -> Values:
        """The size of each row of a table, (n, 1); one if the columns are centered."""
        if self.centered:
            return np.ones((len(table), 1))
        sizes = np.exp(_medians(_logarithms(table) - np.log(self.scale), axis=1))
        return np.asarray(sizes / MEDIAN_SIZE)

    @property
    def relative_scale(self) -> Values:
        """The scales of the columns, relative to that of a typical one."""
        return np.asarray(self.scale / np.median(self.scale))

    def of(self, table: Values) -> tuple[Values, Mask]:
        """A table in these units, and which values are beyond the limit; zero for NaN and these."""
        with np.errstate(over="ignore"):
            scaled = self.linear(table)
        beyond = np.abs(scaled) > np.minimum(self.limit, _FARTHEST)
        return self.straightened(np.where(np.isnan(table) | beyond, 0.0, scaled)), beyond

    def original(self, values: Values) -> Values:
        """Values in the units of the data."""
        return self.unscaled(self.bent(values))

    def deviation(self, expected: Values, deviation: Values) -> Values:
        """Half the width, in the units of the data, of the interval of one deviation about it."""
        width = self.bent(expected + deviation) - self.bent(expected - deviation)
        return np.asarray(self.scale * width / 2)

    def interval(self, expected: Values, deviation: Values, width: float) -> tuple[Values, Values]:
        """The ends of intervals, which are not symmetric in skewed columns.

        ``expected`` and ``deviation`` are in the units of the data; ``width`` deviations of the
        straightened values are on each side.
        """
        middle = self.straightened(self.linear(expected))
        half = width * self.straightened_deviation(middle, deviation)
        return self.original(middle - half), self.original(middle + half)

    def straightened_deviation(self, expected: Values, deviation: Values) -> Values:
        """The deviation of straightened values from that in the units of the data."""
        own, factor = deviation / self.scale, self._factor  # own = exp(g y) sinh(g s) / g, for s
        bent = np.arcsinh(factor * own * np.exp(-np.maximum(factor * expected, -_SHORT))) / factor
        return np.where(self.skewness == 0, own, bent)

    def of_columns(self, columns: Indices) -> Units:
        """The units of some columns."""
        names = ("center", "scale", "limit", "skewness")
        return replace(self, **{name: getattr(self, name)[columns] for name in names})

    def linear(self, table: Values) -> Values:
        """The distances of values from the center, in scales."""
        return np.asarray((table - self.center) / self.scale)

    def unscaled(self, scaled: Values) -> Values:
        """The values with these distances from the center, in scales."""
        return np.asarray(self.center + self.scale * scaled)

    def straightened(self, scaled: Values) -> Values:
        """y from z."""
        if not self.skewness.any():
            return scaled
        least = np.expm1(-_SHORT)
        bent, straight = self._factor * scaled, np.maximum(self._factor * scaled, least)
        values = (np.log1p(straight) + (bent - straight) / (1 + least)) / self._factor
        return np.where(self.skewness == 0, scaled, values)

    def bent(self, values: Values) -> Values:
        """z from y."""
        if not self.skewness.any():
            return values
        straight = self._factor * values
        bent = np.maximum(straight, -_SHORT)
        with np.errstate(over="ignore"):
            scaled = (np.expm1(bent) + (straight - bent) * np.exp(-_SHORT)) / self._factor
        return np.where(self.skewness == 0, values, scaled)

    def of_skewed(self, table: Values) -> Units:
        """These units with the skewness of the columns of a table that are clearly skewed."""
        least = -_DEVIATION * ndtri(_CHANCE / 2 / table.shape[1])
        found = [
            _skewness(column[np.isfinite(column)], least) if tested else (0.0, 1.0)
            for column, tested in zip(table.T, self.tested, strict=True)
        ]
        skewness, scale = (np.array(values) for values in zip(*found, strict=True))
        return replace(self, skewness=skewness, scale=np.where(skewness == 0, self.scale, scale))

    @property
    def _factor(self) -> Values:
        return np.where(self.skewness == 0, 1.0, self.skewness)


def first_units(table: Values, center: bool = True) -> Units:
    """The units in which the fit of a table begins."""
    return robust_units(table) if center else units_through_origin(table)


def robust_units(table: Values) -> Units:
    """The units of the finite values of each column; a column without any has 0 and 1."""
    found = [_of_column(column[np.isfinite(column)]) for column in table.T]
    center, scale, limit = (np.array(values, float) for values in zip(*found, strict=True))
    return Units(center, scale, limit, np.zeros(len(center)))


def units_through_origin(table: Values) -> Units:
    """The units of a table in which zero is zero: the scales of its rows and columns are balanced.

    Alternating medians of the values other than zero, without their sign. They begin where least
    squares end, so that the answer does not depend on the scales. A row of median size has size 1.
    """
    logarithms = _logarithms(table)
    first = _column_effects(logarithms)
    left, columns = logarithms - first, np.zeros_like(first)
    for _ in range(sum(table.shape)):
        rows, before = _medians(left - columns, axis=1), columns
        columns = _medians(left - rows, axis=0)
        if np.allclose(before, columns):
            break
    columns = columns + first + np.median(_medians(left - columns, axis=1))
    scale, nothing = np.exp(columns[0]) / MEDIAN_SIZE, np.zeros(table.shape[1])
    units = Units(nothing, scale, np.full_like(scale, np.inf), nothing, centered=False)
    scaled = units.linear(table / units.sizes(table))
    return replace(units, limit=np.array([*map(_limit_of_mostly_zero, scaled.T)]))


def _logarithms(table: Values) -> Values:
    """The logarithms of the absolute values; NaN for zero, infinite and missing ones."""
    size = np.abs(table)
    return np.log(np.where((size > 0) & np.isfinite(size), size, np.nan))


def _medians(logarithms: Values, axis: int) -> Values:
    """The medians along an axis, which is kept; zero where there are no numbers."""
    some = np.isfinite(logarithms).any(axis=axis, keepdims=True)
    return np.asarray(np.nanmedian(np.where(some, logarithms, 0.0), axis=axis, keepdims=True))


def _column_effects(logarithms: Values) -> Values:
    """The effects of the columns, (1, p), of sums of row and column effects, by least squares."""
    seen = np.isfinite(logarithms)
    shares = seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    values = np.where(seen, logarithms, 0.0)
    centered = values - shares * values.sum(axis=1, keepdims=True)
    matrix = np.diag(seen.sum(axis=0)) - seen.T @ shares
    return np.asarray(np.linalg.lstsq(matrix, centered.sum(axis=0))[0])[None]


def _limit_of_mostly_zero(values: Values) -> float:
    """How far from zero values can be right, if most of them are zero; otherwise infinite."""
    values = values[np.isfinite(values)]
    count = np.count_nonzero(values)
    if not 0 < 2 * count < len(values):
        return np.inf
    center, scale, limit = _of_mostly_one_value(values, 0.0)
    return abs(center) + limit * scale


def _skewness(values: Values, least: float) -> tuple[float, float]:
    """Tukey's g and the scale of values; zero if g is small, or g √n is smaller than ``least``."""
    if not len(values):
        return 0.0, 1.0
    middle = np.median(values)
    below = middle - np.quantile(values, _TAILS)
    above = np.quantile(values, 1 - _TAILS) - middle
    if not (below > 0).all() or not (above > 0).all():
        return 0.0, 1.0
    normal = -ndtri(_TAILS)
    skewness = float(np.median(np.log(above / below) / normal))
    if abs(skewness) < max(least / np.sqrt(len(values)), _LEAST_SKEWED):
        return 0.0, 1.0
    skewness = float(np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED))
    return skewness, float((above + below)[-1] * skewness / 2 / np.sinh(skewness * normal[-1]))


def _of_column(values: Values) -> tuple[float, float, float]:
    if not len(values):
        return 0.0, 1.0, np.inf
    center = float(np.median(values))
    distance = np.abs(values - center)
    middle, upper = np.median(distance) / MEDIAN_SIZE, _upper_scale(distance)
    scale = float(middle if middle > _LEAST_SHARE * upper else upper)
    different, counts = np.unique(values, return_counts=True)
    if len(different) > 1 and 2 * counts.max() > len(values):
        return _of_mostly_one_value(values, float(different[counts.argmax()]))
    return center, scale if scale > 0 else float(values.std()) or 1.0, np.inf


def _upper_scale(sizes: Values) -> float:
    """The scale that the upper quartile of distances from the center suggests."""
    return float(np.quantile(sizes, _UPPER) / _UPPER_SIZE)


def _of_mostly_one_value(values: Values, usual: float) -> tuple[float, float, float]:
    """Center, scale and limit if most values are equal, from the others."""
    others = values[values != usual]
    middle = float(np.median(others))
    spread = _FAR * _upper_scale(np.abs(others - middle))
    if spread:
        low, high = min(middle - spread, usual), max(middle + spread, usual)
    else:  # two values, up to a few
        gap = abs(middle - usual)
        low, high = min(middle, usual) - gap, max(middle, usual) + gap
    near = values[(values >= low) & (values <= high)]
    center = float(near.mean())
    scale = float(near.std()) or high - low
    return center, scale, max(center - low, high - center) / scale
