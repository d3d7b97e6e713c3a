"""What is known about a cleaned table, as data frames: wrong cells, rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robustrank.result.labels import new_frame
from robustrank.result.polars_frames import PolarsFrames

if TYPE_CHECKING:
    from robustrank.result.result import Result
    from robustrank.tables import CleanTable


def cells_of(result: Result, table: CleanTable) -> Any:
    """A line for each cell that is missing or wrong, by rows."""
    columns = cell_columns(result, table)
    if isinstance(result.as_frame, PolarsFrames):
        return result.as_frame.of_columns(columns)
    return new_frame(columns, range(len(columns["row"])), None)


def cell_columns(result: Result, table: CleanTable) -> dict[str, Any]:
    """The columns of the frame of the cells, as arrays."""
    rows, columns = np.nonzero(table.replaced & np.isfinite(table.expected))
    return {
        "row": _labels(result.row_labels, len(table.given))[rows],
        "column": _labels(result.column_labels, table.given.shape[1])[columns],
        "value": table.given[rows, columns],
        "expected": table.expected[rows, columns],
        "standard_error": table.deviation[rows, columns],
        "probability": table.probability[rows, columns],
    }


def rows_of(result: Result, table: CleanTable) -> Any:
    """A line for each row: whether it is wrong, and how unusual it is."""
    return _with_labels(result, row_columns(result, table), "row", result.row_labels)


def row_columns(result: Result, table: CleanTable) -> dict[str, Any]:
    """The labels of the rows and the columns of their frame, as arrays."""
    scores, seen = table.scores(), ~np.isnan(table.given)
    counts = seen.sum(axis=1)
    verdicts = np.where(table.wrong_rows, "wrong", "good")
    return {
        "row": _labels(result.row_labels, len(seen)),
        "verdict": np.where(counts == 0, "empty", verdicts),
        "share_missing": 1 - counts / seen.shape[1],
        "share_wrong": (table.wrong & seen).sum(axis=1) / np.maximum(counts, 1),
        "distance": scores.distance,
        "residual": scores.residual,
    }


def columns_of(result: Result, table: CleanTable) -> Any:
    """A line for each column: whether it can be predicted, its noise, and its errors."""
    return _with_labels(result, column_columns(result, table), "column", result.column_labels)


def column_columns(result: Result, table: CleanTable) -> dict[str, Any]:
    """The labels of the columns and the columns of their frame, as arrays."""
    seen, held_out = ~np.isnan(table.given), table.held_out
    counts, right = seen.sum(axis=0), ~table.wrong_rows[:, None]
    wrong = (table.wrong & right).sum(axis=0) / np.maximum((seen & right).sum(axis=0), 1)
    verdicts = np.where(table.wrong_columns, "wrong", "good")
    verdicts = np.where(held_out.not_predicted, "not predicted", verdicts)
    return {
        "column": _labels(result.column_labels, seen.shape[1]),
        "verdict": np.where(counts == 0, "empty", verdicts),
        "share_missing": 1 - counts / len(seen),
        "share_wrong": wrong,
        "noise": table.noise,
        "skill": held_out.skill,
        "error": held_out.errors,
        "error_of_median": held_out.trivial,
    }


def _with_labels(result: Result, columns: dict[str, Any], kind: str, labels: Any) -> Any:
    """A frame with the labels of its lines, as an index or as the first column of Polars."""
    if isinstance(result.as_frame, PolarsFrames):
        return result.as_frame.of_columns(columns)
    return new_frame(columns, columns.pop(kind), getattr(labels, "name", None) or kind)


def _labels(labels: Any, size: int) -> Any:
    return np.arange(size) if labels is None else labels
