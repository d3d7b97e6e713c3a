"""Sensing data that is read in blocks: same results, and memory that does not grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.operators import TransposedOperator, as_operator, check_operator
from robustrank.outofcore import ColumnStreamedOperator, StreamedOperator
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.file_rows import FileRows

M, N1, N2 = 37, 9, 7
Array = np.ndarray[Any, Any]


@pytest.fixture
def sensing(dtype: str) -> Array:
    return np.random.default_rng(5).standard_normal((M, N1, N2)).astype(dtype)


def by_rows(A: Array, block_bytes: int = 1000) -> StreamedOperator:
    return StreamedOperator(ArrayRows(A), (N1, N2), block_bytes=block_bytes)


def by_columns(A: Array, block_bytes: int = 1000) -> ColumnStreamedOperator:
    columns = np.ascontiguousarray(A.reshape(M, -1).T)
    return ColumnStreamedOperator(ArrayRows(columns), (N1, N2), block_bytes=block_bytes)


@pytest.mark.parametrize("kind", [by_rows, by_columns])
@pytest.mark.parametrize("block_bytes", [1, 1000, 2**25])
def test_result_does_not_depend_on_the_block_size(
    kind: Any, block_bytes: int, sensing: Array
) -> None:
    streamed, whole = kind(sensing, block_bytes), as_operator(sensing)
    check = check_operator(streamed)
    assert check.passed, check
    assert (streamed.shape, streamed.dtype) == (whole.shape, whole.dtype)
    rng = np.random.default_rng(6)
    U, V, W = (rng.standard_normal((n, 2)).astype(sensing.dtype) for n in (N1, N2, N1 + N2))
    w = rng.standard_normal(M).astype(sensing.dtype)
    tangent, expected = streamed.tangent(U, V), whole.tangent(U, V)
    values = np.asarray([2.0, -1.0], sensing.dtype)
    rtol = 1e-12 if sensing.dtype == np.float64 else 1e-5
    for found, correct in (
        (streamed.measure(U, V), whole.measure(U, V)),
        (streamed.backproject(w, U, V)[1], whole.backproject(w, U, V)[1]),
        (streamed.row_norms(), whole.row_norms()),
        (tangent.apply(W), expected.apply(W)),
        (tangent.adjoint(w), expected.adjoint(w)),
        (tangent.measure(values), expected.measure(values)),
    ):
        assert found.dtype == sensing.dtype
        assert np.linalg.norm(found - correct) <= rtol * np.linalg.norm(correct)


@pytest.mark.parametrize("kind", [by_rows, by_columns])
def test_every_product_reads_the_data_once(
    kind: Any, sensing: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = kind(sensing)
    source = operator._products.source
    read: list[int] = []

    def recorded(first: int, last: int, out: Array | None = None) -> Array:
        read.extend(range(first, last))
        return ArrayRows.read(source, first, last, out)

    monkeypatch.setattr(source, "read", recorded)
    U, V = (np.ones((n, 2), sensing.dtype) for n in (N1, N2))
    w = np.ones(M, sensing.dtype)
    for product in (
        operator.row_norms,  # which are kept for the tangent map
        lambda: operator.measure(U, V),
        lambda: operator.backproject(w, U, V),
        lambda: operator.tangent(U, V),
    ):
        product()
        assert read == list(range(source.rows))
        read.clear()


@pytest.mark.parametrize("stored", ["int8", "bool"])
def test_integers_are_read_as_float32_but_measured_in_float64(stored: str) -> None:
    """Also by the core of the tangent map, which gives the residual of the next iterate."""
    rng = np.random.default_rng(7)
    A = rng.integers(0, 2, (M, N1, N2)).astype(stored)
    operator = by_rows(A)
    assert operator.dtype == np.float64
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (N1, N2))
    expected = np.einsum("mij,ik,jk->mk", A.astype(float), U, V)
    assert np.allclose(operator.measure(U, V), expected.sum(axis=1), rtol=0, atol=1e-13)
    tangent = operator.tangent(U, V)
    assert np.allclose(tangent.measure(np.ones(2)), expected.sum(axis=1), rtol=0, atol=1e-13)
    W = rng.standard_normal((N1 + N2, 2))
    exact = as_operator(A.astype(float)).tangent(U, V)
    assert np.allclose(tangent.apply(W), exact.apply(W), rtol=0, atol=1e-12)


def test_first_measurement_of_a_part_is_counted_in_messages() -> None:
    A = np.ones((M, N1, N2))
    A[5, 1, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 105"):
        StreamedOperator(ArrayRows(A), (N1, N2), first=100, block_bytes=1000).row_norms()


def test_changes_to_a_copy_on_write_map_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.ones((M, N1, N2)))
    A = np.load(tmp_path / "A.npy", mmap_mode="c")
    A[3] = 2.0
    operator = as_operator(A)
    for _ in range(2):  # pages are released after the first pass
        measured = operator.measure(np.ones((N1, 1)), np.ones((N2, 1)))
        assert measured.tolist() == [2.0 * N1 * N2 if i == 3 else N1 * N2 for i in range(M)]


def test_file_in_fortran_order_is_read_by_columns(sensing: Array, tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.asfortranarray(sensing))
    operator = as_operator(np.load(tmp_path / "A.npy", mmap_mode="r"))
    assert isinstance(operator, TransposedOperator)
    assert isinstance(operator.inner, ColumnStreamedOperator)
    flat = np.asfortranarray(sensing.reshape(M, -1))
    np.save(tmp_path / "flat.npy", flat)
    flat_operator = as_operator(np.load(tmp_path / "flat.npy", mmap_mode="r"), (N1, N2))
    assert isinstance(flat_operator, ColumnStreamedOperator)
    U, V = (np.ones((n, 1), sensing.dtype) for n in (N1, N2))
    for found in (operator.measure(U, V), flat_operator.measure(U, V)):
        assert np.allclose(found, sensing.sum(axis=(1, 2)), rtol=1e-4, atol=1e-4)


def test_rows_of_a_file_are_streamed(sensing: Array, tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", sensing)
    operator = StreamedOperator(FileRows.from_npy(tmp_path / "A.npy"), (N1, N2))
    assert np.array_equal(operator.row_norms(), by_rows(sensing, 2**25).row_norms())


PEAK_MEMORY = """
import sys, numpy as np
from robustrank.operators import as_operator
U, V = np.ones((50, 1), "f4"), np.ones((40, 1), "f4")
for path in sys.argv[1:]:
    operator = as_operator(np.load(path, mmap_mode="r"))
    operator.backproject(operator.measure(U, V), U, V)
    lines = open("/proc/self/status").read().splitlines()
    print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_the_file(order: str, tmp_path: Path) -> None:
    paths = [str(tmp_path / "small.npy"), str(tmp_path / "large.npy")]
    for path, m in zip(paths, (1000, 20_000), strict=True):  # 8 MB and 160 MB in float32
        shape = (m, 50, 40)
        np.lib.format.open_memmap(
            path, mode="w+", dtype="f4", shape=shape, fortran_order=order == "F"
        )  # a sparse file: it reads as zeros and occupies memory once it is read
    command = [sys.executable, "-c", PEAK_MEMORY, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peaks = [float(line) for line in done.stdout.split()]
    assert peaks[1] - peaks[0] < 80  # megabytes; it grows by 150 if pages are not released
