"""Operators of stored sensing data: every memory layout gives the same measurements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.operators import (
    CountedOperator,
    DenseOperator,
    Operator,
    TransposedOperator,
    as_operator,
    check_operator,
)
from robustrank.outofcore import ColumnStreamedOperator, ShardedRows, StreamedOperator

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
    "memory-mapped": (on_disk, ShardedRows),
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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_fulfills_the_contract(layout: str, sensing: Array, tmp_path: Path) -> None:
    arrange, kind = LAYOUTS[layout]
    operator = as_operator(arrange(sensing, tmp_path))
    assert type(operator) is kind
    assert operator.shape == (M, (N1, N2))
    assert (operator.measurements, operator.matrix_shape) == (M, (N1, N2))
    assert operator.dtype == sensing.dtype
    check = check_operator(operator)
    assert check.passed, check


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_agree_with_their_definition(layout: str, sensing: Array, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zero_weights_select_a_subset(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](sensing, tmp_path))
    rng = np.random.default_rng(7)
    kept = rng.random(M) < 0.5
    subset = as_operator(sensing[kept])
    U, V = (rng.standard_normal((n, 2)).astype(sensing.dtype) for n in (N1, N2))
    w = rng.standard_normal(M).astype(sensing.dtype)
    selected = np.where(kept, w, 0)
    rtol = 1e-12 if sensing.dtype == np.float64 else 1e-4
    assert np.allclose(operator.measure(U, V)[kept], subset.measure(U, V), rtol=rtol, atol=rtol)
    for whole, part in zip(
        operator.backproject(selected, U, V), subset.backproject(w[kept], U, V), strict=True
    ):
        assert np.allclose(whole, part, rtol=rtol, atol=rtol)
    assert np.allclose(
        operator.leading_svd(selected, 2, rng)[1], subset.leading_svd(w[kept], 2, rng)[1], rtol=rtol
    )
    assert np.allclose(
        operator.tangent(U, V).adjoint(selected),
        subset.tangent(U, V).adjoint(w[kept]),
        rtol=rtol,
        atol=rtol,
    )


def test_flat_rows_with_a_shape_give_the_same_operator(sensing: Array) -> None:
    flat = as_operator(sensing.reshape(M, N1 * N2), (N1, N2))
    U, V = np.ones((N1, 1)), np.ones((N2, 1))
    assert np.array_equal(flat.measure(U, V), as_operator(sensing).measure(U, V))


@pytest.mark.parametrize("layout", ["C order", "Fortran order", "MATLAB's n1 × n2 × m"])
def test_array_in_memory_is_not_copied(layout: str, sensing: Array, tmp_path: Path) -> None:
    A = LAYOUTS[layout][0](sensing, tmp_path)
    operator = as_operator(A)
    inner = operator.inner if isinstance(operator, TransposedOperator) else operator
    assert isinstance(inner, DenseOperator)
    assert np.shares_memory(inner.flat, A)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counted_passes_are_reads_of_the_whole_data(
    layout: str, sensing: Array, tmp_path: Path
) -> None:
    operator = as_operator(LAYOUTS[layout][0](sensing, tmp_path))
    counted = CountedOperator(operator)
    U, V = np.ones((N1, 1)), np.ones((N2, 1))
    counted.backproject(counted.measure(U, V), U, V)
    assert counted.counter.passes == 2
    counted.tangent(U, V)
    # Without compiled kernels, an array in memory is read once for each factor.
    inner = getattr(operator, "inner", operator)
    in_blocks = isinstance(inner, (StreamedOperator, ColumnStreamedOperator, ShardedRows))
    assert counted.counter.passes == (3 if in_blocks else 4)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gain_is_the_root_mean_square_entry(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](3 * sensing, tmp_path))
    assert operator.gain == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [0, 5, 36])
def test_gain_does_not_depend_on_one_row(
    layout: str, row: int, sensing: Array, tmp_path: Path
) -> None:
    sensing[row] *= 1e4
    assert as_operator(LAYOUTS[layout][0](sensing, tmp_path)).gain == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gain_of_few_rows_that_are_not_zero(layout: str, sensing: Array, tmp_path: Path) -> None:
    A = np.zeros((500, N1, N2), sensing.dtype)
    A[3] = sensing[0]
    expected = np.linalg.norm(sensing[0]) / np.sqrt(N1 * N2)  # rows of zeros do not count
    assert as_operator(LAYOUTS[layout][0](A, tmp_path)).gain == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("stored", ["bool", "int8", "uint16", "int32", "int64", "float16"])
def test_integers_give_the_same_operator(layout: str, stored: str, tmp_path: Path) -> None:
    whole = np.random.default_rng(8).integers(0, 2, (M, N1, N2))
    operator = as_operator(LAYOUTS[layout][0](whole.astype(stored), tmp_path))
    expected = as_operator(whole.astype("float32" if stored == "float16" else "float64"))
    assert operator.dtype == expected.dtype
    assert operator.gain == pytest.approx(expected.gain, rel=0.02)
    U, V = np.ones((N1, 2)), np.arange(2.0 * N2).reshape(N2, 2)
    assert np.allclose(operator.measure(U, V), expected.measure(U, V), rtol=1e-6)
    for part, other in zip(
        operator.backproject(np.arange(float(M)), U, V),
        expected.backproject(np.arange(float(M)), U, V),
        strict=True,
    ):
        assert np.allclose(part, other, rtol=1e-5)


def test_large_integers_in_a_file_raise(tmp_path: Path) -> None:
    A = np.ones((M, N1, N2), "int64")
    A[17, 4, 3] = 2**53 + 1
    with pytest.raises(ValueError, match=r"A contains integers of 2\^53 or more"):
        as_operator(on_disk(A, tmp_path))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", ["C order", "Fortran order", "memory-mapped"])
def test_error_for_non_finite_sensing_data_names_the_row(
    bad: float, layout: str, sensing: Array, tmp_path: Path
) -> None:
    sensing[17, 4, 3] = bad
    with pytest.raises(ValueError, match="first in row 17"):
        as_operator(LAYOUTS[layout][0](sensing, tmp_path))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_repr_shows_shape_and_dtype(layout: str, sensing: Array, tmp_path: Path) -> None:
    operator = as_operator(LAYOUTS[layout][0](sensing, tmp_path))
    shape = "7 × 9" if isinstance(operator, TransposedOperator) else "9 × 7"
    assert f"37 measurements of a {shape} matrix, {sensing.dtype.name})" in repr(operator)
