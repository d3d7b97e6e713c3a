"""Saving a completion: the archive of ``result.archive`` with its entries and labels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.completion.evidence import CompletionCertificate
from robustrank.completion.frames import frame_with_labels, label_array, labels_from
from robustrank.completion.observations import (
    MatrixObservations,
    Observations,
    SampledObservations,
)
from robustrank.completion.result import Completion
from robustrank.files import PathLike
from robustrank.result.archive import (
    Kind,
    check_factors,
    checked,
    native,
    rank_table,
    status,
    write_archive,
)

Matrix = np.ndarray[Any, Any]

_ENTRIES = ("rows", "columns", "residuals")
_LABELS = ("row_labels", "column_labels")
_UNDECIDED = ("undecided_rows", "undecided_columns")
_NUMBERS = ("noise", "typical_size", "seconds")


def save(completion: Completion, path: PathLike) -> None:
    """Write a completion to an ``.npz`` file, replacing an existing file atomically."""
    arrays = {name: to_numpy(getattr(completion, name)) for name in ("left", "right", "outliers")}
    observations = completion.observations
    if isinstance(observations, MatrixObservations):
        arrays["values"] = observations.values
    else:
        entries = map(to_numpy, observations.all())
        arrays |= dict(zip(_ENTRIES, entries, strict=True))
    for name in (*_LABELS, *_UNDECIDED):
        given = getattr(completion, name)
        if given is not None:
            arrays[name] = label_array(given)
    write_archive(path, COMPLETION, arrays, _header(completion))


def _header(completion: Completion) -> dict[str, Any]:
    return {
        "status": completion.status.name,
        "certificate": asdict(completion.certificate),
        **{name: getattr(completion, name) for name in _NUMBERS},
        "rank_table": completion.rank_table and asdict(completion.rank_table),
        "is_frame": completion.as_frame is not None,
        **{name: _described(getattr(completion, name)) for name in _LABELS},
    }


def _described(labels: Any) -> dict[str, Any] | None:
    """The type and the name of an index of pandas; its labels are an array."""
    if not hasattr(labels, "get_indexer"):
        return None
    name = labels.name if isinstance(labels.name, str) else None
    return {"dtype": str(labels.dtype), "name": name}


def _completion(arrays: dict[str, Matrix], header: dict[str, Any]) -> Completion:
    left, right = native(arrays["left"]), native(arrays["right"])
    check_factors(left, right)
    shape = len(left), len(right)
    observations = _observations(arrays, left, right)
    outliers = arrays["outliers"]
    count = None if isinstance(observations, MatrixObservations) else len(arrays["rows"])
    if outliers.dtype != bool or outliers.shape not in (shape, (count,)):
        raise ValueError("the dtype or the shape of an array")
    labels = [
        _labels(arrays.get(name), header[name], size)
        for name, size in zip(_LABELS, shape, strict=True)
    ]
    undecided = [
        _undecided(arrays[name], header[of], labels[k], shape[k])
        for k, (name, of) in enumerate(zip(_UNDECIDED, _LABELS, strict=True))
    ]
    certificate = checked(header["certificate"], CompletionCertificate)
    certificate["objections"] = tuple(certificate["objections"])
    as_frame = header["is_frame"]
    if not isinstance(as_frame, bool) or (as_frame and None in (header[n] for n in _LABELS)):
        raise KeyError("is_frame")
    return Completion(
        left=left,
        right=right,
        outliers=outliers,
        undecided_rows=undecided[0],
        undecided_columns=undecided[1],
        status=status(header),
        certificate=CompletionCertificate(**certificate),
        observations=observations,
        rank_table=rank_table(header["rank_table"]),
        row_labels=labels[0],
        column_labels=labels[1],
        as_frame=frame_with_labels(*labels) if as_frame else None,
        **checked({name: header[name] for name in _NUMBERS}, Completion),
    )


def _observations(arrays: dict[str, Matrix], left: Matrix, right: Matrix) -> Observations:
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


def _undecided(array: Matrix, described: Any, labels: Any, size: int) -> Matrix:
    """The numbers or labels of the rows or columns that are not decided."""
    kinds = "iu" if labels is None else "biufU"
    if array.ndim != 1 or len(array) > size or (len(array) and array.dtype.kind not in kinds):
        raise ValueError("the undecided rows or columns")
    return array if described is None else np.asarray(_index(array, described))


def _index(array: Matrix, described: Any) -> Any:
    dtype, name = described["dtype"], described["name"]
    if not (isinstance(dtype, str) and (name is None or isinstance(name, str))):
        raise KeyError("dtype")
    return labels_from(array, dtype, name)


COMPLETION = Kind(
    "robustrank-completion",
    1,
    ("left", "right", "outliers", "values", *_ENTRIES, *_LABELS, *_UNDECIDED),
    _completion,
)
