"""What is measured of a filled table when the truth is known."""

from __future__ import annotations

import math

import numpy as np

from experiments.rows import Row
from experiments.tables.draws import Draw
from experiments.tables.filled import Filled
from experiments.tables.hiding import Mask
from experiments.tables.sources import Matrix

LEVEL = 0.9  # of the intervals whose coverage is measured
_WIDTH = 1.6448536269514722  # the normal quantile of (1 + LEVEL) / 2


def rounded(value: float) -> float:
    """A number with six significant digits, as in rows."""
    return float(f"{value:.6g}")


def hidden_error(values: Matrix, draw: Draw) -> float:
    """The root mean square error of hidden cells of correct rows, in clean column deviations."""
    errors = (values - draw.truth) / draw.truth.std(axis=0)
    return math.sqrt(float(np.mean(errors[draw.scored] ** 2)))


def counts(flags: Mask, wrong: Mask, of: Mask) -> list[int]:
    """How many are flagged and wrong, flagged, wrong, and there at all."""
    return [int(np.sum(chosen & of)) for chosen in (flags & wrong, flags, wrong, of)]


def coverage(values: Matrix, standard_errors: Matrix, draw: Draw) -> float:
    """The share of the hidden cells of correct rows that their intervals contain."""
    inside = np.abs(values - draw.truth) <= _WIDTH * standard_errors
    return float(np.mean(inside[draw.scored]))


def measured(filled: Filled, draw: Draw) -> Row:
    """The fields of a row; only those that the method makes possible."""
    if filled.values.shape != draw.truth.shape or not np.isfinite(filled.values).all():
        return {"failure": "the values are not finite or have another shape"}
    row: Row = {"error": rounded(hidden_error(filled.values, draw))}
    if filled.outliers is not None:
        visible = ~draw.hidden & ~draw.rows[:, None]
        row["cells"] = counts(filled.outliers, draw.cells, visible)
    if filled.row_outliers is not None:
        row["rows"] = counts(filled.row_outliers, draw.rows, np.ones_like(draw.rows))
    if filled.standard_errors is not None:
        row["inside"] = rounded(coverage(filled.values, filled.standard_errors, draw))
    return row
