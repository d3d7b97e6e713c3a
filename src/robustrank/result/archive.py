"""Saving a result: an ``.npz`` file of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.result.certificate import Certificate
from robustrank.result.history import Check, History
from robustrank.result.recovery import Alternative, Attempt, Recovery
from robustrank.result.status import Status

FORMAT = "robustrank-recovery"
VERSION = 3
_ARRAYS = ("left", "right", "outliers", "residual")
_SHAPE = "the shape of an array"
_NUMBERS = ("cutoff", "solver", "iterations", "passes", "seconds")
_ALTERNATIVE = "alternative_left", "alternative_right"
# Tuples of a certificate, which are lists in JSON, and the type of their entries.
_TUPLES: dict[str, type] = {"noise_statistics": float, "contested": int, "objections": str}


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
        "alternative": other and {"supporting": other.supporting, "where": other.where},
    }


def load(path: PathLike) -> Recovery:
    """Read a result that ``Recovery.save`` wrote."""
    arrays = read_npz(path)
    try:
        header = json.loads(str(arrays["header"]))
        if header["format"] != FORMAT:
            raise KeyError("format")
        version = header["version"]
        recovery = _assemble(arrays, header) if version == VERSION else None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a saved result: {error} is missing or malformed; expected a file "
            "written by Recovery.save"
        ) from error
    if recovery is None:
        raise ValueError(
            f"{path} has format {version}, but this version of robustrank reads format {VERSION}; "
            "read it with the version that wrote it"
        )
    return recovery


def _assemble(arrays: dict[str, np.ndarray[Any, Any]], header: dict[str, Any]) -> Recovery:
    left, right, outliers, residual = (arrays[name] for name in _ARRAYS)
    _check_factors(left, right)
    if residual.ndim != 1 or outliers.shape != residual.shape:
        raise ValueError(_SHAPE)
    cutoff = header["cutoff"]
    return Recovery(
        left=left,
        right=right,
        outliers=outliers,
        residual=residual,
        status=Status[header["status"]],
        certificate=_certificate(header["certificate"]),
        history=History.from_rows(arrays["history"].tolist()),
        cutoff=None if cutoff is None else float(cutoff),
        solver=str(header["solver"]),
        iterations=int(header["iterations"]),
        passes=float(header["passes"]),
        seconds=float(header["seconds"]),
        attempts=tuple(Attempt(**a | {"status": Status[a["status"]]}) for a in header["attempts"]),
        alternative=_alternative(arrays, header["alternative"]),
    )


def _certificate(values: dict[str, Any]) -> Certificate:
    tuples = {name: tuple(map(kind, values[name])) for name, kind in _TUPLES.items()}
    return Certificate(**values | tuples)


def _alternative(
    arrays: dict[str, np.ndarray[Any, Any]], values: dict[str, Any] | None
) -> Alternative | None:
    if values is None:
        return None
    left, right = (arrays[name] for name in _ALTERNATIVE)
    _check_factors(left, right)
    return Alternative(left, right, int(values["supporting"]), str(values["where"]))


def _check_factors(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> None:
    if not (left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]):
        raise ValueError(_SHAPE)
