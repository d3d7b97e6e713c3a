"""Tables in the files of Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.cli.text_tables import NotANumber, missing_name, missing_number

Matrix = np.ndarray[Any, Any]
Labels = list[list[str]]

FRAME_SUFFIXES = (".parquet", ".feather", ".arrow")


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A data frame with the methods of ``TextTable``."""

    path: Path
    frame: Any
    has_names: bool  # whether the first column has the names of the rows

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.frame.columns)

    def expect_numbers_in(self, place: int) -> None:
        """The names of the columns are known."""

    def columns(
        self, labels: Sequence[int], numbers: Sequence[int], *, gaps: bool = False
    ) -> tuple[Labels, Matrix]:
        """Some columns as text, and others as numbers: an array (rows, columns).

        With ``gaps``, numbers may be missing, and names where they are.
        """
        values = np.empty((len(self.frame), len(numbers)))
        for k, place in enumerate(numbers):
            values[:, k] = self._numbers(place)
            if not gaps and (cell := self._first_cell(np.isnan(values[:, k]), place)):
                raise missing_number(cell)
        texts, present = [], ~np.isnan(values).any(axis=1)
        for place in labels:
            column = self.frame.iloc[:, place]
            if cell := self._first_cell(column.isna().to_numpy() & present, place):
                raise missing_name(cell)
            texts.append(column.astype(str).tolist())
        return texts, values

    def _first_cell(self, which: Matrix, place: int) -> str:
        """Where the first of some rows has its cell of a column; empty if there are none."""
        rows = np.flatnonzero(which)
        return f"{self.path}, row {rows[0] + 1}, column {self.header[place]!r}" if len(rows) else ""

    def matrix(self) -> tuple[list[str] | None, list[str] | None, Matrix]:
        """The names of the rows and of the columns, if there are any, and the numbers."""
        first = 1 if self.has_names else 0
        texts, values = self.columns(range(first), range(first, self.width), gaps=True)
        return (texts[0] if texts else None), self.header[first:], values

    def _numbers(self, place: int) -> Matrix:
        column = self.frame.iloc[:, place]
        if getattr(column.dtype, "kind", "O") not in "biuf":  # not dates, and not text of digits
            raise NotANumber(
                f"{self.path}: the column {self.header[place]!r} has values of type "
                f"{column.dtype}; expected numbers"
            )
        values: Matrix = column.to_numpy(dtype=float, na_value=np.nan)
        return values


def read_frame(path: Path) -> FrameTable:
    """The table in a file of Parquet, Feather or Arrow."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        import pandas as pd

        read = pd.read_parquet if path.suffix.lower() == ".parquet" else pd.read_feather
        frame = read(path)
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pandas and pyarrow: pip install 'robustrank[files]'"
        ) from error
    except (OSError, ValueError) as error:  # those of pyarrow are among them
        raise ValueError(f"{path} cannot be read: {error}") from error
    if frame.empty:
        raise ValueError(f"{path} is empty; expected a table")
    if not isinstance(frame.index, pd.RangeIndex):
        return FrameTable(path, frame.reset_index(), has_names=True)
    kind = getattr(frame.dtypes.iloc[0], "kind", "O")
    return FrameTable(path, frame, has_names=kind not in "biuf")
