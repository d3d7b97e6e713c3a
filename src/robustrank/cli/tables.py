"""Reading entries of a matrix from files, and writing a completed matrix."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from robustrank.backend import to_numpy
from robustrank.completion import Completion
from robustrank.files import atomic_writer, map_npy

Matrix = np.ndarray[Any, Any]

_MISSING = {"", "na", "nan", "null", "none"}
_SNIFFED = 2**16  # characters from which the delimiter of a table is guessed


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with missing entries, or triples; and the names of its rows and columns."""

    data: Any  # as ``complete`` takes it
    shape: tuple[int, int] | None
    row_names: Sequence[str] | None
    column_names: Sequence[str] | None


def read_table(path: Path, rows: str | None, columns: str | None, values: str | None) -> Table:
    """Read triples from named columns of a CSV file, or a matrix from a CSV or .npy file."""
    named = [rows, columns, values]
    if path.suffix.lower() == ".npy":
        if any(name is not None for name in named):
            raise ValueError(
                f"--rows, --columns and --values name columns of a CSV file, not of {path}"
            )
        return Table(np.array(map_npy(path)), None, None, None)
    with _opened(path) as text:
        reader = _reader(text)
        if all(name is not None for name in named):
            return _triples(reader, [str(name) for name in named], path)
        if any(name is not None for name in named):
            raise ValueError("pass all of --rows, --columns and --values, or none of them")
        return _matrix(reader, path)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield text
    else:
        with open(path, encoding="utf-8-sig", newline="") as text:  # Excel writes a byte order mark
            yield text


def _reader(text: TextIO) -> Iterator[list[str]]:
    """The rows of a table, whose delimiter is guessed from its beginning."""
    beginning = text.read(_SNIFFED)
    try:
        dialect: Any = csv.Sniffer().sniff(beginning, delimiters=",;\t")
    except csv.Error:
        dialect = csv.excel
    text.seek(0)
    return (row for row in csv.reader(text, dialect) if row)


def _triples(reader: Iterator[list[str]], names: list[str], path: Path) -> Table:
    header = [name.strip() for name in next(reader, [])]
    for name in names:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(header) or 'none'}")
    places = [header.index(name) for name in names]
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    rows, columns, values = [], [], []
    for line, row in enumerate(reader, start=2):
        if len(row) <= max(places):
            raise ValueError(f"{path}, line {line}: {len(row)} values; expected {len(header)}")
        own, other, text = (row[place].strip() for place in places)
        if text.lower() in _MISSING:
            continue
        rows.append(numbers[0].setdefault(own, len(numbers[0])))
        columns.append(numbers[1].setdefault(other, len(numbers[1])))
        values.append(_number(text, path, line))
    if not values:
        raise ValueError(f"{path} has no values")
    data = np.asarray(rows), np.asarray(columns), np.asarray(values)
    return Table(data, (len(numbers[0]), len(numbers[1])), list(numbers[0]), list(numbers[1]))


def _matrix(reader: Iterator[list[str]], path: Path) -> Table:
    """A table with or without a header and a first column of names."""
    lines = list(reader)
    if not lines:
        raise ValueError(f"{path} is empty")
    has_header = any(not _is_number(text) for text in lines[0][1:] or lines[0])
    header = lines.pop(0) if has_header else None
    has_names = bool(lines) and any(not _is_number(row[0]) for row in lines)
    if has_header and not has_names and header is not None:
        has_names = not header[0].strip()  # numbers as names, below an empty corner
    width = len(header or lines[0])
    first = 1 if has_names else 0
    values = np.empty((len(lines), width - first))
    for line, row in enumerate(lines, start=2 if has_header else 1):
        if len(row) != width:
            raise ValueError(f"{path}, line {line}: {len(row)} values; expected {width}")
        values[line - (2 if has_header else 1)] = [
            np.nan if text.strip().lower() in _MISSING else _number(text, path, line)
            for text in row[first:]
        ]
    names = [row[0] for row in lines] if has_names else None
    return Table(values, None, names, None if header is None else header[first:])


def _is_number(text: str) -> bool:
    if text.strip().lower() in _MISSING:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, path: Path, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{path}, line {line}: {text!r} is not a number") from None


def write_completion(path: Path, completion: Completion, table: Table) -> None:
    """Write the factors and flags (``.npz``) or the completed matrix (``.npy``, ``.csv``)."""
    with atomic_writer(path) as stream:
        if path.suffix == ".npz":
            np.savez_compressed(
                stream,
                left=to_numpy(completion.left),
                right=to_numpy(completion.right),
                outliers=to_numpy(completion.outliers),
                undecided_rows=completion.undecided_rows,
                undecided_columns=completion.undecided_columns,
            )
        elif path.suffix == ".npy":
            np.save(stream, to_numpy(completion.matrix), allow_pickle=False)
        else:
            _write_csv(stream, to_numpy(completion.matrix), table)


def _write_csv(stream: Any, matrix: Matrix, table: Table) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    writer = csv.writer(text)
    names = table.row_names
    if table.column_names is not None:
        writer.writerow([*([] if names is None else [""]), *table.column_names])
    for i, row in enumerate(matrix):
        written = [format(value, ".17g") for value in row]
        writer.writerow(written if names is None else [names[i], *written])
    text.flush()
    text.detach()
