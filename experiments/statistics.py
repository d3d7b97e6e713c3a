"""Statistics of rows: success rates with intervals, line fits, ratios of errors."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from experiments.definition import SUCCESS, Cell
from experiments.rows import Row, Table


@dataclass(frozen=True)
class Rate:
    """The number of successes among some trials."""

    successes: int
    trials: int

    @property
    def value(self) -> float:
        """The success rate; NaN if there are no trials."""
        return self.successes / self.trials if self.trials else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the success rate."""
        return _wilson_interval(self.successes, self.trials) if self.trials else (0.0, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.successes}/{self.trials} ({low:.0%}–{high:.0%})"


@functools.cache
def _wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def is_success(row: Row) -> bool:
    """Whether the error of a trial is below 1e-6, as in the paper."""
    return bool(row["error"] < SUCCESS)


def success_rate(rows: Sequence[Row]) -> Rate:
    """The success rate of some trials."""
    return Rate(sum(map(is_success, rows)), len(rows))


def rate(table: Table, cell: Cell, method: str) -> Rate:
    """The success rate of a method at a setting."""
    return success_rate(table.of(cell.key, method))


def crossing(places: Sequence[float], values: Sequence[float], level: float) -> float | None:
    """The first place at which values cross a level, by linear interpolation.

    None if they do not cross it, or if a value before the crossing is NaN.
    """
    points = [*zip(places, values, strict=True)]
    for (x0, v0), (x1, v1) in itertools.pairwise(points):
        if math.isnan(v0) or math.isnan(v1):
            return None
        if (v0 - level) * (v1 - level) <= 0 and v0 != v1:
            return x0 + (level - v0) / (v1 - v0) * (x1 - x0)
    return None


@dataclass(frozen=True)
class Line:
    """A line fitted by least squares."""

    intercept: float
    slope: float
    r_squared: float


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The least-squares line through some points, and its coefficient of determination."""
    fit = stats.linregress(x, y)
    return Line(float(fit.intercept), float(fit.slope), float(fit.rvalue) ** 2)


def ratio_with_interval(
    numerators: Sequence[float], denominators: Sequence[float]
) -> tuple[float, float, float]:
    """The geometric mean of paired ratios and its 95 % interval."""
    logs = np.log(np.asarray(numerators, float) / np.asarray(denominators, float))
    center, half_width = float(logs.mean()), 0.0
    if len(logs) > 1:
        quantile = float(stats.t.ppf(0.975, len(logs) - 1))
        half_width = quantile * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return math.exp(center), math.exp(center - half_width), math.exp(center + half_width)
