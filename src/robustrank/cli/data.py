"""Reading problems from files and writing results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from robustrank.backend import to_numpy
from robustrank.files import atomic_writer, check_writable, map_npy, read_npz, resolved
from robustrank.result import Recovery

Matrix = np.ndarray[Any, Any]
OUTPUT_SUFFIXES = (".npz", ".npy", ".csv")


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """The true matrix and outliers that ``simulate`` stores with the measurements."""

    left: Matrix
    right: Matrix
    outliers: Matrix


@dataclass(frozen=True, eq=False)
class MeasuredData:
    """Sensing data, measurements and, for a planted problem, the truth."""

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
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
            self.fail(f"{value!r} is not a shape; expected ROWSxCOLUMNS, for example 150x120")
        return int(parts[0]), int(parts[1])


def read_data(data: Path | None, sensing: Path | None, measurements: Path | None) -> MeasuredData:
    """Read a problem from an ``.npz`` file, from separate files, or from both."""
    if data is None and (sensing is None or measurements is None):
        raise ValueError(
            "incomplete input: pass an .npz file with A and y, or --sensing A.npy and "
            "--measurements y.npy"
        )
    arrays = read_npz(data) if data is not None else {}
    A = map_npy(sensing) if sensing is not None else _member(arrays, "A", data)
    y = _read_vector(measurements) if measurements is not None else _member(arrays, "y", data)
    return MeasuredData(A, y, _truth(arrays, A, data))


def _member(arrays: dict[str, Matrix], name: str, path: Path | None) -> Matrix:
    if name not in arrays:
        found = ", ".join(arrays) or "no arrays"
        raise ValueError(f"{path} contains no array named {name}; it contains {found}")
    return arrays[name]


def _read_vector(path: Path) -> Matrix:
    if path.suffix.lower() not in (".csv", ".txt"):
        return np.array(map_npy(path))
    try:
        with open(path, encoding="utf-8-sig") as text:  # Excel writes a byte order mark
            lines = [line for line in text if line.strip()]
        values: Matrix = np.loadtxt(lines, delimiter=",", ndmin=1) if lines else np.empty(0)
    except ValueError as error:
        raise ValueError(f"{path} is not a list of numbers: {error}") from error
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values


def _truth(arrays: dict[str, Matrix], A: Matrix, path: Path | None) -> KnownTruth | None:
    names = ("truth_left", "truth_right", "truth_outliers")
    if not all(name in arrays for name in names):
        return None
    left, right, outliers = (arrays[name] for name in names)
    two_dimensional = left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]
    size = A[0].size if A.ndim and len(A) else 0
    if not two_dimensional or len(left) * len(right) != size or len(outliers) != len(A):
        raise ValueError(f"the truth in {path} does not match A; remove {', '.join(names)}")
    return KnownTruth(left, right, outliers)


def check_outputs(
    out: Path | None, report: Path | None, inputs: Iterable[Path | None] = ()
) -> None:
    """Raise before any work if an output cannot be written or would overwrite another file."""
    taken = {resolved(path): "an input file" for path in inputs if path is not None}
    for path, endings in ((out, OUTPUT_SUFFIXES), (report, (".html", ".htm"))):
        if path is None:
            continue
        if resolved(path) in taken:
            raise ValueError(f"{path} is also {taken[resolved(path)]}; choose another name")
        check_writable(path)
        if path.suffix not in endings:
            expected = ", ".join(endings)
            raise ValueError(f"{path} has an unknown extension; expected one of {expected}")
        taken[resolved(path)] = "another output file"


def write_recovery(path: Path, recovery: Recovery) -> None:
    """Write the complete result (``.npz``) or only the matrix (``.npy``, ``.csv``)."""
    if path.suffix == ".npz":
        recovery.save(path)
        return
    matrix = to_numpy(recovery.matrix)
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, matrix, allow_pickle=False)
        else:
            np.savetxt(stream, matrix, delimiter=",", fmt="%.17g")
