"""Reading tables of samples and features, and writing cleaned ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robustrank.cli.table_files import NotANumber, Table, new_frame, opened
from robustrank.cli.tables import lines_of, read_table, with_names
from robustrank.cli.writing import Dialect, write_csv
from robustrank.files import atomic_writer, is_array_file
from robustrank.inputs.tables import cleaned_frame
from robustrank.result import Result, cell_columns, row_columns

Matrix = np.ndarray[Any, Any]

_WHOLE = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, eq=False)
class FileText:
    """The cells of a file as text, of which all that is not cleaned stays as it is."""

    header: Sequence[str] | None
    columns: Sequence[Sequence[str]]
    places: Sequence[int]  # of the columns that have the numbers
    frame: Any = None  # the same cells, if the file has a data frame
    index: Any = None  # of this data frame


@dataclass(frozen=True, eq=False)
class GivenTable:
    """The numbers of a table, and what is needed to write it in the form in which it was read."""

    values: Matrix
    row_names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None
    kept: tuple[str, ...] = ()  # columns that stay as they are
    text: FileText | None = None  # unless the file has an array, or one cell in each line
    dialect: Dialect = field(default_factory=Dialect)

    def named(self, result: Result) -> Result:
        """The result with the names of the file."""
        kept = f"as they are: {', '.join(self.kept)}" if self.kept else ""
        return replace(with_names(result, self.row_names, self.column_names), data=kept)


def read_given(
    path: Path, index: str | None, ignored: Sequence[str], long: Sequence[str] | None
) -> GivenTable:
    """The table in a file; ``long`` are the columns of the row, the column and the value."""
    if (index is not None or ignored) and (long or is_array_file(path)):
        used = "one cell in each line" if long else "an array"
        raise ValueError(
            f"--index and --ignore choose columns of a table, such as a CSV file, but {path} has "
            f"{used}"
        )
    if is_array_file(path):
        if long:
            raise ValueError(f"--long names columns of a table, such as a CSV file, not of {path}")
        return GivenTable(_dense(read_table(path, None, None, None).data))
    if long:
        return _of_triples(path, *long)
    with opened(path) as table:
        return _of_columns(table, index, ignored)


def _dense(array: Any) -> Matrix:
    return np.asarray(array.toarray() if hasattr(array, "toarray") else array)


def _of_triples(path: Path, rows: str, columns: str, values: str) -> GivenTable:
    """A table with one cell in each line, in the order of the names of rows and columns."""
    given = read_table(path, rows, columns, values)
    own, other, numbers = given.data
    assert given.shape is not None  # noqa: S101
    assert given.row_names is not None  # noqa: S101
    assert given.column_names is not None  # noqa: S101
    counts = Counter(zip(own.tolist(), other.tolist(), strict=True))
    (i, j), most = counts.most_common(1)[0]
    if most > 1:
        raise ValueError(
            f"{path} has {most} values of row {given.row_names[i]!r} and column "
            f"{given.column_names[j]!r}; expected one"
        )
    table = np.full(given.shape, np.nan)
    table[own, other] = numbers
    return GivenTable(table, given.row_names, given.column_names)


def _of_columns(table: Table, index: str | None, ignored: Sequence[str]) -> GivenTable:
    """A table with a row in each line: its columns of numbers, and the names of its rows."""
    _check_header(table)
    left = [table.place(name, numeric=False) for name in ignored]
    named = None if index is None else table.place(index, numeric=False)
    lines, texts = table.cells()
    if named is None:
        named = _place_of_names(table, texts[0])
    else:
        _check_names(table, texts[named], lines, named)
    numbers = {
        place: _numbers(table, texts[place], lines, place)
        for place in range(table.width)
        if place not in left and place != named
    }
    used = {place: values for place, values in numbers.items() if values is not None}
    kept = [place for place in range(table.width) if place not in used and place != named]
    rows = [table.name_of_row(line) for line in lines] if named is None else texts[named]
    return GivenTable(
        np.reshape([*used.values()], (len(used), len(lines))).T,
        rows,
        [table.name(place) for place in used],
        tuple(table.name(place) for place in kept),
        FileText(table.header, texts, [*used], table.frame, table.index),
        Dialect(table.delimiter or ",", table.point),
    )


def _check_header(table: Table) -> None:
    """Raise if the line with the names of the columns has a fraction, as a line of cells has."""
    for name in table.header or ():
        if table.is_number(name) and re.search("[.,]", name):
            raise ValueError(
                f"{table.path}: the first line, which should name the columns, has the number "
                f"{name}; add a line with the names"
            )


def _numbers(table: Table, texts: Sequence[str], lines: Sequence[int], place: int) -> Any:
    try:
        return table.numbers(texts, lines, place)
    except NotANumber as error:
        name = table.header[place] if table.header else place + 1
        raise ValueError(
            f"{error}, but most cells of this column are; correct it, or leave the column as it "
            f"is with --ignore {name}"
        ) from error


def _place_of_names(table: Table, first: Sequence[str]) -> int | None:
    """The first column, if it has names that differ: text, or anything below an empty corner."""
    corner = bool(table.header) and not (table.header or [""])[0]
    text = table.named or corner or table.numbers(first, range(len(first)), 0) is None
    return 0 if text and all(first) and len({*first}) == len(first) else None


def _check_names(table: Table, names: Sequence[str], lines: Sequence[int], place: int) -> None:
    """Raise unless the names of the rows differ."""
    seen: dict[str, int] = {}
    for name, line in zip(names, lines, strict=True):
        where = f"{table.path}, {table.name_of_row(line)}, column {table.name(place)!r}"
        if not name:
            raise ValueError(f"{where}: the name of the row is missing")
        if name in seen:
            raise ValueError(
                f"{where}: the name {name!r} is also that of {table.name_of_row(seen[name])}; "
                "expected a different name in each row"
            )
        seen[name] = line


def check_frame_names(path: Path, given: GivenTable) -> None:
    """Raise if columns have the same name, which those of a Parquet file cannot have."""
    names = given.column_names if given.text is None else given.text.header
    name, most = Counter(names or [""]).most_common(1)[0]
    if most > 1:
        raise ValueError(
            f"{most} columns are named {name!r}, but the columns of {path} need different names; "
            "rename them, or write a .csv file"
        )


def write_cleaned(path: Path, result: Result, given: GivenTable) -> None:
    """Write the cleaned table: in the form of the file, or the numbers (``.npy``).

    A ``.csv`` or ``.parquet`` file has all columns; an ``.npz`` file has the whole result instead.
    """
    if path.suffix == ".npz":
        result.save(path)
        return
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, np.asarray(result.frame), allow_pickle=False)
        elif path.suffix == ".parquet":
            _frame(result, given).to_parquet(stream)
        elif given.text is None:
            lines = lines_of(np.asarray(result.frame), given.row_names, given.column_names)
            write_csv(stream, lines, given.dialect)
        else:
            write_csv(stream, _lines(result, given.text, given.dialect), given.dialect)


def _lines(result: Result, text: FileText, dialect: Dialect) -> Iterator[Sequence[str]]:
    """The lines of the file with other numbers where cells were missing or wrong."""
    table = result.table
    assert table is not None  # noqa: S101
    filled = table.filled()
    changed = table.replaced & np.isfinite(filled)
    columns = [*text.columns]
    for k, place in enumerate(text.places):
        cells, written = [*text.columns[place]], _like(text.columns[place], dialect)
        for i in np.flatnonzero(changed[:, k]):
            cells[i] = written(float(filled[i, k]))
        columns[place] = cells
    if text.header is not None:
        yield text.header
    yield from zip(*columns, strict=True)


def _frame(result: Result, given: GivenTable) -> Any:
    """The cleaned table as a data frame, with the dtypes of the file if it has one."""
    table, text = result.table, given.text
    assert table is not None  # noqa: S101
    filled = table.filled()
    if text is None:
        names = given.column_names or range(1, filled.shape[1] + 1)
        columns = [(str(name), filled[:, k], "float64") for k, name in enumerate(names)]
        return new_frame(columns, given.row_names)
    frame = _as_frame(text, given.values) if text.frame is None else text.frame
    cleaned = cleaned_frame(frame, text.places, filled, table.replaced)
    if text.index is None:
        return cleaned
    return cleaned.iloc[:, text.index.nlevels :].set_axis(text.index)


def _as_frame(text: FileText, values: Matrix) -> Any:
    """The cells of a text file as a data frame."""
    columns: list[tuple[str, Any, str]] = []
    for place, cells in enumerate(text.columns):
        name = text.header[place] if text.header else str(place + 1)
        if place in text.places:
            dtypes = {"whole": "Int64", "truth": "boolean"}
            numbers = values[:, text.places.index(place)]
            columns.append((name, numbers, dtypes.get(_kind(cells), "float64")))
        else:
            columns.append((name, [cell or None for cell in cells], "object"))
    return new_frame(columns)


def _kind(texts: Sequence[str]) -> str:
    """Whether the cells of a column of numbers are all whole numbers, or all truth values."""
    present = _present(texts)
    if present and all(map(_WHOLE.fullmatch, present)):
        return "whole"
    return "truth" if present and {*map(str.lower, present)} <= {"true", "false"} else "number"


def _present(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if re.search(r"\d|true|false", text, re.IGNORECASE)]


def _like(texts: Sequence[str], dialect: Dialect) -> Callable[[float], str]:
    """How a number is written in a column: as a whole number or as a truth value, if all are."""
    kind = _kind(texts)
    if kind == "whole":
        return lambda value: str(round(value))
    if kind == "truth":
        words = {text.lower() == "true": text for text in _present(texts)}
        return lambda value: words.get(value >= 0.5, str(value >= 0.5))
    return dialect.number


def write_cells(path: Path, result: Result, given: GivenTable) -> None:
    """Write a line for each cell that is missing or wrong."""
    assert result.table is not None  # noqa: S101
    _write(path, cell_columns(result, result.table), given)


def write_rows(path: Path, result: Result, given: GivenTable) -> None:
    """Write a line for each row: whether it is wrong, and how unusual it is."""
    assert result.table is not None  # noqa: S101
    _write(path, row_columns(result, result.table), given)


def _write(path: Path, columns: dict[str, Any], given: GivenTable) -> None:
    with atomic_writer(path) as stream:
        write_csv(stream, [[*columns], *zip(*columns.values(), strict=True)], given.dialect)
