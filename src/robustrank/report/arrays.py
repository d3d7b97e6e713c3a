"""A result as NumPy arrays, which the figures and tables are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import to_numpy
from robustrank.metrics import Truth, normalized_error
from robustrank.result import Result, noun_of

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

    def name(self, index: int, longest: int = _LONGEST) -> str:
        """The label of a row or column, without its middle if it is long, or its number."""
        return _shortened(self._text(index), longest)

    def names(self, indices: Iterable[Any], longest: int) -> list[str]:
        """Several labels, without what all of them have in common if they are long."""
        texts = [self._text(index) for index in indices]
        if len(texts) < 2 or max(map(len, texts)) <= longest:
            return texts
        start = _shared(texts)
        texts = [text[start:] for text in texts]
        end = _shared([text[::-1] for text in texts])
        lengths = (len(text) - end for text in texts)
        return [
            _shortened("…" * (start > 0) + text[:length] + "…" * (end > 0), longest)
            for text, length in zip(texts, lengths, strict=True)
        ]

    def _text(self, index: int) -> str:
        if self.labels is None:
            return str(index)
        label = self.labels[index]
        return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _shortened(text: str, longest: int) -> str:
    """A text without its middle if it is long."""
    head, tail = longest // 3, longest - longest // 3 - 1
    return text if len(text) <= longest else f"{text[:head]}…{text[-tail:]}"


def _shared(texts: Sequence[str]) -> int:
    """The length of the words with which all texts begin."""
    pairs = zip(min(texts), max(texts), strict=False)
    same = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    words = re.match(r".*\W", same, re.DOTALL)
    return len(words[0]) if words else 0


@dataclass(frozen=True, eq=False)
class Arrays:
    """Factors, measurements in the order given, and the rows and columns of the matrix."""

    result: Result
    left: Values
    right: Values
    residuals: Values
    rejected: Values  # boolean, one for each measurement
    places: tuple[Values, Values] | None  # the row and the column of each, if they are entries
    rows: Axis
    columns: Axis

    @classmethod
    def of(
        cls,
        result: Result,
        row_labels: Sequence[Any] | None = None,
        column_labels: Sequence[Any] | None = None,
    ) -> Arrays:
        """The arrays of a result; labels that are given replace those of its data frame."""
        count, (n1, n2) = result.certificate.measurements, result.shape
        if result.of_entries and count > _MOST:
            raise ValueError(
                f"the result has {count:,} entries; figures are made of at most {_MOST:,}. "
                "Use a part of the matrix"
            )
        places, residuals, flags = None, result.residual, to_numpy(result.outliers).astype(bool)
        if result.of_entries:
            rows, columns, residuals = result.entries
            places = to_numpy(rows).astype(np.int64), to_numpy(columns).astype(np.int64)
            flags = flags if flags.ndim == 1 else flags[places]
        return cls(
            result=result,
            left=to_numpy(result.left).astype(float),
            right=to_numpy(result.right).astype(float),
            residuals=to_numpy(residuals).astype(float),
            rejected=flags,
            places=places,
            rows=axis_of(result.undecided_rows, result.row_labels, row_labels, n1, "row"),
            columns=axis_of(
                result.undecided_columns, result.column_labels, column_labels, n2, "column"
            ),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.rows.size, self.columns.size

    @property
    def noun(self) -> str:
        """What the measurements are called."""
        return noun_of(self.result)

    @property
    def nothing_decided(self) -> bool:
        """Whether all rows or all columns are undecided."""
        return bool(self.rows.undecided.all() or self.columns.undecided.all())

    @property
    def in_undecided_part(self) -> Values:
        """Which measurements are entries of a row or column that is undecided."""
        if self.places is None:
            return np.zeros(len(self.residuals), bool)
        rows, columns = self.places
        undecided: Values = self.rows.undecided[rows] | self.columns.undecided[columns]
        return undecided

    def predicted(self, rows: Values, columns: Values) -> Values:
        """Entries of the matrix, from its factors."""
        return product_at(self.left, self.right, rows, columns)

    def check_same_problem(self, truth: Truth | None, others: Sequence[Arrays]) -> None:
        """Raise if the truth or another result cannot belong to the problem of this one."""
        sizes = [(f"compare_with[{i}]", _size(other)) for i, other in enumerate(others)]
        if truth is not None:
            flags, shape = to_numpy(truth.outliers), (len(truth.left), len(truth.right))
            in_matrix = self.places is not None and flags.shape == self.shape
            sizes.append(("truth", (*shape, len(self.residuals) if in_matrix else len(flags))))
        for name, size in sizes:
            if size != _size(self):
                raise ValueError(
                    f"{name} has {self._described(size)}, the result has "
                    f"{self._described(_size(self))}; expected the same problem"
                )

    def _described(self, size: tuple[int, int, int]) -> str:
        rows, columns, measurements = size
        return f"{measurements:,} {self.noun} of a {rows} × {columns} matrix"

    def corrupted(self, truth: Truth) -> Values:
        """Which measurements are outliers in truth; a truth may have another order of entries."""
        flags: Values = to_numpy(truth.outliers).astype(bool)
        if self.places is None:
            return flags
        if flags.ndim == 2:
            return np.asarray(flags[self.places])
        if not hasattr(truth, "rows"):
            return flags
        given = to_numpy(truth.rows), to_numpy(truth.columns)  # type: ignore[attr-defined]
        known = scipy.sparse.csr_array((flags, given), shape=self.shape)
        return np.asarray(known[self.places]).ravel()

    def error(self, truth: Truth) -> float:
        """The relative error of the matrix in the rows and columns that are decided, or NaN."""
        rows, columns = ~self.rows.undecided, ~self.columns.undecided
        left, right = (to_numpy(part).astype(float) for part in (truth.left, truth.right))
        true = left[rows], right[columns]
        if not (np.any(true[0]) and np.any(true[1])):  # nothing is decided, or it is zero
            return float("nan")
        return normalized_error((self.left[rows], self.right[columns]), true)


def product_at(left: Values, right: Values, rows: Values, columns: Values) -> Values:
    """Entries of left · rightᵀ."""
    with np.errstate(over="ignore", invalid="ignore"):
        entries: Values = np.sum(left[rows] * right[columns], axis=-1)
    return entries


def _size(arrays: Arrays) -> tuple[int, int, int]:
    return (*arrays.shape, len(arrays.residuals))


def axis_of(
    undecided: Any, own_labels: Any, given: Sequence[Any] | None, size: int, of: str
) -> Axis:
    """The rows or the columns of a matrix; labels that are given replace its own."""
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
