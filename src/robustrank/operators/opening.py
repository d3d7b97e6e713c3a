"""Sensing data that is named by a path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from robustrank.files import map_npy
from robustrank.operators.array_rows import ArrayRows, open_zarr
from robustrank.operators.file_rows import FileRows


def open_sensing(A: Any) -> Any:
    """What a path names: a memory map or an array of zarr; anything else is returned unchanged.

    A list of paths becomes a list of row sources.
    """
    if isinstance(A, (str, os.PathLike)):
        return _open(Path(A))
    if isinstance(A, (list, tuple)) and A and all(isinstance(a, (str, os.PathLike)) for a in A):
        return Several([_rows(Path(path)) for path in A])
    return A


class Several(list[Any]):
    """Row sources one after another, with the shape of the whole."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sensing data."""
        first = self[0].shape
        for source in self:
            if source.shape[1:] != first[1:]:
                raise ValueError(
                    f"the files contain sensing matrices of different shapes, {first[1:]} and "
                    f"{source.shape[1:]}; expected the same"
                )
        return sum(source.rows for source in self), *first[1:]


def path_of(A: Any) -> str | None:
    """The path of the file that an array is read from, if it is known."""
    if isinstance(A, Several):
        return path_of(A[0])
    path = getattr(A, "filename", None) or getattr(A, "path", None)
    if isinstance(path, (str, os.PathLike)) and os.path.exists(path):
        return os.fspath(path)
    return None


def _open(path: Path) -> Any:
    return open_zarr(path) if path.is_dir() else map_npy(path)


def _rows(path: Path) -> Any:
    return ArrayRows(open_zarr(path)) if path.is_dir() else FileRows.from_npy(path)
