"""The method of this library, as the comparison calls it."""

from __future__ import annotations

import numpy as np

from experiments.tables.filled import Filled
from experiments.tables.sources import Matrix
from robustrank.tables import fit_table


def robustrank(table: Matrix) -> Filled:
    """Fill and correct a table by the robust normal model of its rows."""
    model = fit_table(table)
    found = model.explain(table)
    kept = ~np.isnan(table) & ~found.wrong
    return Filled(
        np.where(kept, table, found.expected),
        outliers=found.wrong,
        row_outliers=found.wrong_rows,
        standard_errors=found.deviation,
        covariance=model.covariance,
        mean=model.mean,
    )
