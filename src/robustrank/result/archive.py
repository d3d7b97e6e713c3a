"""Saving a result: an ``.npz`` file of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from robustrank.backend import shown, to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.result.certificate import Certificate
from robustrank.result.history import Check, History
from robustrank.result.rank_table import RankRow, RankTable
from robustrank.result.recovery import Alternative, Attempt, Recovery
from robustrank.result.status import Status

Matrix = np.ndarray[Any, Any]

_ARRAYS = ("left", "right", "outliers", "residual")
_REAL = (np.float32, np.float64)
_NUMBERS = ("cutoff", "solver", "iterations", "passes", "seconds")
_ALTERNATIVE = "alternative_left", "alternative_right"
# Tuples of a certificate, which are lists in JSON.
_TUPLES = ("noise_statistics", "contested", "objections")


@dataclass(frozen=True)
class Kind:
    """A kind of result in an archive, which its header names."""

    format: str
    version: int
    arrays: tuple[str, ...]  # the names of those that are read
    assemble: Callable[[dict[str, Matrix], dict[str, Any]], Any]  # from the arrays and the header


def save(recovery: Recovery, path: PathLike) -> None:
    """Write a result to an ``.npz`` file, replacing an existing file atomically.

    The file also contains the matrix itself, so that ``numpy.load`` is enough to read it.
    """
    arrays = {name: to_numpy(getattr(recovery, name)) for name in _ARRAYS}
    arrays["matrix"] = to_numpy(recovery.matrix)
    if recovery.alternative is not None:
        factors = recovery.alternative.left, recovery.alternative.right
        arrays |= {name: to_numpy(part) for name, part in zip(_ALTERNATIVE, factors, strict=True)}
    arrays["history"] = np.asarray(recovery.history.checks, float).reshape(-1, len(Check._fields))
    write_archive(path, RECOVERY, arrays, _header(recovery))


def write_archive(
    path: PathLike, kind: Kind, arrays: dict[str, Matrix], header: dict[str, Any]
) -> None:
    """Write arrays and a header, replacing an existing file atomically."""
    text = json.dumps({"format": kind.format, "version": kind.version} | header)
    with atomic_writer(path) as stream:
        np.savez(stream, header=np.asarray(text), **arrays)  # type: ignore[arg-type]  # its options


def _header(recovery: Recovery) -> dict[str, Any]:
    other = recovery.alternative
    return {
        "status": recovery.status.name,
        "advice": recovery.status.advice,
        "certificate": asdict(recovery.certificate),
        **{name: getattr(recovery, name) for name in _NUMBERS},
        "history_columns": list(Check._fields),
        "attempts": [asdict(a) | {"status": a.status.name} for a in recovery.attempts],
        "data": recovery.data,
        "symmetric": recovery.symmetric,
        "remedy": recovery.remedy,
        "rank_table": recovery.rank_table and asdict(recovery.rank_table),
        "alternative": other and {"supporting": other.supporting, "where": other.where},
    }


def read_archive(path: PathLike, kinds: Sequence[Kind]) -> Any:
    """The result in a file, which may be malicious: everything is checked."""
    names = {"header"}.union(*(kind.arrays for kind in kinds))
    arrays = read_npz(path, names)
    try:
        header = _read_header(arrays)
        kind = {kind.format: kind for kind in kinds}.get(header["format"])
        if kind is None:
            raise KeyError("format")
        version = header["version"]
        result = kind.assemble(arrays, header) if version == kind.version else None
    except KeyError as error:
        raise _not_a_result(path, f"{shown(error.args[0])} is missing or malformed") from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _not_a_result(path, f"{error} is missing or malformed") from error
    if result is None:
        raise ValueError(
            f"{path} has format {version}, but this version of robustrank reads format "
            f"{kind.version}; read it with the version that wrote it"
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


def _recovery(arrays: dict[str, Matrix], header: dict[str, Any]) -> Recovery:
    left, right, outliers, residual = (native(arrays[name]) for name in _ARRAYS)
    _check_arrays(left, right, outliers, residual)
    certificate = _certificate(header["certificate"])
    if certificate.measurements != len(residual):
        raise ValueError("the number of measurements")
    attempts = header["attempts"]
    if not isinstance(attempts, list):
        raise KeyError("attempts")
    texts = {name: header.get(name, "") for name in ("data", "remedy")}
    own = checked({name: header[name] for name in _NUMBERS} | texts, Recovery)
    return Recovery(
        left=left,
        right=right,
        outliers=outliers,
        residual=residual,
        status=status(header),
        certificate=certificate,
        history=_history(arrays["history"]),
        attempts=tuple(
            Attempt(**checked(attempt, Attempt) | {"status": status(attempt)})
            for attempt in attempts
        ),
        alternative=_alternative(arrays, header["alternative"]),
        rank_table=rank_table(header.get("rank_table")),
        symmetric=_is_symmetric(header.get("symmetric"), left, right),
        **own,
    )


def _is_symmetric(stored: Any, left: Matrix, right: Matrix) -> bool:
    """Whether a result is one for symmetric matrices; files of earlier versions do not say that.

    The matrix of such a result is symmetric up to rounding, and others with noise are not.
    """
    if stored is not None:
        return bool(checked({"symmetric": stored}, Recovery)["symmetric"])
    if len(left) != len(right):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = left @ right.T
        rounding = 100 * float(np.finfo(left.dtype).eps) * float(np.linalg.norm(matrix))
        return float(np.linalg.norm(matrix - matrix.T)) <= rounding


RECOVERY = Kind("robustrank-recovery", 3, (*_ARRAYS, *_ALTERNATIVE, "history"), _recovery)


def _certificate(values: dict[str, Any]) -> Certificate:
    numbers = checked(values, Certificate)
    return Certificate(**numbers | {name: tuple(numbers[name]) for name in _TUPLES})


def rank_table(values: dict[str, Any] | None) -> RankTable | None:
    """The table of ranks of a header."""
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


def native(array: Matrix) -> Matrix:
    """An array in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_arrays(left: Matrix, right: Matrix, outliers: Matrix, residual: Matrix) -> None:
    check_factors(left, right)
    if residual.dtype not in _REAL or outliers.dtype != bool:
        raise ValueError("the dtype of an array")
    if residual.ndim != 1 or outliers.shape != residual.shape:
        raise ValueError("the shape of an array")
    if not len(residual):
        raise ValueError("the shape of an array, which is empty,")


def check_factors(left: Matrix, right: Matrix) -> None:
    """Raise unless these can be the factors of a matrix."""
    if left.dtype not in _REAL or right.dtype not in _REAL:
        raise ValueError("the dtype of an array")
    if not (left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]):
        raise ValueError("the shape of an array")
    if min(*left.shape, *right.shape) < 1:
        raise ValueError("the shape of an array, which is empty,")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("a factor, which contains NaN or infinity,")


def _history(rows: Matrix) -> History:
    columns = len(Check._fields)
    if rows.dtype.kind != "f" or rows.ndim != 2 or rows.shape[1] != columns:
        raise KeyError("history")
    return History.from_rows(rows.tolist())


def status(entries: dict[str, Any]) -> Status:
    """The status that a header names."""
    name = entries["status"]
    if not isinstance(name, str) or name not in Status.__members__:
        raise KeyError("status")
    return Status[name]


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
            return kind == "Status"  # checked by ``_status``
