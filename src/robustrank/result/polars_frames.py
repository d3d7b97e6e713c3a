"""Data frames of Polars, without importing it: one that is passed makes others of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]


def is_polars(data: Any) -> bool:
    """Whether the data is a data frame of Polars, or a lazy one."""
    return type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "with_columns")


def check_polars(frame: Any) -> None:
    """Raise for a lazy data frame, whose cells are not known yet."""
    if not hasattr(frame, "get_columns"):
        raise TypeError("the table is a LazyFrame of Polars; pass table.collect()")


def polars_values(columns: list[Any], rows: int) -> Matrix:
    """The numbers of some columns, NaN where they are missing."""
    values = [np.asarray(column.to_list(), float) for column in columns]
    return np.reshape(values, (len(columns), rows)).T


@dataclass(frozen=True)
class PolarsFrames:
    """Makes data frames of Polars: of matrices, whose columns have names, and of columns."""

    kind: Any
    names: tuple[str, ...]

    def __call__(self, matrix: Any) -> Any:
        """A matrix as a data frame."""
        return self.kind(np.asarray(matrix), schema=[*self.names], orient="row")

    def of_columns(self, columns: dict[str, Any]) -> Any:
        """Columns as a data frame; NaN is null."""
        return self.kind(columns, nan_to_null=True)
