"""Reading problems from files and writing results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from robustrank.api import load
from robustrank.backend import available_memory, memory_bytes, to_numpy
from robustrank.cli.columns import ALL_COLUMNS, Choice, read_columns
from robustrank.cli.writing import outlier_file, write_outliers
from robustrank.files import (
    atomic_writer,
    check_writable,
    is_array_file,
    read_npz,
    resolved,
    split_key,
)
from robustrank.operators import Operator
from robustrank.outofcore import Seeded
from robustrank.outofcore.opening import open_array, open_sensing
from robustrank.result import Result

Matrix = np.ndarray[Any, Any]
# Files that contain A and y, and of which only these are read.
_WITH_KEYS = (".mat", ".h5", ".hdf5", ".hdf", ".he5")
OUTPUT_SUFFIXES = (".npz", ".npy", ".csv")
PAGE_SUFFIXES = (".html", ".htm")
# Sensing data that is regenerated: the arguments of ``Seeded`` as arrays of an .npz file.
SEEDED_NAMES = ("sensing_shape", "sensing_seed", "sensing_ensemble", "sensing_dtype")


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """The true matrix and outliers that ``simulate`` stores with the measurements."""

    left: Matrix
    right: Matrix
    outliers: Matrix


@dataclass(frozen=True, eq=False)
class MeasuredData:
    """Sensing data, measurements and, for a planted problem, the truth."""

    A: Any  # an array, an array in files, or an operator
    y: Matrix
    truth: KnownTruth | None
    groups: list[str] | None = None  # the name of the sensor, or another group, of each measurement


class MatrixShape(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
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


def read_data(
    data: Path | None,
    sensing: Sequence[Path],
    measurements: Path | None,
    memory_limit: str | None = None,
    chosen: Choice = ALL_COLUMNS,
) -> MeasuredData:
    """Read a problem from a file with A and y, from separate files, or from both.

    Several files of sensing data are read one after another. ``memory_limit`` is for sensing data
    that is regenerated. ``chosen`` says what the columns of a table are.
    """
    if data is None and (not sensing or measurements is None):
        raise ValueError(
            "incomplete input: pass an .npz file with A and y, or --sensing A.npy and "
            "--measurements y.npy"
        )
    source = data if measurements is None else measurements
    if chosen != ALL_COLUMNS and source is not None and is_array_file(source):
        raise ValueError(
            "--column, --group and --ignore choose columns of a table, such as a CSV file, not of "
            f"{source}"
        )
    wanted = [name for name, path in (("A", sensing), ("y", measurements)) if not path]
    arrays = {} if data is None else _read_arrays(data, wanted, chosen)
    groups = arrays.pop("groups", None)
    if measurements is None:
        y = _member(arrays, "y", data)
    elif is_array_file(measurements):
        y = _vector(open_array(measurements, "y"))
    else:
        columns = read_columns(measurements, ["y"], chosen)
        y, groups = columns["y"], columns.get("groups")
    A: Any
    if sensing:
        A = _read_sensing(sensing)
    elif "A" not in arrays and any(name in arrays for name in SEEDED_NAMES):
        A = _seeded(arrays, y, data, memory_limit)
    else:
        A = _member(arrays, "A", data)
    return MeasuredData(A, y, _truth(arrays, _size(A), data), groups)


def _read_arrays(path: Path, wanted: Sequence[str], chosen: Choice) -> dict[str, Any]:
    """The arrays of a file by name, or the columns of a table as A, y and groups."""
    if path.suffix.lower() in _WITH_KEYS:
        arrays = {name: open_array(f"{path}:{name}", name) for name in wanted}
        return arrays | ({"y": _vector(arrays["y"])} if "y" in arrays else {})
    return read_npz(path) if is_array_file(path) else read_columns(path, wanted, chosen)


def _read_sensing(paths: Sequence[Path]) -> Any:
    if len(paths) == 1 and not is_array_file(paths[0]):
        return read_columns(paths[0], ["A"])["A"]
    return open_sensing(paths[0] if len(paths) == 1 else list(paths))


def _vector(values: Any) -> Matrix:
    """Measurements as an array in memory; those of MATLAB are a column, and may be sparse."""
    array: Matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values[()])
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def describe_seeded(m: int, shape: tuple[int, int], seed: int, ensemble: str, dtype: str) -> Any:
    """The arrays of an ``.npz`` file from which ``read_data`` builds ``Seeded``."""
    values = np.asarray([m, *shape]), str(seed), ensemble, dtype
    return {name: np.asarray(value) for name, value in zip(SEEDED_NAMES, values, strict=True)}


def _seeded(
    arrays: dict[str, Matrix], y: Matrix, path: Path | None, memory_limit: str | None
) -> Operator:
    """The operator that a file describes. The file may be malicious: everything is checked."""
    shape, seed, ensemble, dtype = (_member(arrays, name, path) for name in SEEDED_NAMES)
    if shape.shape != (3,) or shape.dtype.kind not in "iu" or min(shape.tolist()) < 1:
        raise _malformed(path, "sensing_shape", "three positive integers, m, n1 and n2")
    m, n1, n2 = shape.tolist()
    digits = _text(seed)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 40 and int(digits) < 2**128):
        raise _malformed(path, "sensing_seed", "the digits of an integer from 0 to 2^128 - 1")
    if _text(ensemble) not in ("gaussian", "sign"):
        raise _malformed(path, "sensing_ensemble", '"gaussian" or "sign"')
    if _text(dtype) not in ("float32", "float64"):
        raise _malformed(path, "sensing_dtype", '"float32" or "float64"')
    if y.shape != (m,):
        raise ValueError(f"y has shape {y.shape}; expected ({m},), as sensing_shape in {path} says")
    if 8 * n1 * n2 > available_memory():
        raise ValueError(
            f"{path} describes matrices of {n1} × {n2}, and a single one does not fit in memory"
        )
    limit = None if memory_limit is None else memory_bytes(memory_limit)
    chosen: Any = _text(ensemble)
    return Seeded(m, (n1, n2), int(digits), chosen, dtype=_text(dtype), memory_limit=limit)


def _text(array: Matrix) -> str:
    """The text of an array with one string; empty for other arrays."""
    return str(array) if array.shape == () and array.dtype.kind == "U" else ""


def _malformed(path: Path | None, name: str, expected: str) -> ValueError:
    return ValueError(f"{name} in {path} is malformed; expected {expected}")


def read_start(resume: Path | None, out: Path | None) -> Result | None:
    """The result to continue from; None to start from the beginning.

    A file that does not exist yet is accepted if the result will be written to it.
    """
    if resume is None:
        return None
    if resume.suffix != ".npz":
        raise ValueError(f"{resume} must end in .npz; --resume needs a result saved with --out")
    same = out is not None and resolved(out) == resolved(resume)
    if not resume.exists():
        if same:
            return None
        raise ValueError(
            f"{resume} does not exist; pass a result saved with --out, or omit --resume to start "
            "from the beginning"
        )
    start = load(resume)
    if start.of_entries:
        raise ValueError(f"{resume} is a completed matrix; --resume needs a result of recover")
    # A run that was stopped before its first iteration has saved a matrix of zeros.
    return start if to_numpy(start.matrix).any() else None


def _member(arrays: dict[str, Matrix], name: str, path: Path | None) -> Matrix:
    if name not in arrays:
        found = ", ".join(arrays) or "no arrays"
        named = arrays and name in ("A", "y")
        hint = f"; pass --sensing {path}:NAME and --measurements {path}:NAME" if named else ""
        raise ValueError(f"{path} contains no array named {name}; it contains {found}{hint}")
    return arrays[name]


def _truth(
    arrays: dict[str, Matrix], measured: tuple[int, int], path: Path | None
) -> KnownTruth | None:
    names = ("truth_left", "truth_right", "truth_outliers")
    if not all(name in arrays for name in names):
        return None
    left, right, outliers = (arrays[name] for name in names)
    two_dimensional = left.ndim == right.ndim == 2 and left.shape[1] == right.shape[1]
    m, size = measured
    if not two_dimensional or len(left) * len(right) != size or outliers.shape != (m,):
        raise ValueError(f"the truth in {path} does not match A; remove {', '.join(names)}")
    return KnownTruth(left, right, outliers)


def _size(A: Any) -> tuple[int, int]:
    """The number of measurements, and that of the entries of the matrix.

    Raises if the parts of A have different shapes.
    """
    if isinstance(A, Operator):
        return A.measurements, math.prod(A.matrix_shape)
    return (A.shape[0], math.prod(A.shape[1:])) if A.shape else (0, 0)


def check_outputs(
    out: Path | None, report: Path | None, inputs: Iterable[Path | None] = ()
) -> None:
    """Raise before any work if an output cannot be written or would overwrite another file."""
    taken = check_files([(out, OUTPUT_SUFFIXES), (report, PAGE_SUFFIXES)], inputs)
    beside = None if out is None else outlier_file(out)
    if beside is not None:
        _reserve(beside, "where the outliers are written", taken)


def check_files(
    outputs: Iterable[tuple[Path | None, Sequence[str]]], inputs: Iterable[Path | None]
) -> dict[Path, str]:
    """Raise unless each output has one of its extensions and a file of its own.

    Returns how each file is used.
    """
    files = [split_key(path)[0] for path in inputs if path is not None]
    taken = {resolved(path): "an input file" for path in files}
    for path, endings in outputs:
        if path is None:
            continue
        _reserve(path, "another output file", taken)
        if path.suffix not in endings:
            expected = ", ".join(endings)
            raise ValueError(f"{path} has an unknown extension; expected one of {expected}")
    return taken


def _reserve(path: Path, use: str, taken: dict[Path, str]) -> None:
    if resolved(path) in taken:
        raise ValueError(f"{path} is also {taken[resolved(path)]}; choose another name")
    check_writable(path)
    taken[resolved(path)] = use


def write_recovery(path: Path, recovery: Result, data: MeasuredData) -> list[Path]:
    """Write the complete result (``.npz``) or only the matrix (``.npy``, ``.csv``).

    The outliers are written beside a matrix. Returns the files.
    """
    beside = outlier_file(path)
    if beside is None:
        recovery.save(path)
        return [path]
    matrix = to_numpy(recovery.matrix)
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, matrix, allow_pickle=False)
        else:
            np.savetxt(stream, matrix, delimiter=",", fmt="%.17g")
    y, header = data.y, ["measurement", "value", "fitted", "residual"]
    flags, residual = to_numpy(recovery.outliers), to_numpy(recovery.residual)
    with np.errstate(invalid="ignore"):  # y may be infinite
        columns = [np.arange(len(y)), y.astype(float), y - residual, residual]
    if data.groups is not None:
        header.append("group")
        columns.append(np.asarray(data.groups))
    listed = zip(*(column[flags] for column in columns), strict=True)
    write_outliers(beside, flags, header, listed)
    return [path, beside]
