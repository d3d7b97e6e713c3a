"""Numbers that rows come to: rates with intervals, transitions, lines of least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.definition import SUCCESS, Cell
from experiments.rows import Table


@dataclass(frozen=True)
class Rate:
    """How often something succeeded."""

    successes: int
    trials: int

    @property
    def value(self) -> float:
        """The share; NaN where nothing was tried."""
        return self.successes / self.trials if self.trials else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval."""
        if not self.trials:
            return 0.0, 1.0
        z, n, p = 1.959964, self.trials, self.value
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return max(centre - half, 0.0), min(centre + half, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.successes}/{self.trials} ({low:.0%}–{high:.0%})"


def rate(table: Table, cell: Cell, method: str) -> Rate:
    """How often a method succeeded at a setting: an error below the paper's 1e-6."""
    rows = table.of(cell.key, method)
    return Rate(sum(row["error"] < SUCCESS for row in rows), len(rows))


def crossing(places: Sequence[float], values: Sequence[float], level: float) -> float | None:
    """Where values that rise (or fall) along places first cross a level, between two of them.

    None where they never do, or where one of them is not known.
    """
    for (x0, v0), (x1, v1) in zip(
        zip(places, values, strict=True), zip(places[1:], values[1:], strict=True), strict=False
    ):
        if math.isnan(v0) or math.isnan(v1):
            return None
        if (v0 - level) * (v1 - level) <= 0 and v0 != v1:
            return x0 + (level - v0) / (v1 - v0) * (x1 - x0)
    return None


@dataclass(frozen=True)
class Line:
    """The line of least squares through some points."""

    intercept: float
    slope: float
    r_squared: float


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line through points, and the share of their variance that it explains."""
    slope, intercept = np.polyfit(x, y, 1)
    left = np.asarray(y) - (intercept + slope * np.asarray(x))
    spread = np.asarray(y) - np.mean(y)
    return Line(float(intercept), float(slope), float(1 - left @ left / (spread @ spread)))


def ratio_with_interval(
    above: Sequence[float], below: Sequence[float]
) -> tuple[float, float, float]:
    """The geometric mean of paired ratios and its 95 % interval."""
    from scipy.stats import t

    logs = np.log(np.asarray(above, float) / np.asarray(below, float))
    half = 0.0
    if len(logs) > 1:
        half = float(t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs)))
    centre = float(logs.mean())
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)
