"""Saving a result: an ``.npz`` file of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from enum import Enum, EnumType
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from robustrank.backend import shown, to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.result.certificate import Status
from robustrank.result.groups import GroupRow, GroupTable
from robustrank.result.history import Check, History
from robustrank.result.labels import frame_with_labels, label_array, labels_from
from robustrank.result.observations import (
    MatrixObservations,
    Measurements,
    Observations,
    SampledObservations,
)
from robustrank.result.old_archives import FORMATS, current_header
from robustrank.result.polars_frames import PolarsFrames
from robustrank.result.result import Alternative, Result
from robustrank.result.table_archive import arrays_of, names, table_of

Matrix = np.ndarray[Any, Any]

_FORMAT, _VERSION = "robustrank-result", 1
_VERSIONS = {_FORMAT: _VERSION, **FORMATS}
_REAL = (np.float32, np.float64)
# What reading a file with other contents raises.
_MALFORMED = (KeyError, AttributeError, TypeError, ValueError, OverflowError, RecursionError)
# The fields of a result that are in the header, as JSON; the others are arrays.
_FIELDS = (
    *("stopped", "certificate", "noise", "typical_size", "cutoff", "solver", "iterations"),
    *("passes", "seconds", "data", "remedy", "symmetric", "noise_model", "attempts", "rank_table"),
)
_FACTORS = ("left", "right")
_ALTERNATIVE = ("alternative_left", "alternative_right")
_ENTRIES = ("rows", "columns", "residuals")
_LABELS = ("row_labels", "column_labels")
_UNDECIDED = ("undecided_rows", "undecided_columns")
_READ = {
    *("header", "outliers", "residual", "values", "history", "noise_sizes"),
    *(*_FACTORS, *_ALTERNATIVE, *_ENTRIES, *_LABELS, *_UNDECIDED, "group_labels"),
    *names(),
}


def save(result: Result, path: PathLike) -> None:
    """Write a result to an ``.npz`` file, replacing an existing file atomically.

    If the data is not a table, the file also contains the matrix itself, so that ``numpy.load`` is
    enough to read it.
    """
    arrays = {name: to_numpy(getattr(result, name)) for name in (*_FACTORS, "outliers")}
    match result.observations:
        case Measurements(residuals):
            arrays |= {"residual": to_numpy(residuals), "matrix": to_numpy(result.matrix)}
        case MatrixObservations(values):
            arrays["values"] = values
        case observations:
            arrays |= dict(zip(_ENTRIES, map(to_numpy, observations.all()), strict=True))
    if result.noise_sizes is not None:
        arrays["noise_sizes"] = to_numpy(result.noise_sizes)
    if result.table is not None:
        arrays |= arrays_of(result.table)
    if result.alternative is not None:
        arrays |= {
            "alternative_left": to_numpy(result.alternative.left),
            "alternative_right": to_numpy(result.alternative.right),
        }
    labels = {name: getattr(result, name) for name in (*_LABELS, *_UNDECIDED)}
    arrays |= {name: label_array(given) for name, given in labels.items() if given is not None}
    if result.groups is not None:
        arrays["group_labels"] = label_array(np.asarray([row.label for row in result.groups.rows]))
    arrays["history"] = np.asarray(result.history.checks, float).reshape(-1, len(Check._fields))
    text = json.dumps(_header(result), default=_as_json)
    with atomic_writer(path) as stream:
        np.savez(stream, header=np.asarray(text), **arrays)  # type: ignore[arg-type]  # its options


def _header(result: Result) -> dict[str, Any]:
    other = result.alternative
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "status": result.status,  # for people: it follows from the certificate
        "advice": result.advice,
        **{name: getattr(result, name) for name in _FIELDS},
        "history_columns": Check._fields,
        "alternative": other and {"supporting": other.supporting, "where": other.where},
        "groups": result.groups and [_without_label(row) for row in result.groups.rows],
        "is_frame": result.as_frame is not None and not isinstance(result.as_frame, PolarsFrames),
        **{name: _described(getattr(result, name)) for name in _LABELS},
    }


def _as_json(value: Any) -> Any:
    """A member of an enumeration by its name, and a dataclass as a dictionary."""
    return value.name if isinstance(value, Enum) else asdict(value)


def _without_label(row: GroupRow) -> dict[str, Any]:
    """The numbers of a group; its label is in an array."""
    return {name: value for name, value in asdict(row).items() if name != "label"}


def _described(labels: Any) -> dict[str, Any] | None:
    """The type and the name of an index of pandas; its labels are an array."""
    if not hasattr(labels, "get_indexer"):
        return None
    return {
        "dtype": str(labels.dtype),
        "name": labels.name if isinstance(labels.name, str) else None,
    }


def read_archive(path: PathLike) -> Result:
    """The result in a file, which may be malicious: everything is checked."""
    arrays = {
        name: array.astype(array.dtype.newbyteorder("="), copy=False)
        for name, array in read_npz(path, _READ).items()
    }
    try:
        header = _read_header(arrays)
        known = _VERSIONS[header["format"]]
        if header["version"] == known:
            return _result(arrays, current_header(header, arrays))
    except _MALFORMED as error:
        part = shown(error.args[0]) if isinstance(error, KeyError) else error
        raise ValueError(
            f"{path} is not a saved result: {part} is missing or malformed; expected a file "
            "written by the method save of a result"
        ) from error
    raise ValueError(
        f"{path} has format {header['version']}, but this version of robustrank reads format "
        f"{known}; read it with the version that wrote it"
    )


def _read_header(arrays: dict[str, Matrix]) -> dict[str, Any]:
    text = arrays["header"]
    _check(text.shape == () and text.dtype.kind == "U", "'header'")
    header: Any = json.loads(str(text))
    _check(isinstance(header, dict) and header.get("format") in [*_VERSIONS], "'format'")
    _check(type(header.get("version")) is int, "'version'")
    return dict(header)


def _check(valid: bool, part: str) -> None:
    """Raise unless a part of the file is valid."""
    if not valid:
        raise ValueError(part)


def _result(arrays: dict[str, Matrix], header: dict[str, Any]) -> Result:
    of_entries = "residual" not in arrays
    left, right = _factors(arrays, _FACTORS, least_rank=0 if of_entries else 1)
    observations, forms = _observations(arrays, left, right)
    outliers = arrays["outliers"]
    _check(outliers.dtype == bool and outliers.shape in forms, "the dtype or the shape of an array")
    _decoded(header["status"], Status, "status")
    kinds = get_type_hints(Result)
    plain = {name: _decoded(header[name], kinds[name], name) for name in _FIELDS}
    _check(
        of_entries or plain["certificate"].measurements == len(outliers),
        "the number of measurements",
    )
    (row_labels, undecided_rows), (column_labels, undecided_columns) = (
        _labels(arrays.get(labels), arrays.get(undecided, np.zeros(0, int)), header[labels], size)
        for labels, undecided, size in zip(
            _LABELS, _UNDECIDED, (len(left), len(right)), strict=True
        )
    )
    as_frame = _decoded(header["is_frame"], bool, "is_frame")
    _check(not as_frame or None not in (header[name] for name in _LABELS), "'is_frame'")
    frame = frame_with_labels(row_labels, column_labels) if as_frame else None
    return Result(
        left=left,
        right=right,
        outliers=frame(outliers) if frame is not None and outliers.ndim == 2 else outliers,
        observations=observations,
        undecided_rows=undecided_rows,
        undecided_columns=undecided_columns,
        noise_sizes=_noise_sizes(arrays.get("noise_sizes"), observations),
        alternative=_alternative(arrays, header["alternative"]),
        groups=_groups(arrays, header.get("groups")),
        history=_history(arrays, of_entries),
        row_labels=row_labels,
        column_labels=column_labels,
        as_frame=frame,
        table=table_of(arrays, (len(left), len(right))),
        **plain,
    )


def _factors(
    arrays: dict[str, Matrix], names: tuple[str, str], least_rank: int = 1
) -> tuple[Matrix, Matrix]:
    """The arrays with these names, which must be able to be the factors of a matrix."""
    left, right = (arrays[name] for name in names)
    _check(left.dtype in _REAL and right.dtype in _REAL, "the dtype of an array")
    _check(
        left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1], "the shape of an array"
    )
    _check(
        min(len(left), len(right)) >= 1 and left.shape[1] >= least_rank,
        "the shape of an array, which is empty,",
    )
    _check(
        bool(np.isfinite(left).all() and np.isfinite(right).all()),
        "a factor, which contains NaN or infinity,",
    )
    return left, right


def _observations(
    arrays: dict[str, Matrix], left: Matrix, right: Matrix
) -> tuple[Observations, list[tuple[int, ...]]]:
    """The measurements, and the shapes that flags of them may have."""
    shape = len(left), len(right)
    if "residual" in arrays:
        residual = arrays["residual"]
        _check(
            residual.dtype in _REAL and residual.ndim == 1 and len(residual) > 0,
            "the dtype or the shape of an array",
        )
        return Measurements(residual), [residual.shape]
    if "values" in arrays:
        values = arrays["values"]
        _check(values.dtype.kind in "biuf" and values.shape == shape, "'values'")
        return MatrixObservations(values, left, right), [shape]
    rows, columns, residuals = (arrays[name] for name in _ENTRIES)
    for places, size in zip((rows, columns), shape, strict=True):
        _check(
            places.dtype.kind in "iu" and places.shape == residuals.shape and places.ndim == 1,
            "the dtype or the shape of an array",
        )
        _check(
            len(places) > 0 and places.min() >= 0 and places.max() < size,
            "the position of an entry",
        )
    _check(residuals.dtype == left.dtype, "the dtype of an array")
    return SampledObservations(rows, columns, residuals), [shape, residuals.shape]


def _noise_sizes(sizes: Matrix | None, observations: Observations) -> Matrix | None:
    """The relative size of the noise of each measurement, positive."""
    _check(
        sizes is None
        or bool(
            sizes.dtype in _REAL
            and sizes.shape == observations.residuals.shape
            and (sizes > 0).all()
        ),
        "'noise_sizes'",
    )
    return sizes


def _labels(labels: Any, undecided: Matrix, described: Any, size: int) -> tuple[Any, Matrix]:
    """The labels of the rows or columns, and the labels or numbers of those not decided.

    The labels are an index of pandas if they were one, or an array.
    """
    kinds = "iu" if labels is None else "biufU"
    _check(labels is None or (labels.shape == (size,) and labels.dtype.kind in kinds), "the labels")
    _check(
        undecided.ndim == 1
        and len(undecided) <= size
        and (not len(undecided) or undecided.dtype.kind in kinds),
        "the undecided rows or columns",
    )
    if described is None:
        return labels, undecided
    _check(labels is not None, "the labels")
    dtype, name = described["dtype"], described["name"]
    _check(isinstance(dtype, str) and isinstance(name, str | None), "'dtype'")
    return labels_from(labels, dtype, name), np.asarray(labels_from(undecided, dtype, name))


def _alternative(arrays: dict[str, Matrix], values: dict[str, Any] | None) -> Alternative | None:
    if values is None:
        return None
    return Alternative(*_factors(arrays, _ALTERNATIVE), **_entries(values, Alternative))


def _groups(arrays: dict[str, Matrix], rows: Any) -> GroupTable | None:
    """The table of the groups, which results without groups and earlier versions do not have."""
    if rows is None:
        return None
    labels = arrays["group_labels"]
    _check(isinstance(rows, list) and labels.shape == (len(rows),) and len(rows) > 0, "'groups'")
    _check(labels.dtype.kind in "biufU", "the labels of the groups")
    table = [
        GroupRow(label, **_entries(row, GroupRow))
        for label, row in zip(labels.tolist(), rows, strict=True)
    ]
    _check(all(0 <= row.rejected <= row.count and row.count for row in table), "'groups'")
    return GroupTable(tuple(table))


def _history(arrays: dict[str, Matrix], of_entries: bool) -> History:
    """The history, which completions of earlier versions do not have."""
    none = np.zeros((0, len(Check._fields)))
    rows = arrays.get("history", none) if of_entries else arrays["history"]
    _check(
        rows.dtype.kind == "f" and rows.ndim == 2 and rows.shape[1] == none.shape[1], "'history'"
    )
    return History.from_rows(rows.tolist())


# Integers may have any size in JSON.
_LARGEST = sys.float_info.max
_IS_VALID: dict[Any, Callable[[Any], bool]] = {
    int: lambda value: type(value) is int and 0 <= value <= np.iinfo(np.int64).max,
    float: lambda value: type(value) is float or (type(value) is int and abs(value) < _LARGEST),
    bool: lambda value: type(value) is bool,
    str: lambda value: type(value) is str,
}


def _decoded(value: Any, kind: Any, name: str) -> Any:
    """A value of the header, which must have the type that is the annotation of a field."""
    if isinstance(kind, UnionType):
        return None if value is None else _decoded(value, get_args(kind)[0], name)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_decoded(one, get_args(kind)[0], name) for one in value)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**_entries(value, kind))
    if isinstance(kind, EnumType) and value in [*kind.__members__]:
        return kind[value]
    _check(kind in _IS_VALID and _IS_VALID[kind](value), repr(name))
    return value


def _entries(given: Any, record: Any) -> dict[str, Any]:
    """The entries of a dataclass from the header, which must have the types of its fields.

    Those with a default may be missing, except for lists and for what may be None.
    """
    _check(isinstance(given, dict), f"the entry of a {record.__name__}")
    kinds = get_type_hints(record)
    required = (
        name
        for name, kind in kinds.items()
        if get_origin(kind) is tuple or isinstance(kind, UnionType)
    )
    return {name: _decoded(given[name], kinds.get(name), name) for name in (*given, *required)}
