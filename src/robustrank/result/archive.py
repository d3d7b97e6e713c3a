"""Keeping a recovery on disk: an ``.npz`` of plain arrays with a JSON header, no pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.result.history import Check, History
from robustrank.result.recovery import Attempt, Certificate, Recovery
from robustrank.result.status import Status

FORMAT = "robustrank-recovery"
VERSION = 1
_ARRAYS = ("left", "right", "outliers", "residual")
_NUMBERS = ("cutoff", "solver", "iterations", "passes", "seconds")


def save(recovery: Recovery, path: PathLike) -> None:
    """Write a recovery to an ``.npz`` file, replacing it atomically.

    Beside the factors, flags and residuals the file holds the matrix itself, so that a reader
    needs nothing but ``numpy.load``.
    """
    arrays = {name: to_numpy(getattr(recovery, name)) for name in _ARRAYS}
    arrays["matrix"] = to_numpy(recovery.matrix)
    arrays["history"] = np.asarray(recovery.history.checks, float).reshape(-1, len(Check._fields))
    arrays["header"] = np.asarray(json.dumps(_header(recovery)))
    with atomic_writer(path) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # the stub reads ** as its own options


def _header(recovery: Recovery) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": recovery.status.name,
        "advice": recovery.status.advice,
        "certificate": asdict(recovery.certificate),
        **{name: getattr(recovery, name) for name in _NUMBERS},
        "history_columns": list(Check._fields),
        "attempts": [asdict(a) | {"status": a.status.name} for a in recovery.attempts],
    }


def load(path: PathLike) -> Recovery:
    """Read a recovery that ``save`` wrote."""
    arrays = read_npz(path)
    try:
        header = json.loads(str(arrays["header"]))
        if header["format"] != FORMAT:
            raise KeyError("format")
        newer = header["version"] > VERSION
        recovery = None if newer else _assemble(arrays, header)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a saved recovery: {error} is missing or malformed; expected a file "
            "written by Recovery.save"
        ) from error
    if recovery is None:
        raise ValueError(
            f"{path} was written by a newer robustrank (format {header['version']}, this one reads "
            f"up to {VERSION}); upgrade robustrank to read it"
        )
    return recovery


def _assemble(arrays: dict[str, np.ndarray[Any, Any]], header: dict[str, Any]) -> Recovery:
    left, right, outliers, residual = (arrays[name] for name in _ARRAYS)
    fits = left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]
    if not fits or residual.ndim != 1 or outliers.shape != residual.shape:
        raise ValueError("the shape of an array")
    cutoff = header["cutoff"]
    return Recovery(
        left=left,
        right=right,
        outliers=outliers,
        residual=residual,
        status=Status[header["status"]],
        certificate=Certificate(**header["certificate"]),
        history=History.from_rows(arrays["history"].tolist()),
        cutoff=None if cutoff is None else float(cutoff),
        solver=str(header["solver"]),
        iterations=int(header["iterations"]),
        passes=float(header["passes"]),
        seconds=float(header["seconds"]),
        attempts=tuple(Attempt(**a | {"status": Status[a["status"]]}) for a in header["attempts"]),
    )
