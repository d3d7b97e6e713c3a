"""A completion as NumPy arrays, which the figures and tables are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.result import Result

Values = np.ndarray[Any, Any]

_LONGEST = 40  # characters of a label
_MOST = 50_000_000  # entries: more would take gigabytes


@dataclass(frozen=True, eq=False)
class Axis:
    """The rows or the columns of the matrix."""

    undecided: Values  # boolean, one for each
    labels: Sequence[Any] | None

    @property
    def size(self) -> int:
        """The number of rows or columns."""
        return len(self.undecided)

    def name(self, index: int) -> str:
        """The label of a row or column, shortened if it is long, or its number."""
        if self.labels is None:
            return str(index)
        label = self.labels[index]
        text = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@dataclass(frozen=True, eq=False)
class CompletionArrays:
    """Factors, observed entries in the order given, and the rows and columns."""

    left: Values
    right: Values
    entry_rows: Values
    entry_columns: Values
    residuals: Values
    rejected: Values  # boolean, one for each entry
    rows: Axis
    columns: Axis

    @classmethod
    def of(
        cls,
        completion: Result,
        row_labels: Sequence[Any] | None = None,
        column_labels: Sequence[Any] | None = None,
    ) -> CompletionArrays:
        """The arrays of a completion; labels that are given replace those of its data frame."""
        count = completion.certificate.measurements
        if count > _MOST:
            raise ValueError(
                f"the result has {count:,} entries; a report is made of at most {_MOST:,}. "
                "Split a part of the matrix for it"
            )
        rows, columns, residuals = (to_numpy(values) for values in completion.entries)
        flags = to_numpy(completion.outliers).astype(bool)
        return cls(
            left=to_numpy(completion.left).astype(float),
            right=to_numpy(completion.right).astype(float),
            entry_rows=rows.astype(np.int64),
            entry_columns=columns.astype(np.int64),
            residuals=residuals.astype(float),
            rejected=flags if flags.ndim == 1 else flags[rows, columns],
            rows=_axis(
                completion.undecided_rows,
                completion.row_labels,
                row_labels,
                completion.shape[0],
                "row",
            ),
            columns=_axis(
                completion.undecided_columns,
                completion.column_labels,
                column_labels,
                completion.shape[1],
                "column",
            ),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.rows.size, self.columns.size

    @property
    def nothing_decided(self) -> bool:
        """Whether all rows or all columns are undecided."""
        return bool(self.rows.undecided.all() or self.columns.undecided.all())

    @property
    def in_undecided_part(self) -> Values:
        """Which entries are in a row or column that is undecided."""
        undecided: Values = (
            self.rows.undecided[self.entry_rows] | self.columns.undecided[self.entry_columns]
        )
        return undecided

    def predicted(self, rows: Values, columns: Values) -> Values:
        """Entries of the completed matrix, from its factors."""
        with np.errstate(over="ignore", invalid="ignore"):
            entries: Values = np.sum(self.left[rows] * self.right[columns], axis=-1)
        return entries


def _axis(undecided: Any, own_labels: Any, given: Sequence[Any] | None, size: int, of: str) -> Axis:
    if given is not None and len(given) != size:
        raise ValueError(
            f"{of}_labels has {len(given):,} labels; expected one for each of the {size:,} {of}s"
        )
    flags = np.zeros(size, bool)
    if own_labels is None:
        flags[undecided] = True
    elif len(undecided):  # given by labels; if several rows have the same one, all are marked
        flags |= np.isin(np.asarray(own_labels), undecided)
    return Axis(flags, own_labels if given is None else given)
