"""Saving a result: an ``.npz`` file of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from robustrank.backend import shown, to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.noise import NOISE_MODELS
from robustrank.result.certificate import Certificate, Status
from robustrank.result.history import Attempt, Check, History, StopReason
from robustrank.result.labels import frame_with_labels, label_array, labels_from
from robustrank.result.observations import (
    MatrixObservations,
    Measurements,
    Observations,
    SampledObservations,
)
from robustrank.result.old_archives import FORMATS, current_header
from robustrank.result.rank_table import RankRow, RankTable
from robustrank.result.result import Alternative, Result

Matrix = np.ndarray[Any, Any]

_FORMAT, _VERSION = "robustrank-result", 1
_REAL = (np.float32, np.float64)
_NUMBERS = (
    *("noise", "typical_size", "cutoff", "solver", "iterations", "passes", "seconds"),
    *("data", "remedy", "symmetric", "noise_model"),
)
_ALTERNATIVE = "alternative_left", "alternative_right"
_ENTRIES = ("rows", "columns", "residuals")
_LABELS = ("row_labels", "column_labels")
_UNDECIDED = ("undecided_rows", "undecided_columns")
# Tuples of a certificate, which are lists in JSON.
_TUPLES = ("noise_statistics", "contested", "objections")
_READ = {
    *("header", "left", "right", "outliers", "residual", "values", "history"),
    *(*_ALTERNATIVE, *_ENTRIES, *_LABELS, *_UNDECIDED),
}


def save(result: Result, path: PathLike) -> None:
    """Write a result to an ``.npz`` file, replacing an existing file atomically.

    If the data is not a table, the file also contains the matrix itself, so that ``numpy.load`` is
    enough to read it.
    """
    arrays = {name: to_numpy(getattr(result, name)) for name in ("left", "right", "outliers")}
    match result.observations:
        case Measurements(residuals):
            arrays |= {"residual": to_numpy(residuals), "matrix": to_numpy(result.matrix)}
        case MatrixObservations(values):
            arrays["values"] = values
        case observations:
            entries = map(to_numpy, observations.all())
            arrays |= dict(zip(_ENTRIES, entries, strict=True))
    if result.alternative is not None:
        factors = result.alternative.left, result.alternative.right
        arrays |= {name: to_numpy(part) for name, part in zip(_ALTERNATIVE, factors, strict=True)}
    for name in (*_LABELS, *_UNDECIDED):
        given = getattr(result, name)
        if given is not None:
            arrays[name] = label_array(given)
    arrays["history"] = np.asarray(result.history.checks, float).reshape(-1, len(Check._fields))
    text = json.dumps(_header(result))
    with atomic_writer(path) as stream:
        np.savez(stream, header=np.asarray(text), **arrays)  # type: ignore[arg-type]  # its options


def _header(result: Result) -> dict[str, Any]:
    other = result.alternative
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "status": result.status.name,  # for people: it follows from the certificate
        "advice": result.advice,
        "stopped": _name(result.stopped),
        "certificate": asdict(result.certificate),
        **{name: getattr(result, name) for name in _NUMBERS},
        "history_columns": list(Check._fields),
        "attempts": [
            asdict(one) | {"status": one.status.name, "stopped": _name(one.stopped)}
            for one in result.attempts
        ],
        "rank_table": result.rank_table and asdict(result.rank_table),
        "alternative": other and {"supporting": other.supporting, "where": other.where},
        "is_frame": result.as_frame is not None,
        **{name: _described(getattr(result, name)) for name in _LABELS},
    }


def _name(reason: StopReason | None) -> str | None:
    return None if reason is None else reason.name


def _described(labels: Any) -> dict[str, Any] | None:
    """The type and the name of an index of pandas; its labels are an array."""
    if not hasattr(labels, "get_indexer"):
        return None
    name = labels.name if isinstance(labels.name, str) else None
    return {"dtype": str(labels.dtype), "name": name}


def read_archive(path: PathLike) -> Result:
    """The result in a file, which may be malicious: everything is checked."""
    arrays = read_npz(path, _READ)
    try:
        header = _read_header(arrays)
        known = {_FORMAT: _VERSION, **FORMATS}.get(header["format"])
        if known is None:
            raise KeyError("format")
        version = header["version"]
        result = _result(arrays, current_header(header, arrays)) if version == known else None
    except KeyError as error:
        raise _not_a_result(path, f"{shown(error.args[0])} is missing or malformed") from error
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _not_a_result(path, f"{error} is missing or malformed") from error
    if result is None:
        raise ValueError(
            f"{path} has format {version}, but this version of robustrank reads format "
            f"{known}; read it with the version that wrote it"
        )
    return result


def _not_a_result(path: PathLike, reason: str) -> ValueError:
    return ValueError(
        f"{path} is not a saved result: {reason}; expected a file written by the method save of a "
        "result"
    )


def _read_header(arrays: dict[str, Matrix]) -> dict[str, Any]:
    text = arrays["header"]
    if text.shape != () or text.dtype.kind != "U":
        raise KeyError("header")
    header = json.loads(str(text))
    if not isinstance(header, dict) or not isinstance(header.get("format"), str):
        raise KeyError("format")
    if type(header.get("version")) is not int:
        raise KeyError("version")
    return header


def _result(arrays: dict[str, Matrix], header: dict[str, Any]) -> Result:
    left, right = native(arrays["left"]), native(arrays["right"])
    of_entries = "residual" not in arrays
    check_factors(left, right, least_rank=0 if of_entries else 1)
    shape = len(left), len(right)
    observations = _observations(arrays, left, right)
    outliers = arrays["outliers"]
    if outliers.dtype != bool or outliers.shape not in _forms(observations, shape):
        raise ValueError("the dtype or the shape of an array")
    _status(header["status"])
    if header["noise_model"] not in NOISE_MODELS:
        raise KeyError("noise_model")
    numbers = checked(header["certificate"], Certificate)
    certificate = Certificate(**numbers | {name: tuple(numbers[name]) for name in _TUPLES})
    if not of_entries and certificate.measurements != len(outliers):
        raise ValueError("the number of measurements")
    labels = [
        _labels(arrays.get(name), header[name], size)
        for name, size in zip(_LABELS, shape, strict=True)
    ]
    undecided = [
        _undecided(arrays.get(name), header[of], labels[k], shape[k])
        for k, (name, of) in enumerate(zip(_UNDECIDED, _LABELS, strict=True))
    ]
    as_frame = header["is_frame"]
    if not isinstance(as_frame, bool) or (as_frame and None in (header[n] for n in _LABELS)):
        raise KeyError("is_frame")
    frame = frame_with_labels(*labels) if as_frame else None
    return Result(
        left=left,
        right=right,
        outliers=frame(outliers) if frame is not None and outliers.ndim == 2 else outliers,
        certificate=certificate,
        observations=observations,
        stopped=_reason(header["stopped"]),
        undecided_rows=undecided[0],
        undecided_columns=undecided[1],
        alternative=_alternative(arrays, header["alternative"]),
        rank_table=_rank_table(header["rank_table"]),
        history=_history(arrays.get("history") if of_entries else arrays["history"]),
        attempts=_attempts(header["attempts"]),
        row_labels=labels[0],
        column_labels=labels[1],
        as_frame=frame,
        **checked({name: header[name] for name in _NUMBERS}, Result),
    )


def _forms(
    observations: Measurements | Observations, shape: tuple[int, int]
) -> list[tuple[int, ...]]:
    """The shapes that flags of the measurements may have."""
    if isinstance(observations, MatrixObservations):
        return [shape]
    vector = (len(observations.residuals),)
    return [vector] if isinstance(observations, Measurements) else [shape, vector]


def _observations(
    arrays: dict[str, Matrix], left: Matrix, right: Matrix
) -> Measurements | Observations:
    if "residual" in arrays:
        residual = native(arrays["residual"])
        if residual.dtype not in _REAL or residual.ndim != 1 or not len(residual):
            raise ValueError("the dtype or the shape of an array")
        return Measurements(residual)
    if "values" in arrays:
        values = native(arrays["values"])
        if values.dtype.kind not in "biuf" or values.shape != (len(left), len(right)):
            raise KeyError("values")
        return MatrixObservations(values, left, right)
    rows, columns, residuals = (native(arrays[name]) for name in _ENTRIES)
    for places, size in ((rows, len(left)), (columns, len(right))):
        if places.dtype.kind not in "iu" or places.shape != residuals.shape or places.ndim != 1:
            raise ValueError("the dtype or the shape of an array")
        if not (len(places) and places.min() >= 0 and places.max() < size):
            raise ValueError("the position of an entry")
    if residuals.dtype != left.dtype:
        raise ValueError("the dtype of an array")
    return SampledObservations(rows, columns, residuals)


def _labels(array: Matrix | None, described: Any, size: int) -> Any:
    """The labels of the rows or columns: an index of pandas if they were one, or an array."""
    if array is None:
        return None
    if array.shape != (size,) or array.dtype.kind not in "biufU":
        raise ValueError("the labels")
    return array if described is None else _index(array, described)


def _undecided(array: Matrix | None, described: Any, labels: Any, size: int) -> Matrix:
    """The numbers or labels of the rows or columns that are not decided."""
    if array is None:
        return np.zeros(0, int)
    kinds = "iu" if labels is None else "biufU"
    if array.ndim != 1 or len(array) > size or (len(array) and array.dtype.kind not in kinds):
        raise ValueError("the undecided rows or columns")
    return array if described is None else np.asarray(_index(array, described))


def _index(array: Matrix, described: Any) -> Any:
    dtype, name = described["dtype"], described["name"]
    if not (isinstance(dtype, str) and (name is None or isinstance(name, str))):
        raise KeyError("dtype")
    return labels_from(array, dtype, name)


def _rank_table(values: dict[str, Any] | None) -> RankTable | None:
    if values is None:
        return None
    rows = values["rows"]
    ranks = checked({name: values[name] for name in ("chosen", "largest")}, RankTable)
    if not isinstance(rows, list):
        raise KeyError("rank_table")
    return RankTable(tuple(RankRow(**checked(row, RankRow)) for row in rows), **ranks)


def _alternative(arrays: dict[str, Matrix], values: dict[str, Any] | None) -> Alternative | None:
    if values is None:
        return None
    left, right = (native(arrays[name]) for name in _ALTERNATIVE)
    check_factors(left, right)
    return Alternative(left, right, **checked(values, Alternative))


def _history(rows: Matrix | None) -> History:
    if rows is None:
        return History()
    if rows.dtype.kind != "f" or rows.ndim != 2 or rows.shape[1] != len(Check._fields):
        raise KeyError("history")
    return History.from_rows(rows.tolist())


def _attempts(given: Any) -> tuple[Attempt, ...]:
    if not isinstance(given, list):
        raise KeyError("attempts")
    return tuple(
        Attempt(
            **checked(one, Attempt)
            | {"status": _status(one["status"]), "stopped": _reason(one["stopped"])}
        )
        for one in given
    )


def _status(name: Any) -> Status:
    if not isinstance(name, str) or name not in Status.__members__:
        raise KeyError("status")
    return Status[name]


def _reason(name: Any) -> StopReason | None:
    if name is not None and (not isinstance(name, str) or name not in StopReason.__members__):
        raise KeyError("stopped")
    return None if name is None else StopReason[name]


def native(array: Matrix) -> Matrix:
    """An array in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_factors(left: Matrix, right: Matrix, least_rank: int = 1) -> None:
    """Raise unless these can be the factors of a matrix."""
    if left.dtype not in _REAL or right.dtype not in _REAL:
        raise ValueError("the dtype of an array")
    if not (left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]):
        raise ValueError("the shape of an array")
    if min(len(left), len(right)) < 1 or left.shape[1] < least_rank:
        raise ValueError("the shape of an array, which is empty,")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("a factor, which contains NaN or infinity,")


def checked(entries: Any, record: type) -> dict[str, Any]:
    """The entries of a dataclass from the header, which must have the types of its fields."""
    if not isinstance(entries, dict):
        raise TypeError(f"the entry of a {record.__name__}")
    annotations = {field.name: str(field.type) for field in fields(record)}
    for name, value in entries.items():
        if not _has_type(value, annotations.get(name, "")):
            raise KeyError(name)
    return entries


def _has_type(value: Any, annotation: str) -> bool:
    if value is None:
        return annotation.endswith("None")
    if annotation.startswith("tuple["):
        entry = annotation.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, list) and all(_has_type(one, entry) for one in value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match annotation.removesuffix(" | None"):
        case "int":
            return isinstance(value, int) and number and 0 <= value < 2**63
        case "float":
            return isinstance(value, float) or (number and abs(value) < 2**1023)
        case "bool":
            return isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case kind:
            return kind in ("Status", "StopReason")  # checked by ``_status`` and ``_reason``
