"""Files of HDF5, which are also the MATLAB files of version 7.3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from robustrank.files import PathLike

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_OFFSETS = (0, 512, 1024, 2048)  # where the signature may be; in a MATLAB file at 512


def is_hdf5(path: PathLike) -> bool:
    """Whether a file has the signature of HDF5."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as stream:
        beginning = stream.read(_OFFSETS[-1] + len(_SIGNATURE))
    return any(beginning[offset:].startswith(_SIGNATURE) for offset in _OFFSETS)


def dataset_names(path: PathLike) -> list[str]:
    """The names of the datasets of a file, and of the sparse matrices of MATLAB."""
    names: list[str] = []

    def note(name: str, item: Any) -> None:
        group = name.rpartition("/")[0]
        if _is_sparse(item) or (hasattr(item, "shape") and group not in names):
            names.append(name)

    with _opened(path) as file:
        file.visititems(note)
    return [name for name in names if not name.startswith("#")]  # how MATLAB stores cells


def open_dataset(path: PathLike, name: str) -> Any:
    """A dataset, which is read when it is sliced."""
    return _opened(path)[name]


def read_matlab(path: PathLike, name: str) -> Any:
    """A matrix of a MATLAB file of version 7.3, whose axes are stored in the opposite order."""
    with _opened(path) as file:
        item = file[name]
        if not _is_sparse(item):
            if not hasattr(item, "shape") or item.dtype.kind == "O":
                raise ValueError(f"{name} in {path} is not an array of numbers")
            return np.asarray(item[()]).T
        parts = [np.asarray(item[part][()]) for part in ("data", "ir", "jc") if part in item]
        data, rows, starts = parts if len(parts) == 3 else (np.empty(0), np.empty(0, int), parts[0])
        shape = int(item.attrs["MATLAB_sparse"]), len(starts) - 1
        return sparse.csc_array((data, rows.astype(np.int64), starts.astype(np.int64)), shape=shape)


def _is_sparse(item: Any) -> bool:
    return "MATLAB_sparse" in item.attrs


def _opened(path: PathLike) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"{path} is a file of HDF5; reading it needs: pip install 'robustrank[files]'"
        ) from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if error.errno is not None:  # by the operating system: it cannot be opened
            raise
        raise ValueError(f"{path} cannot be read: it is truncated or damaged ({error})") from error
