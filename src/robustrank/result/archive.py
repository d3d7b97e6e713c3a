"""Keeping a recovery on disk: an ``.npz`` of plain arrays with a JSON header, no pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.files import PathLike, atomic_writer, read_npz
from robustrank.result.history import Check, History
from robustrank.result.recovery import Certificate, Recovery
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
    }


def load(path: PathLike) -> Recovery:
    """Read a recovery that ``save`` wrote."""
    arrays = read_npz(path)
    try:
        header = json.loads(str(arrays["header"]))
        if header["format"] != FORMAT:
            raise KeyError("format")
        if header["version"] > VERSION:
            raise ValueError(
                f"{path} was written by a newer robustrank (format {header['version']}, this one "
                f"reads up to {VERSION}); upgrade robustrank to read it"
            )
        fields: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        fields |= {name: header[name] for name in _NUMBERS}
        return Recovery(
            **fields,
            status=Status[header["status"]],
            certificate=Certificate(**header["certificate"]),
            history=History.from_rows(arrays["history"].tolist()),
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is not a saved recovery: {error} is missing or malformed; expected a file "
            "written by Recovery.save"
        ) from error
