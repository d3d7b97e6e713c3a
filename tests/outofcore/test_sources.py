"""Rows from files and arrays: converted, pickled by description, without using memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from robustrank.outofcore.array_rows import ArrayRows, is_sliceable
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.opening import path_of
from robustrank.outofcore.sources import Concatenated, RowSource, Slice, used_dtype

M, N1, N2 = 23, 6, 5
Array = np.ndarray[Any, Any]

DTYPES = {
    "<f4": "f4", ">f4": "f4", "<f8": "f8", ">f8": "f8", "<f2": "f4", ">f2": "f4", "?": "f4",
    "i1": "f4", "u1": "f4", "<i2": "f8", ">u2": "f8", "<i4": "f8", ">i4": "f8", "<u8": "f8",
    ">i8": "f8",
}  # fmt: skip


def sensing(dtype: str) -> Array:
    return np.random.default_rng(3).integers(0, 100, (M, N1, N2)).astype(dtype)


def saved(A: Array, folder: Path) -> Path:
    np.save(folder / "A.npy", A)
    return folder / "A.npy"


def mapped(A: Array, folder: Path, mode: Any = "r") -> Array:
    array: Array = np.load(saved(A, folder), mmap_mode=mode)
    return array


def from_memmap(A: Array, folder: Path) -> RowSource:
    rows = FileRows.from_memmap(mapped(A, folder))
    assert rows is not None
    return rows


def from_part_of_memmap(A: Array, folder: Path) -> RowSource:
    rows = FileRows.from_memmap(mapped(np.concatenate([A[:7], A, A[:2]]), folder)[7 : 7 + M])
    assert rows is not None
    return rows


def h5py_dataset(A: Array, folder: Path, chunks: Any = None) -> Any:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "A.h5", "w") as file:
        file.create_dataset("group/A", data=A, chunks=chunks)
    return h5py.File(folder / "A.h5", "r")["group/A"]


def zarr_array(A: Array, folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    if A.dtype.kind in "iu" and A.dtype.itemsize > 1:
        A = A.astype(A.dtype.newbyteorder("="))
    array = zarr.create_array(
        store=folder / "A.zarr", shape=A.shape, chunks=(4, N1, 2), dtype=A.dtype
    )
    array[:] = A
    return array


def misaligned(A: Array) -> Array:
    return np.frombuffer(b"-" + A.tobytes(), A.dtype, offset=1).reshape(A.shape)


# How the same rows are stored. Those marked as files are pickled by description.
FILES: dict[str, Callable[[Array, Path], RowSource]] = {
    "npy": lambda A, folder: FileRows.from_npy(saved(A, folder)),
    "npy, flat": lambda A, folder: FileRows.from_npy(saved(A.reshape(M, -1), folder)),
    "memmap": from_memmap,
    "memmap, writable": lambda A, folder: ArrayRows(mapped(A, folder, "r+")),
    "memmap, part": from_part_of_memmap,
    "memmap, Fortran": lambda A, folder: ArrayRows(mapped(np.asfortranarray(A), folder)),
    "memmap, strides": lambda A, folder: ArrayRows(mapped(np.repeat(A, 2, 2), folder)[:, :, ::2]),
    "memmap, reversed": lambda A, folder: ArrayRows(mapped(A[::-1], folder)[::-1]),
    "h5py": lambda A, folder: ArrayRows(h5py_dataset(A, folder)),
    "h5py, chunks": lambda A, folder: ArrayRows(h5py_dataset(A, folder, (4, N1, 2))),
    "h5py, one chunk": lambda A, folder: ArrayRows(h5py_dataset(A, folder, (M, N1, N2))),
    "zarr": lambda A, folder: ArrayRows(zarr_array(A, folder)),
    "slice": lambda A, folder: Slice(from_part_of_memmap(A, folder), 0, M),
    "files": lambda A, folder: Concatenated(
        (Slice(from_memmap(A, folder), 0, 9), Slice(from_memmap(A, folder), 9, M))
    ),
}
STORED: dict[str, Callable[[Array, Path], RowSource]] = FILES | {
    "array": lambda A, _: ArrayRows(A),
    "array, flat": lambda A, _: ArrayRows(A.reshape(M, -1)),
    "array, Fortran": lambda A, _: ArrayRows(np.asfortranarray(A)),
    "array, strides": lambda A, _: ArrayRows(np.repeat(A, 2, 0)[::2]),
    "array, misaligned": lambda A, _: ArrayRows(misaligned(A)),
    "memmap, copy-on-write": lambda A, folder: ArrayRows(mapped(A, folder, "c")),
}


def check(source: RowSource, A: Array) -> None:
    expected = A.astype(source.dtype).reshape(M, -1)
    assert (source.rows, source.size) == expected.shape
    assert source.stored_bytes == A.itemsize * source.size
    for first, last in [(0, 3), (3, 10), (10, M), (0, M), (5, 5), (20, 22), (1, 2), (22, M)]:
        rows = source.read(first, last)
        assert rows.shape == (last - first, source.size)
        assert rows.dtype == source.dtype
        assert rows.dtype.isnative
        assert rows.flags.c_contiguous
        assert rows.flags.aligned
        assert np.array_equal(rows, expected[first:last])
        out = np.full_like(rows, -1)
        assert source.read(first, last, out) is out
        assert np.array_equal(out, expected[first:last])


# Every dtype from a file and from an array, and every form with three of the dtypes.
PAIRS = [
    (stored, dtype)
    for i, stored in enumerate(STORED)
    for j, dtype in enumerate(DTYPES)
    if stored in (next(iter(FILES)), "array") or (i + j) % 5 == 0
]


@pytest.mark.parametrize(("stored", "dtype"), PAIRS)
def test_rows_are_those_of_the_array(stored: str, dtype: str, tmp_path: Path) -> None:
    A = sensing(dtype)
    source = STORED[stored](A, tmp_path)
    assert source.dtype == np.dtype(DTYPES[dtype])
    check(source, A)


@pytest.mark.parametrize("stored", STORED)
def test_a_source_can_be_pickled(stored: str, tmp_path: Path) -> None:
    A = sensing("<f4")
    check(pickle.loads(pickle.dumps(STORED[stored](A, tmp_path))), A)


def test_a_source_that_reads_a_file_is_pickled_without_data(tmp_path: Path) -> None:
    pickled = []
    for k, create in enumerate(FILES.values()):
        (tmp_path / str(k)).mkdir()
        pickled.append(pickle.dumps(create(sensing("<f8"), tmp_path / str(k))))
    assert max(map(len, pickled)) < 2000  # the data are 5520 bytes
    code = (
        "import pickle, sys; [print(s.read(4, 6).sum()) for s in map(pickle.loads, eval(input()))]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=repr(pickled), capture_output=True, text=True
    )
    assert done.stdout.split() == [str(sensing("<f8")[4:6].sum())] * len(FILES)


@pytest.mark.parametrize("stored", ["npy", "memmap, Fortran", "h5py"])
def test_a_pickled_file_is_not_opened_before_it_is_read(stored: str, tmp_path: Path) -> None:
    source = pickle.loads(pickle.dumps(FILES[stored](sensing("<f4"), tmp_path)))
    for file in tmp_path.iterdir():
        file.unlink()
    assert source.rows == M
    with pytest.raises(FileNotFoundError):
        source.read(0, 1)


def test_changes_to_a_copy_on_write_map_are_kept(tmp_path: Path) -> None:
    A = mapped(sensing("<f4"), tmp_path, "c")
    A[3] = -7.0
    assert FileRows.from_memmap(A) is None
    source = ArrayRows(A)
    for _ in range(2):
        assert (source.read(3, 4) == -7.0).all()
    assert (pickle.loads(pickle.dumps(source)).read(3, 4) == -7.0).all()


def test_a_map_is_not_read_from_a_file_that_was_removed_or_replaced(tmp_path: Path) -> None:
    A = mapped(sensing("<f4"), tmp_path)
    np.save(tmp_path / "B.npy", -sensing("<f4"))
    (tmp_path / "B.npy").replace(tmp_path / "A.npy")
    assert FileRows.from_memmap(A) is None
    (tmp_path / "A.npy").unlink()
    assert FileRows.from_memmap(A) is None
    check(ArrayRows(A), sensing("<f4"))


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<u8"])
@pytest.mark.parametrize("stored", ["npy", "h5py, one chunk", "array, Fortran"])
def test_integers_that_would_be_rounded_raise(stored: str, dtype: str, tmp_path: Path) -> None:
    A = sensing(dtype)
    A[11, 2, 1] = 2**53
    source = STORED[stored](A, tmp_path)
    source.read(0, 11)
    with pytest.raises(ValueError, match=r"A contains integers of 2\^53 or more"):
        source.read(11, 12)


@pytest.mark.parametrize("dtype", ["complex64", "object", "U3", "datetime64[s]"])
def test_other_dtypes_raise(dtype: str) -> None:
    with pytest.raises(TypeError, match="expected float32 or float64"):
        used_dtype(np.dtype(dtype))


def test_a_truncated_file_raises(tmp_path: Path) -> None:
    source = FileRows.from_npy(saved(sensing("<f8"), tmp_path))
    with open(tmp_path / "A.npy", "r+b") as file:
        file.truncate(2000)
    source.read(0, 2)
    with pytest.raises(OSError, match=r"ends after 2000 bytes; expected 5648.*truncated"):
        source.read(0, M)


def test_files_that_cannot_be_rows_raise(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is in Fortran order"):
        FileRows.from_npy(saved(np.asfortranarray(sensing("<f8")), tmp_path))
    with pytest.raises(ValueError, match=r"has shape \(3,\)"):
        FileRows.from_npy(saved(np.ones(3), tmp_path))


def test_masked_values_of_a_file_format_raise() -> None:
    class Variable:
        shape, dtype = (2, 3), np.dtype("float64")

        def __getitem__(self, rows: slice) -> Any:
            return np.ma.masked_equal(np.arange(6.0).reshape(2, 3)[rows], 4.0)

    assert (ArrayRows(Variable()).read(0, 1) == [0, 1, 2]).all()
    with pytest.raises(ValueError, match="masked or missing"):
        ArrayRows(Variable()).read(0, 2)


def test_concatenation_uses_the_larger_dtype_and_checks_sizes() -> None:
    single, double = ArrayRows(np.full((2, 3), 0.1, "f4")), ArrayRows(np.full((1, 3), 0.1))
    both = Concatenated((single, double))
    assert both.dtype == np.float64
    assert both.read(1, 3).tolist() == [[float(np.float32(0.1))] * 3, [0.1] * 3]
    with pytest.raises(ValueError, match="source 1 have 4 entries and those of source 0 have 3"):
        Concatenated((single, ArrayRows(np.ones((1, 4)))))
    with pytest.raises(ValueError, match="at least one"):
        Concatenated(())
    with pytest.raises(ValueError, match="1:3 do not exist; the source has 2 rows"):
        Slice(single, 1, 3)


def test_what_can_be_sliced(tmp_path: Path) -> None:
    A = sensing("<f4")
    assert all(is_sliceable(a) for a in (A, A[0], mapped(A, tmp_path)))
    assert is_sliceable(h5py_dataset(A, tmp_path))
    assert is_sliceable(zarr_array(A, tmp_path))


def test_what_cannot_be_sliced() -> None:
    A = np.ones((4, 3))
    others = [[[1.0]], "A.npy", A[0], np.ma.masked_array(A)]
    others += [scipy.sparse.csr_matrix(A), scipy.sparse.csr_array(A)]
    modules = {"torch": "asarray", "jax.numpy": "asarray", "array_api_strict": "asarray"}
    for module, function in (modules | {"pandas": "DataFrame"}).items():
        others.append(getattr(pytest.importorskip(module), function)(A))
    assert not any(is_sliceable(other) for other in others)


def test_the_path_of_an_array_is_its_file_or_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "A.npy"
    file.write_bytes(b"")
    known: list[dict[str, Any]] = [{"filename": str(file)}, {"path": file}]
    for names in [*known, {"filename": None, "path": str(file)}]:
        assert path_of(SimpleNamespace(**names)) == str(file)
    unknown: list[dict[str, Any]] = [{}, {"filename": str(tmp_path / "other")}, {"path": 3}]
    for names in unknown:
        assert path_of(SimpleNamespace(**names)) is None


@pytest.mark.parametrize(("shape", "sliceable"), [((9,), False), ((9, 4), True), ((9, 2, 2), True)])
def test_what_can_be_sliced_is_a_matrix_or_a_stack(shape: tuple[int, ...], sliceable: bool) -> None:
    class Lazy:
        def __init__(self) -> None:
            self.shape, self.dtype = shape, np.dtype("f4")

        def __getitem__(self, rows: Any) -> Any:
            raise NotImplementedError

    assert is_sliceable(Lazy()) is sliceable
