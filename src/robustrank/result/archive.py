"""Saving a result: an ``.npz`` file of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
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

FORMAT = "robustrank-recovery"
VERSION = 3
_ARRAYS = ("left", "right", "outliers", "residual")
_REAL = (np.float32, np.float64)
_NUMBERS = ("cutoff", "solver", "iterations", "passes", "seconds")
_ALTERNATIVE = "alternative_left", "alternative_right"
# Tuples of a certificate, which are lists in JSON.
_TUPLES = ("noise_statistics", "contested", "objections")


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
    arrays["header"] = np.asarray(json.dumps(_header(recovery)))
    with atomic_writer(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # the stub takes ** for its own options


def _header(recovery: Recovery) -> dict[str, Any]:
    other = recovery.alternative
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": recovery.status.name,
        "advice": recovery.status.advice,
        "certificate": asdict(recovery.certificate),
        **{name: getattr(recovery, name) for name in _NUMBERS},
        "history_columns": list(Check._fields),
        "attempts": [asdict(a) | {"status": a.status.name} for a in recovery.attempts],
        "data": recovery.data,
        "remedy": recovery.remedy,
        "rank_table": recovery.rank_table and asdict(recovery.rank_table),
        "alternative": other and {"supporting": other.supporting, "where": other.where},
    }


def load(path: PathLike) -> Recovery:
    """Read a result that ``Recovery.save`` wrote.

    The arrays are NumPy arrays, whatever they were before. The result has no error bars until
    ``with_data`` adds the measurements.

    Parameters
    ----------
    path
        The name of the file.

    Returns
    -------
    Recovery
        The result.

    Raises
    ------
    ValueError
        For any other file, also for a damaged or malicious one, or one of another version of the
        format; nothing in the file is executed.
    OSError
        If the file cannot be read.

    See Also
    --------
    robustrank.with_data : Add the measurements, for error bars.

    Examples
    --------
    >>> import tempfile
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rr.recover(planted.A, planted.y, rank=1).save(f"{folder}/result.npz")
    ...     result = rr.load(f"{folder}/result.npz")
    >>> result.status.name
    'RECOVERED'
    """
    arrays = read_npz(path, (*_ARRAYS, *_ALTERNATIVE, "history", "header"))
    try:
        header = _read_header(arrays)
        version = header["version"]
        recovery = _assemble(arrays, header) if version == VERSION else None
    except KeyError as error:
        raise _not_a_result(path, f"{shown(error.args[0])} is missing or malformed") from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _not_a_result(path, f"{error} is missing or malformed") from error
    if recovery is None:
        raise ValueError(
            f"{path} has format {version}, but this version of robustrank reads format {VERSION}; "
            "read it with the version that wrote it"
        )
    return recovery


def _not_a_result(path: PathLike, reason: str) -> ValueError:
    return ValueError(
        f"{path} is not a saved result: {reason}; expected a file written by Recovery.save"
    )


def _read_header(arrays: dict[str, Matrix]) -> dict[str, Any]:
    text = arrays["header"]
    if text.shape != () or text.dtype.kind != "U":
        raise KeyError("header")
    header = json.loads(str(text))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise KeyError("format")
    if type(header.get("version")) is not int:
        raise KeyError("version")
    return header


def _assemble(arrays: dict[str, Matrix], header: dict[str, Any]) -> Recovery:
    left, right, outliers, residual = (_native(arrays[name]) for name in _ARRAYS)
    _check_arrays(left, right, outliers, residual)
    certificate = _certificate(header["certificate"])
    if certificate.measurements != len(residual):
        raise ValueError("the number of measurements")
    attempts = header["attempts"]
    if not isinstance(attempts, list):
        raise KeyError("attempts")
    texts = {name: header.get(name, "") for name in ("data", "remedy")}
    own = _checked({name: header[name] for name in _NUMBERS} | texts, Recovery)
    return Recovery(
        left=left,
        right=right,
        outliers=outliers,
        residual=residual,
        status=_status(header),
        certificate=certificate,
        history=_history(arrays["history"]),
        attempts=tuple(
            Attempt(**_checked(attempt, Attempt) | {"status": _status(attempt)})
            for attempt in attempts
        ),
        alternative=_alternative(arrays, header["alternative"]),
        rank_table=_rank_table(header.get("rank_table")),
        **own,
    )


def _certificate(values: dict[str, Any]) -> Certificate:
    checked = _checked(values, Certificate)
    return Certificate(**checked | {name: tuple(checked[name]) for name in _TUPLES})


def _rank_table(values: dict[str, Any] | None) -> RankTable | None:
    if values is None:
        return None
    rows = values["rows"]
    ranks = _checked({name: values[name] for name in ("chosen", "largest")}, RankTable)
    if not isinstance(rows, list):
        raise KeyError("rank_table")
    return RankTable(tuple(RankRow(**_checked(row, RankRow)) for row in rows), **ranks)


def _alternative(arrays: dict[str, Matrix], values: dict[str, Any] | None) -> Alternative | None:
    if values is None:
        return None
    left, right = (_native(arrays[name]) for name in _ALTERNATIVE)
    _check_factors(left, right)
    return Alternative(left, right, **_checked(values, Alternative))


def _native(array: Matrix) -> Matrix:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_arrays(left: Matrix, right: Matrix, outliers: Matrix, residual: Matrix) -> None:
    _check_factors(left, right)
    if residual.dtype not in _REAL or outliers.dtype != bool:
        raise ValueError("the dtype of an array")
    if residual.ndim != 1 or outliers.shape != residual.shape:
        raise ValueError("the shape of an array")
    if not len(residual):
        raise ValueError("the shape of an array, which is empty,")


def _check_factors(left: Matrix, right: Matrix) -> None:
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


def _status(entries: dict[str, Any]) -> Status:
    name = entries["status"]
    if not isinstance(name, str) or name not in Status.__members__:
        raise KeyError("status")
    return Status[name]


def _checked(entries: Any, record: type) -> dict[str, Any]:
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
