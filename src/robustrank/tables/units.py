"""Robust units: the center and the scale of each column of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

Values = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Indices = np.ndarray[Any, np.dtype[np.intp]]

# Where half of a column is closer to its median than this share of what the upper quartile of the
# distances suggests, many values are equal, and the quartile is the better scale.
_LEAST_SHARE = 0.2
_FAR = 6.0  # robust deviations of the rarer values of a column that is mostly one value
_FARTHEST = 1e8  # scales; with larger values, rounding would spoil what the rest of a row says


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

    @property
    def tested(self) -> Mask:
        """The columns whose cells are compared with the others of their row."""
        return np.isinf(self.limit)

    def of(self, table: Values) -> tuple[Values, Mask]:
        """A table in these units, and which values are beyond the limit; zero for NaN and these."""
        with np.errstate(over="ignore"):
            scaled = (table - self.center) / self.scale
        beyond = np.abs(scaled) > np.minimum(self.limit, _FARTHEST)
        return np.where(np.isnan(table) | beyond, 0.0, scaled), beyond

    def original(self, scaled: Values) -> Values:
        """Values in the units of the data."""
        return np.asarray(self.center + self.scale * scaled)


def robust_units(table: Values) -> Units:
    """The units of the finite values of each column; a column without any has 0 and 1."""
    found = [_of_column(column[np.isfinite(column)]) for column in table.T]
    center, scale, limit = (np.array(values, float) for values in zip(*found, strict=True))
    return Units(center, scale, limit)


def _of_column(values: Values) -> tuple[float, float, float]:
    if not len(values):
        return 0.0, 1.0, np.inf
    center = float(np.median(values))
    distance = np.abs(values - center)
    middle, upper = np.quantile(distance, [0.5, 0.75]) / ndtri([0.75, 0.875])
    scale = float(middle if middle > _LEAST_SHARE * upper else upper)
    different, counts = np.unique(values, return_counts=True)
    if len(different) > 1 and 2 * counts.max() > len(values):
        return _of_mostly_one_value(values, float(different[counts.argmax()]))
    return center, scale if scale > 0 else float(values.std()) or 1.0, np.inf


def _of_mostly_one_value(values: Values, usual: float) -> tuple[float, float, float]:
    """Center, scale and limit if most values are equal, from the others."""
    others = values[values != usual]
    middle = float(np.median(others))
    distance = np.abs(others - middle)
    spread = float(np.median(distance) / ndtri(0.75)) or float(distance.mean())
    spread = _FAR * (spread or abs(middle - usual))
    low, high = min(middle - spread, usual), max(middle + spread, usual)
    near = values[(values >= low) & (values <= high)]
    center = float(near.mean())
    scale = float(near.std()) or high - low
    return center, scale, max(center - low, high - center) / scale
