"""Every operator keeps the laws of the contract, whatever the array underneath looks like."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.operators import (
    DenseOperator,
    Operator,
    ScaledOperator,
    StreamedOperator,
    Tangent,
    TransposedOperator,
    as_operator,
    check_operator,
)
from robustrank.operators.kernels import kernels_for, tangent_rows

M, N1, N2 = 37, 9, 7
Array = np.ndarray[Any, Any]
Layout = Callable[[Array, Path], Array]


def on_disk(A: Array, folder: Path) -> Array:
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")  # type: ignore[no-any-return]


LAYOUTS: dict[str, tuple[Layout, type[Operator]]] = {
    "C order": (lambda A, _: A, DenseOperator),
    "every second row": (lambda A, _: np.repeat(A, 2, axis=0)[::2], DenseOperator),
    "Fortran order": (lambda A, _: np.asfortranarray(A), TransposedOperator),
    "MATLAB's n1 × n2 × m": (
        lambda A, _: np.moveaxis(np.asfortranarray(np.moveaxis(A, 0, 2)), 2, 0),
        TransposedOperator,
    ),
    "swapped axes": (
        lambda A, _: np.ascontiguousarray(A.swapaxes(1, 2)).swapaxes(1, 2),
        TransposedOperator,
    ),
    "every second column": (lambda A, _: np.repeat(A, 2, axis=2)[:, :, ::2], StreamedOperator),
    "reversed rows": (lambda A, _: A[::-1].copy()[::-1], StreamedOperator),
    "foreign byte order": (lambda A, _: A.astype(A.dtype.newbyteorder()), StreamedOperator),
    "memory-mapped": (on_disk, StreamedOperator),
    "memory-mapped, Fortran order": (
        lambda A, folder: on_disk(np.asfortranarray(A), folder),
        TransposedOperator,
    ),
    "memory-mapped slice": (
        lambda A, f: on_disk(np.repeat(A, 2, axis=0), f)[::2],
        StreamedOperator,
    ),
}


@pytest.fixture
def sensing(dtype: str) -> Array:
    return np.random.default_rng(5).standard_normal((M, N1, N2)).astype(dtype)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_operator_keeps_the_contract(layout: str, sensing: Array, tmp_path: Path) -> None:
    arrange, kind = LAYOUTS[layout]
    operator = as_operator(arrange(sensing, tmp_path))
    assert type(operator) is kind
    assert (operator.measurements, operator.matrix_shape) == (M, (N1, N2))
    assert operator.dtype == sensing.dtype
    check = check_operator(operator)
    assert check.passed, check


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_operator_is_the_definition(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](sensing, tmp_path))
    rng = np.random.default_rng(6)
    U, V = rng.standard_normal((N1, 3)), rng.standard_normal((N2, 3))
    w = rng.standard_normal(M)
    exact = sensing.astype(float)
    G = np.einsum("i,ijk->jk", w, exact)
    tolerance = 1e-12 if sensing.dtype == np.float64 else 2e-5
    assert np.allclose(
        operator.measure(U, V), np.einsum("ijk,jk->i", exact, U @ V.T), atol=tolerance
    )
    GV, GtU = operator.backproject(w, U, V)
    assert np.allclose(GV, G @ V, atol=tolerance)
    assert np.allclose(GtU, G.T @ U, atol=tolerance)
    values = operator.leading_svd(w, 2, rng)[1]
    assert np.allclose(values, np.linalg.svd(G, compute_uv=False)[:2], rtol=tolerance)


def test_flat_rows_with_a_shape_are_the_same_operator(sensing: Array) -> None:
    flat = as_operator(sensing.reshape(M, N1 * N2), (N1, N2))
    U, V = np.ones((N1, 1)), np.ones((N2, 1))
    assert np.array_equal(flat.measure(U, V), as_operator(sensing).measure(U, V))


@pytest.mark.parametrize("layout", ["C order", "Fortran order", "MATLAB's n1 × n2 × m"])
def test_no_array_in_memory_is_copied(layout: str, sensing: Array, tmp_path: Path) -> None:
    A = LAYOUTS[layout][0](sensing, tmp_path)
    operator = as_operator(A)
    inner = operator.inner if isinstance(operator, TransposedOperator) else operator
    assert isinstance(inner, DenseOperator)
    assert np.shares_memory(inner.flat, A)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_passes_count_reads_of_the_whole_data(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](sensing, tmp_path))
    before = operator.passes
    U, V = np.ones((N1, 1)), np.ones((N2, 1))
    operator.backproject(operator.measure(U, V), U, V)
    assert operator.passes - before == 2
    operator.rows(slice(0, 10)).measure(U, V)
    assert operator.passes - before == pytest.approx(2 + 10 / M)


def test_small_blocks_give_the_same_answer(sensing: Array) -> None:
    one_row = StreamedOperator(sensing, (N1, N2), block_bytes=1)
    whole = StreamedOperator(sensing, (N1, N2))
    U, V = np.ones((N1, 2)), np.ones((N2, 2))
    assert np.allclose(one_row.measure(U, V), whole.measure(U, V), rtol=1e-5)
    assert len(list(one_row._reader.blocks())) == M


@pytest.mark.parametrize("shape", [(700, 41, 37), (90, 110, 120)])
def test_compiled_kernels_agree_with_plain_products(
    shape: tuple[int, int, int], dtype: str
) -> None:
    pytest.importorskip("numba")
    _, n1, n2 = shape
    rng = np.random.default_rng(7)
    A = rng.standard_normal(shape).astype(dtype)
    assert kernels_for(A) is not None
    U, V, W = (rng.standard_normal((n, 3)) for n in (n1, n2, n1 + n2))
    rows, reads = tangent_rows(A, U, V)
    assert reads == 1
    exact = A.astype(float)
    expected = np.concatenate([(exact @ V).swapaxes(1, 2), np.matmul(U.T, exact)], axis=2)
    assert np.allclose(rows, expected, atol=1e-10)
    big = Tangent(np.tile(rows, (1 + 2**20 // rows.size, 1, 1)))  # large enough for the kernels
    flat, x = big.rows.reshape(len(big.rows), -1), W.T.ravel()
    w = rng.uniform(0, 1, len(flat))
    assert np.allclose(big.apply(W), flat @ x)
    assert np.allclose(big.adjoint(w), (w @ flat).reshape(3, -1).T)
    assert np.allclose(big.gram(w, W), (flat.T @ (w * (flat @ x))).reshape(3, -1).T)


class Skewed(DenseOperator):
    """An operator whose adjoint is a little wrong."""

    def adjoint(self, w: Any) -> Any:
        return 1.001 * super().adjoint(w)


class Affine(DenseOperator):
    """An operator that is not linear."""

    def measure(self, U: Any, V: Any) -> Any:
        return super().measure(U, V) + 0.001


@pytest.mark.parametrize("broken", [Skewed, Affine])
def test_shipped_checks_catch_a_broken_operator(broken: type[DenseOperator]) -> None:
    flat = np.random.default_rng(5).standard_normal((M, N1 * N2))
    assert not check_operator(broken(flat, (N1, N2))).passed


BAD_SENSING: dict[str, tuple[Any, type[Exception], str]] = {
    "one-dimensional": (np.ones(5), ValueError, r"shape \(5,\); expected \(m, n1, n2\)"),
    "four-dimensional": (np.ones((2, 2, 2, 2)), ValueError, "expected"),
    "no measurement": (np.ones((0, 3, 4)), ValueError, "no measurement"),
    "empty matrix": (np.ones((3, 0, 4)), ValueError, "at least 1 × 1"),
    "flat without shape": (np.ones((5, 12)), ValueError, r"give shape=\(n1, n2\)"),
    "integer": (np.ones((5, 3, 4), int), TypeError, "int64; expected float32 or float64"),
    "complex": (np.ones((5, 3, 4), complex), TypeError, "complex128; expected float32"),
    "half precision": (np.ones((5, 3, 4), np.float16), TypeError, "float16; expected float32"),
    "objects": (np.full((5, 3, 4), None), TypeError, "object; expected float32"),
    "masked": (np.ma.masked_array(np.ones((5, 3, 4))), TypeError, "A is a masked array"),
    "text": ("A.npy", TypeError, "expected float32"),
}


@pytest.mark.parametrize("case", list(BAD_SENSING))
def test_bad_sensing_data_gets_a_sentence(case: str) -> None:
    A, error, words = BAD_SENSING[case]
    with pytest.raises(error, match=words):
        as_operator(A)


@pytest.mark.parametrize("shape", [12, (12,), "3x4", (3, 4, 1), (3.0, 4.0)])
def test_shape_that_is_no_pair_is_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match="expected two whole numbers"):
        as_operator(np.ones((5, 12)), shape)


def test_shape_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 × 5 = 15"):
        as_operator(np.ones((5, 12)), (3, 5))
    with pytest.raises(ValueError, match="does not fit"):
        as_operator(np.ones((5, 3, 4)), (4, 3))
    with pytest.raises(ValueError, match="does not fit"):
        as_operator(as_operator(np.ones((5, 3, 4))), (4, 3))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", ["C order", "Fortran order", "memory-mapped"])
def test_non_finite_sensing_data_is_refused_with_its_row(
    bad: float, layout: str, sensing: Array, tmp_path: Path
) -> None:
    sensing[17, 4, 3] = bad
    with pytest.raises(ValueError, match="first in row 17"):
        as_operator(LAYOUTS[layout][0](sensing, tmp_path))


def test_large_finite_sensing_data_is_accepted() -> None:
    assert as_operator(np.full((3, 4, 5), 1e308)).measurements == 3


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_gain_is_the_typical_size_of_an_entry(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](3 * sensing, tmp_path))
    assert operator.gain == pytest.approx(3.0, rel=0.05)


def test_scaled_operator_is_the_operator_of_scaled_data(sensing: Array) -> None:
    scaled = ScaledOperator(as_operator(sensing), 0.25)
    assert check_operator(scaled).passed
    U, V = np.ones((N1, 2)), np.ones((N2, 2))
    assert np.allclose(scaled.measure(U, V), as_operator(sensing * 0.25).measure(U, V), rtol=1e-5)
    assert scaled.gain == pytest.approx(as_operator(sensing * 0.25).gain)


MEMORY_PROBE = """
import sys, numpy as np
from robustrank.operators import as_operator
operator = as_operator(np.load(sys.argv[1], mmap_mode="r"))
U, V = np.ones((50, 1)), np.ones((40, 1))
operator.backproject(operator.measure(U, V), U, V)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_a_mapped_file(order: str, tmp_path: Path) -> None:
    peaks = []
    for m in (1000, 40_000):  # 8 MB and 320 MB of single precision
        shape = (m, 50, 40)
        A = np.lib.format.open_memmap(
            tmp_path / "A.npy", mode="w+", dtype="f4", shape=shape, fortran_order=order == "F"
        )
        A[...] = 1
        A.flush()
        command = [sys.executable, "-c", MEMORY_PROBE, str(tmp_path / "A.npy")]
        peaks.append(float(subprocess.run(command, capture_output=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 120  # megabytes


def test_repr_shows_the_shape(sensing: Array, tmp_path: Path) -> None:
    for layout in ("C order", "memory-mapped", "Fortran order"):
        text = repr(as_operator(LAYOUTS[layout][0](sensing, tmp_path)))
        assert "37" in text
        assert sensing.dtype.name in text
