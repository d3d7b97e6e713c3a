"""The method of this library, as the comparison calls it."""

from __future__ import annotations

import numpy as np

import robustrank as rr
from experiments.tables.filled import Filled
from experiments.tables.sources import Matrix


def robustrank(table: Matrix) -> Filled:
    """The cleaned table, told nothing; of a table that is certified, its low-rank matrix."""
    result = rr.clean(table)
    model = result.table.model if result.table is not None else None
    return Filled(
        np.asarray(result.matrix) if result.certified else result.frame,
        outliers=np.asarray(result.outliers),
        row_outliers=result.row_outliers,
        standard_errors=None if result.table is None else result.table.deviation,
        covariance=None if model is None else model.covariance,
        mean=None if model is None else model.mean,
        claimed=result.certified,
        expected=None if result.certified or result.table is None else result.table.expected,
    )
