"""Reading entries of a matrix from files, and writing a completed matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.cli.columns import Table, opened, place_of
from robustrank.cli.writing import outlier_file, write_csv, write_outliers
from robustrank.completion import Completion
from robustrank.files import atomic_writer, is_array_file
from robustrank.operators.opening import open_array

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class ObservedTable:
    """A matrix with missing entries, or triples; and the names of its rows and columns."""

    data: Any  # as ``complete`` takes it
    shape: tuple[int, int] | None
    row_names: Sequence[str] | None
    column_names: Sequence[str] | None


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
        return ObservedTable(
            array if hasattr(array, "tocoo") else np.asarray(array[()]), None, None, None
        )
    if len(chosen) not in (0, 3):
        raise ValueError("pass all of --rows, --columns and --values, or none of them")
    with opened(path) as table:
        if chosen:
            return _triples(table, chosen)
        row_names, column_names, matrix = table.matrix()
    return ObservedTable(matrix, None, row_names, column_names)


def _triples(table: Table, names: Sequence[str]) -> ObservedTable:
    own, other = (place_of(table, name, numeric=False) for name in names[:2])
    value = place_of(table, names[2])
    labels, numbers = table.columns([own, other], [value], gaps=True)
    present = np.flatnonzero(~np.isnan(numbers[:, 0]))
    if not len(present):
        raise ValueError(f"{table.path} has no values in the column {names[2]!r}")
    codes: list[dict[str, int]] = [{}, {}]
    positions = [
        np.asarray([known.setdefault(texts[i], len(known)) for i in present])
        for known, texts in zip(codes, labels, strict=True)
    ]
    data = positions[0], positions[1], numbers[present, 0]
    return ObservedTable(data, (len(codes[0]), len(codes[1])), list(codes[0]), list(codes[1]))


def write_completion(path: Path, completion: Completion, table: ObservedTable) -> list[Path]:
    """Write the factors and flags (``.npz``) or the completed matrix (``.npy``, ``.csv``).

    The outliers are written beside a matrix. Returns the files.
    """
    matrix, flags = None, to_numpy(completion.outliers)
    if path.suffix != ".npz":
        matrix = to_numpy(completion.matrix)
    with atomic_writer(path) as stream:
        if matrix is None:
            np.savez_compressed(
                stream,
                left=to_numpy(completion.left),
                right=to_numpy(completion.right),
                outliers=flags,
                undecided_rows=completion.undecided_rows,
                undecided_columns=completion.undecided_columns,
            )
        elif path.suffix == ".npy":
            np.save(stream, matrix, allow_pickle=False)
        else:
            write_csv(stream, _lines(matrix, table))
    beside = outlier_file(path)
    if matrix is None or beside is None:
        return [path]
    rows, columns, residuals = completion.observations.chosen(flags)
    fitted = matrix[rows, columns]
    cells = zip(rows, columns, fitted + residuals, fitted, residuals, strict=True)
    listed = (
        [_name(table.row_names, i), _name(table.column_names, j), *numbers]
        for i, j, *numbers in cells
    )
    write_outliers(beside, flags, ["row", "column", "value", "fitted", "residual"], listed)
    return [path, beside]


def _name(names: Sequence[str] | None, number: int) -> Any:
    return int(number) if names is None else names[number]


def _lines(matrix: Matrix, table: ObservedTable) -> Iterator[Sequence[Any]]:
    """The rows of a table with the names of its rows and columns."""
    names = table.row_names
    if table.column_names is not None:
        yield [*([] if names is None else [""]), *table.column_names]
    for i, row in enumerate(matrix):
        yield row if names is None else [names[i], *row]
