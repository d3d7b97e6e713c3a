"""Rows of sensing data in an array that can be sliced: of NumPy, h5py, zarr and similar.

Files of HDF5 are also the MATLAB files of version 7.3.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from robustrank.backend import is_array
from robustrank.files import PathLike
from robustrank.outofcore.file_rows import file_offset
from robustrank.outofcore.sources import Matrix, convert, precision_of, used_dtype

# Of a chunk that was decoded, the rows after a block are kept for the next, up to this size.
_KEPT_BYTES = 2**28
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_OFFSETS = (0, 512, 1024, 2048)  # where the signature may be; in a MATLAB file at 512


def is_sliceable(A: Any) -> bool:
    """Whether an object can be the array of ``ArrayRows``.

    It must have two or three dimensions, a dtype of NumPy, and slicing along the first axis.
    Masked arrays, sparse matrices, pandas objects, and arrays of libraries that follow the array
    API standard (such as PyTorch, JAX, CuPy and dask) are refused.
    """
    if isinstance(A, np.ndarray):
        return type(A) in (np.ndarray, np.memmap) and A.ndim in (2, 3)
    if is_array(A) or type(A).__module__.split(".")[0] in ("scipy", "sparse", "pandas", "dask"):
        return False
    shape, dtype = getattr(A, "shape", None), getattr(A, "dtype", None)
    return (
        hasattr(A, "__getitem__")
        and isinstance(dtype, np.dtype)
        and isinstance(shape, tuple)
        and len(shape) in (2, 3)
    )


class ArrayRows:
    """The rows of an array of shape (m, n1·n2) or (m, n1, n2) that can be sliced.

    That is a NumPy array or memory map of any strides and byte order, a dataset of h5py, an array
    of zarr, or a similar object (see ``is_sliceable``). Chunked data are fastest if a chunk has
    whole rows. A memory map and a dataset of h5py are pickled as the path of their file, which is
    opened again for reading; everything else is pickled as it is.
    """

    def __init__(self, array: Any) -> None:
        self.shape: tuple[int, ...] = tuple(int(n) for n in array.shape)
        self.rows = self.shape[0]
        self.size = math.prod(self.shape[1:])
        self.stored: np.dtype[Any] = np.dtype(array.dtype)
        self.dtype = used_dtype(self.stored)
        self.precision = precision_of(self.stored)
        self.stored_bytes = self.size * self.stored.itemsize
        self._array: Any = array
        self._reopen = _how_to_reopen(array)
        chunks = getattr(array, "chunks", None)
        height = chunks[0] if isinstance(chunks, tuple) and isinstance(chunks[0], int) else 1
        self._chunk_rows = height if height * self.stored_bytes <= _KEPT_BYTES else 1
        self._kept: tuple[int, Matrix] | None = None

    @property
    def array(self) -> Any:
        """The array, which is opened now if this source was pickled."""
        if self._array is None and self._reopen is not None:
            function, arguments = self._reopen
            self._array = function(*arguments)
        return self._array

    @property
    def in_memory(self) -> bool:
        """Whether ``read`` returns views of an array in memory."""
        array = self._array
        return (
            isinstance(array, np.ndarray)
            and not isinstance(array, np.memmap)
            and array.dtype == self.dtype
            and array.flags.c_contiguous
            and array.flags.aligned
        )

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        if out is None and self.in_memory:
            view: Matrix = self._array[first:last].reshape(last - first, self.size)
            return view
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        shaped = result.reshape(last - first, *self.shape[1:])
        begin, kept = self._kept or (first, np.empty((0, *self.shape[1:]), self.stored))
        found = kept[first - begin :][: last - first] if first >= begin else kept[:0]
        convert(found, shaped[: len(found)])
        start = first + len(found)
        whole = max(start, last // self._chunk_rows * self._chunk_rows)  # up to here, whole chunks
        if start < whole:
            self._copy(start, whole, shaped[start - first : whole - first])
        if whole < last:
            stop = min(whole - whole % self._chunk_rows + self._chunk_rows, self.rows)
            chunk = self._slice(whole, stop)
            convert(chunk[: last - whole], shaped[whole - first :])
            self._kept = (last, chunk[last - whole :])
        elif start < last or last == begin + len(kept):
            self._kept = None
        return result

    def _copy(self, first: int, last: int, out: Matrix) -> None:
        if hasattr(self.array, "read_direct") and self.stored == self.dtype:  # h5py
            self.array.read_direct(out, np.s_[first:last])
            return
        part = self._slice(first, last)
        convert(part, out)
        if isinstance(part, np.memmap):
            _release(part)

    def _slice(self, first: int, last: int) -> Matrix:
        part = self.array[first:last]
        if np.ma.is_masked(part):
            raise ValueError("A contains masked or missing values; remove those measurements")
        return np.asanyarray(part)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_kept": None}
        if self._reopen is not None:
            state["_array"] = None
        elif isinstance(self._array, np.memmap):
            state["_array"] = np.asarray(self._array)
        return state


def _how_to_reopen(array: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """A function and its arguments that open the array of a file again, if there is a file."""
    if type(array).__module__.split(".")[0] == "h5py":
        return open_dataset, (os.path.abspath(array.file.filename), array.name)
    offset = file_offset(array)
    if offset is None:
        return None
    layout = (array.shape, array.dtype, offset, array.strides)
    return _map_file, (str(array.filename), layout)


def open_zarr(path: PathLike) -> Any:
    """The array of zarr in a folder."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError(
            f"{path} is a folder; reading zarr needs: pip install 'robustrank[files]'"
        ) from error
    try:
        array = zarr.open(path, mode="r")
    except Exception as error:  # of many types
        raise ValueError(f"{path} is a folder, but not an array of zarr: {error}") from error
    if not is_sliceable(array):
        raise ValueError(f"{path} contains several arrays; pass the path of one of them")
    return array


def _map_file(path: str, layout: tuple[Any, ...]) -> Matrix:
    shape, dtype, offset, strides = layout
    whole = np.memmap(path, np.uint8, "r")
    array = np.ndarray.__new__(np.memmap, shape, dtype, whole, offset, strides)
    array.__array_finalize__(whole)  # it knows its file, as a slice of the map does
    return array


def _release(part: Any) -> None:
    """Release the pages of a memory map, so that resident memory does not grow with the file."""
    # The pages of a copy-on-write map ("c") hold the user's changes.
    if part._mmap is None or part.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    base = np.frombuffer(part._mmap, np.uint8).__array_interface__["data"][0]
    low, high = np.lib.array_utils.byte_bounds(part)
    start = (low - base) // mmap.PAGESIZE * mmap.PAGESIZE
    part._mmap.madvise(mmap.MADV_DONTNEED, start, high - base - start)


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
