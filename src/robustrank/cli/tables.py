"""Reading entries of a matrix from files, and writing a completed matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.cli.table_files import NotANumber, Table, opened
from robustrank.cli.writing import outlier_file, write_csv, write_outliers
from robustrank.files import atomic_writer, is_array_file
from robustrank.inputs import as_operator
from robustrank.outofcore.opening import open_array
from robustrank.result import Result, SampledObservations
from robustrank.uncertainty import with_entry_error_bars

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class ObservedTable:
    """A matrix with missing entries, or triples; and the names of its rows and columns.

    Rows and columns are solved in the order of their names, so that the result for a table does not
    depend on its order, or on whether it has one entry in each line.
    """

    data: Any  # as ``complete`` takes it, in the order of the names
    shape: tuple[int, int] | None
    row_names: Sequence[str] | None = None  # in the order of the file, if that is a matrix
    column_names: Sequence[str] | None = None
    orders: tuple[Matrix, Matrix] | None = None  # places in the file of the rows and columns

    def arranged(self, completion: Result) -> Result:
        """The result in the order of the file, with the names of the rows and columns."""
        in_order = completion if self.orders is None else _reordered(completion, *self.orders)
        return with_names(in_order, self.row_names, self.column_names)


def with_names(
    result: Result, row_names: Sequence[str] | None, column_names: Sequence[str] | None
) -> Result:
    """The result with the names of the rows and columns, if there are any."""
    labels = [
        None if names is None else np.asarray(names, dtype=np.str_)
        for names in (row_names, column_names)
    ]
    rows, columns = (
        numbers if names is None else names[numbers]
        for numbers, names in zip(
            (result.undecided_rows, result.undecided_columns), labels, strict=True
        )
    )
    return replace(
        result,
        undecided_rows=rows,
        undecided_columns=columns,
        row_labels=labels[0],
        column_labels=labels[1],
    )


def _reordered(completion: Result, rows: Matrix, columns: Matrix) -> Result:
    """The completion of a matrix whose row k is the row ``rows[k]`` of the given one."""
    own, other, residuals = completion.entries
    own, other = rows[own], columns[other]
    order = np.lexsort((other, own))
    from_rows, from_columns = np.argsort(rows), np.argsort(columns)
    return with_entry_error_bars(
        replace(
            completion,
            left=completion.left[from_rows],
            right=completion.right[from_columns],
            outliers=completion.outliers[np.ix_(from_rows, from_columns)],
            undecided_rows=np.sort(rows[completion.undecided_rows]),
            undecided_columns=np.sort(columns[completion.undecided_columns]),
            observations=SampledObservations(own[order], other[order], residuals[order]),
        ),
        as_operator,
    )


def read_table(
    path: Path, rows: str | None, columns: str | None, values: str | None
) -> ObservedTable:
    """Read triples from columns of a table, or a matrix from a table or a file of arrays."""
    named = [rows, columns, values]
    chosen = [name for name in named if name is not None]
    if is_array_file(path):
        if chosen:
            raise ValueError(
                f"--rows, --columns and --values choose columns of a table, such as a CSV file, "
                f"not of {path}"
            )
        array = open_array(path, "X")
        return ObservedTable(array if hasattr(array, "tocoo") else np.asarray(array[()]), None)
    if len(chosen) not in (0, 3):
        raise ValueError("pass all of --rows, --columns and --values, or none of them")
    try:
        with opened(path) as table:
            return _triples(table, chosen) if chosen else _matrix(table)
    except NotANumber as error:
        raise ValueError(
            f"{error}; leave out columns that are not numbers, except for the first one, which may "
            "have the names of the rows"
        ) from error


def _matrix(table: Table) -> ObservedTable:
    row_names, column_names, matrix = table.matrix()
    rows, columns = (
        np.asarray(range(size) if names is None else _in_order(names))
        for names, size in zip((row_names, column_names), matrix.shape, strict=True)
    )
    data = matrix[np.ix_(rows, columns)]
    return ObservedTable(data, None, row_names, column_names, (rows, columns))


def _in_order(names: Sequence[str]) -> list[int]:
    """The places of names in their order, in which numbers count: "day 2" is before "day 10"."""
    parts = [re.split(r"([0-9]+)", name) for name in names]
    keys = [[int(part) if k % 2 else part for k, part in enumerate(one)] for one in parts]
    return sorted(range(len(names)), key=keys.__getitem__)


def _triples(table: Table, names: Sequence[str]) -> ObservedTable:
    own, other = (table.place(name, numeric=False) for name in names[:2])
    value = table.place(names[2])
    labels, numbers = table.columns([own, other], [value], gaps=True)
    present = np.flatnonzero(~np.isnan(numbers[:, 0]))
    if not len(present):
        raise ValueError(f"{table.path} has no values in the column {names[2]!r}")
    (row_names, rows), (column_names, columns) = (_numbered(texts) for texts in labels)
    data = rows[present], columns[present], numbers[present, 0]
    shape = len(row_names), len(column_names)
    return ObservedTable(data, shape, row_names, column_names)


def _numbered(texts: Sequence[str]) -> tuple[list[str], Matrix]:
    """The names that occur, in their order, and the place of each text among them."""
    found = list(dict.fromkeys(texts))
    names = [found[k] for k in _in_order(found)]
    places = {name: k for k, name in enumerate(names)}
    return names, np.asarray([places[text] for text in texts])


def write_completion(path: Path, completion: Result, table: ObservedTable) -> list[Path]:
    """Write the whole result (``.npz``) or the completed matrix (``.npy``, ``.csv``).

    The outliers are written beside a matrix. Returns the files.
    """
    beside = outlier_file(path)
    if beside is None:
        completion.save(path)
        return [path]
    matrix, flags = to_numpy(completion.matrix), to_numpy(completion.outliers)
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, matrix, allow_pickle=False)
        else:
            write_csv(stream, lines_of(matrix, table.row_names, table.column_names))
    errors = completion.sparse
    (rows, columns), residuals = errors.coords, errors.data
    fitted = matrix[rows, columns]
    values = np.where(np.isinf(residuals), residuals, fitted + residuals)
    cells = zip(rows, columns, values, fitted, residuals, strict=True)
    listed = (
        [_name(table.row_names, i), _name(table.column_names, j), *numbers]
        for i, j, *numbers in cells
    )
    write_outliers(beside, flags, ["row", "column", "value", "fitted", "residual"], listed)
    return [path, beside]


def _name(names: Sequence[str] | None, number: Any) -> Any:
    return int(number) if names is None else names[number]


def lines_of(
    matrix: Matrix, row_names: Sequence[str] | None, column_names: Sequence[str] | None
) -> Iterator[Sequence[Any]]:
    """The rows of a table with the names of its rows and columns, if there are any."""
    if column_names is not None:
        yield [*([] if row_names is None else [""]), *column_names]
    for i, row in enumerate(matrix):
        yield row if row_names is None else [row_names[i], *row]
