"""Arrays that are named by a path, and by the name of one array in a file of several."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from robustrank.files import PathLike, map_npy, read_npz, split_key
from robustrank.outofcore.array_rows import (
    ArrayRows,
    dataset_names,
    is_hdf5,
    open_dataset,
    open_zarr,
    read_matlab,
)
from robustrank.outofcore.file_rows import FileRows


def open_sensing(A: Any) -> Any:
    """What a path names; anything else is returned unchanged.

    A list of paths becomes a list of row sources.
    """
    if isinstance(A, (str, os.PathLike)):
        return open_array(A, "A")
    if isinstance(A, (list, tuple)) and A and all(isinstance(a, (str, os.PathLike)) for a in A):
        return Several([_rows(path) for path in A])
    return A


def open_array(named: PathLike, usual: str) -> Any:
    """The array in a file, or one of several: ``file.h5:/A``, ``file.mat:A``, ``file.npz:A``.

    An ``.npy`` file is a memory map; an array of zarr and a dataset of HDF5 are read when they are
    sliced. Arrays of ``.mat`` and ``.npz`` files are read, and may be sparse. If no name is given,
    the array is the one with the ``usual`` name, or the only one.
    """
    path, key = split_key(named)
    if path.is_dir():
        return open_zarr(path)
    if path.suffix.lower() == ".mat":
        return _from_matlab(path, key, usual)
    if is_hdf5(path):
        name = None if key is None else key.strip("/")
        return open_dataset(path, _chosen(path, dataset_names(path), name, usual))
    if path.suffix.lower() == ".npz":
        return _from_npz(path, key, usual)
    return map_npy(path)


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


def _rows(named: PathLike) -> Any:
    array = open_array(named, "A")
    if isinstance(array, np.memmap):
        return FileRows.from_npy(named)
    if scipy.sparse.issparse(array):
        raise TypeError(f"{named} is sparse; expected a single file, or files of dense arrays")
    return ArrayRows(array)


def _from_npz(path: Path, key: str | None, usual: str) -> Any:
    arrays = read_npz(path)
    if key is None and {"format", "shape", "data"} <= arrays.keys():
        return scipy.sparse.load_npz(path)  # which loads no pickled objects
    return arrays[_chosen(path, arrays, key, usual)]


def _from_matlab(path: Path, key: str | None, usual: str) -> Any:
    if is_hdf5(path):  # version 7.3
        return read_matlab(path, _chosen(path, dataset_names(path), key, usual))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    from scipy.io import loadmat, whosmat

    def read(function: Callable[..., Any], **options: Any) -> Any:
        try:
            return function(path, **options)
        except Exception as error:  # of many types
            raise ValueError(f"{path} cannot be read: it is not a MATLAB file ({error})") from error

    name = _chosen(path, [entry[0] for entry in read(whosmat)], key, usual)
    array = read(loadmat, variable_names=[name])[name]
    if not scipy.sparse.issparse(array) and array.dtype.kind not in "biufc":
        raise ValueError(f"{name} in {path} is not an array of numbers")
    return array


def _chosen(path: Path, names: Collection[str], key: str | None, usual: str) -> str:
    """The array that was asked for, the usual one, or the only one."""
    if key is None and usual not in names and len(names) == 1:
        return next(iter(names))
    wanted = usual if key is None else key
    if wanted in names:
        return wanted
    listed = ", ".join(names) or "no arrays"
    hint = f"; choose one with {path}:NAME" if key is None and len(names) > 1 else ""
    raise ValueError(f"{path} contains no array named {wanted}; it contains {listed}{hint}")
