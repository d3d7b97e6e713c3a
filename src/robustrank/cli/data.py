"""Problems and answers as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from robustrank.files import atomic_writer, check_writable, map_npy, read_npz
from robustrank.result import Recovery

Matrix = np.ndarray[Any, Any]
OUTPUT_SUFFIXES = (".npz", ".npy", ".csv")


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """The planted answer that ``simulate`` stores beside its measurements."""

    left: Matrix
    right: Matrix
    outliers: Matrix


@dataclass(frozen=True, eq=False)
class MeasuredData:
    """What ``recover`` reads: sensing data, measurements and, for a planted problem, the truth."""

    A: Matrix
    y: Matrix
    truth: KnownTruth | None


class MatrixShape(click.ParamType[tuple[int, int]]):
    """``150x120`` on the command line."""

    name = "ROWSxCOLUMNS"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        parts = str(value).lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
            self.fail(f"{value!r} is not a shape; expected ROWSxCOLUMNS, for example 150x120")
        return int(parts[0]), int(parts[1])


def read_data(data: Path | None, sensing: Path | None, measurements: Path | None) -> MeasuredData:
    """Read a problem from an ``.npz`` file, from separate files, or from both."""
    if data is None and (sensing is None or measurements is None):
        raise ValueError(
            "no data: give a .npz file with A and y, or --sensing A.npy and --measurements y.npy"
        )
    arrays = read_npz(data) if data is not None else {}
    A = map_npy(sensing) if sensing is not None else _member(arrays, "A", data)
    y = _read_vector(measurements) if measurements is not None else _member(arrays, "y", data)
    return MeasuredData(A, y, _truth(arrays))


def _member(arrays: dict[str, Matrix], name: str, path: Path | None) -> Matrix:
    if name not in arrays:
        found = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} has no array named {name}; found {found}")
    return arrays[name]


def _read_vector(path: Path) -> Matrix:
    if path.suffix != ".csv":
        return np.array(map_npy(path))
    try:
        values: Matrix = np.loadtxt(path, delimiter=",", ndmin=1)
    except ValueError as error:
        raise ValueError(f"{path} is not a list of numbers: {error}") from error
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    return values


def _truth(arrays: dict[str, Matrix]) -> KnownTruth | None:
    names = ("truth_left", "truth_right", "truth_outliers")
    if not all(name in arrays for name in names):
        return None
    return KnownTruth(*(arrays[name] for name in names))


def check_output(path: Path | None) -> None:
    """Refuse an output that could not be written, before any work is spent."""
    if path is None:
        return
    if path.suffix not in OUTPUT_SUFFIXES:
        expected = ", ".join(OUTPUT_SUFFIXES)
        raise ValueError(f"{path} has an unknown ending; expected one of {expected}")
    check_writable(path)


def write_recovery(path: Path, recovery: Recovery) -> None:
    """Write the whole recovery (``.npz``), or its matrix alone (``.npy``, ``.csv``)."""
    if path.suffix == ".npz":
        recovery.save(path)
        return
    matrix = np.asarray(recovery.matrix)
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, matrix, allow_pickle=False)
        else:
            np.savetxt(stream, matrix, delimiter=",", fmt="%.17g")
