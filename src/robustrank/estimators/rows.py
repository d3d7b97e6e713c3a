"""What a cleaned table says about rows: its own and new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robustrank.backend import limited_blas_threads, threads_for
from robustrank.result import Result
from robustrank.tables import CleanTable, Explained, Values


def table_of(result: Result) -> CleanTable:
    """The table of a result of ``clean``."""
    if result.table is None:
        raise ValueError("the result is not that of a table; fit the estimator again")
    return result.table


def explain_rows(result: Result, X: Values) -> Explained:
    """What is expected in each cell of the rows of X, and which cells and rows are wrong.

    No row depends on the others. If the data has exactly a low rank, rows are fitted to it where it
    is determined; the rest is what the normal model says. Values of columns that had none in the
    training data are not used.
    """
    table = table_of(result)
    model = table.model
    rows = np.where(table.empty_columns, np.nan, X)
    with np.errstate(all="ignore"), limited_blas_threads(threads_for(rows.size)):
        explained = model.explain(rows)
        if result.fit_new_rows is None:
            return explained
        fitted = result.fit_new_rows(model.units.linear(rows))
    decided = np.isfinite(fitted.matrix)
    decided[fitted.undecided] = False
    decided[:, result.undecided_columns] = False
    return replace(
        explained,
        expected=np.where(decided, model.units.unscaled(fitted.matrix), explained.expected),
        wrong=np.where(decided, fitted.outliers, explained.wrong),
        wrong_rows=explained.wrong_rows & ~decided.any(axis=1),
        row_log_odds=np.where(
            decided.any(axis=1), np.minimum(explained.row_log_odds, 0.0), explained.row_log_odds
        ),
    )
