"""Tables of low rank with noise: the fewest factors that leave only noise.

With too many factors, wrong rows would be factors. So their number grows from one, each time from
the start, until the largest eigenvalue of what is left is one that noise alone would give.
"""

from __future__ import annotations

import math

import numpy as np

from robustrank.tables.factors import Distribution, FactorNormal, edge_of_noise
from robustrank.tables.model import (
    SMALLEST,
    Data,
    Report,
    TableModel,
    first_model,
    model_of,
    part_of,
    refitted,
)
from robustrank.tables.units import Units, Values
from robustrank.tables.wrong_cells import typical_squares

_SURE = 2.02  # the quantile of 99 % of the Tracy–Widom distribution
_LOW = 20  # cells of the shorter side for each factor


def few_factors(table: Values, units: Units, report: Report | None = None) -> Distribution | None:
    """The distribution of the rows with the fewest factors.

    None if those are many, or if nothing is left that could be noise.
    """
    data, first = Data.of(table, units), first_model(table, units).normal
    most = min(table.shape) // _LOW
    for count in range(1, most + 1):
        part = part_of(report, (count - 1) / most, count / most)
        model = refitted(model_of(units, FactorNormal.of(first, count)), table, part)
        if np.median(model.normal.conditional_variances) <= SMALLEST:
            return None
        if _leaves_noise(model, data, count):
            return model.normal
    return None


def _leaves_noise(model: TableModel, data: Data, count: int) -> bool:
    """Whether the next eigenvalue of the correct rows, in units of their noise, is one of noise."""
    given, row_odds = model.sort(data)
    given, normal = given.of_rows(row_odds <= 0), model.normal
    # Rows with more noise than others would be factors, too.
    sizes = np.sqrt(typical_squares(given.used, given.a, given.diagonal))[:, None]
    some = sizes[:, 0] > 0
    centered = (given.completed - normal.mean)[some] / sizes[some]
    rows = centered / np.sqrt(normal.conditional_variances)
    if len(rows) <= count:
        return False
    values = np.linalg.svd(rows, compute_uv=False)[count:] ** 2
    usual = values.sum() / (rows.shape[1] - count)
    effective = given.used[some].sum() / rows.shape[1]
    return bool(values[0] <= _largest_of_noise(rows.shape[1], effective) * usual)


def _largest_of_noise(columns: int, rows: float) -> float:
    """The largest eigenvalue that noise has, which fluctuates by the Tracy–Widom law."""
    n, p = math.sqrt(rows), math.sqrt(columns)
    return edge_of_noise(columns, rows) * (1 + _SURE * math.cbrt(1 / n + 1 / p) / (n + p))
