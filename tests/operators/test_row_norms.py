"""‖A_i‖ for every row: exact, without overflow, and with an error that names a bad row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.backend import like, to_numpy, using_threads
from robustrank.operators import ScaledOperator, as_operator
from robustrank.operators import dense as module
from robustrank.operators.dense import row_norms
from robustrank.outofcore import ColumnStreamedOperator, ShardedRows, StreamedOperator
from robustrank.outofcore.array_rows import ArrayRows

M, N1, N2 = 41, 5, 4
Array = np.ndarray[Any, Any]


def rows(dtype: str) -> Array:
    return np.random.default_rng(1).standard_normal((M, N1 * N2)).astype(dtype)


# Factors by which the squares of the entries overflow or underflow, or nearly so.
EXTREME = {
    "float64": [1e-300, 1e-160, 1e-150, 1.0, 1e150, 1e154, 1e300],
    "float32": [1e-34, 1e-22, 1e-18, 1.0, 1e18, 1e19, 1e37],
}


def test_norms_are_exact_also_if_squares_overflow_or_underflow(xp: Any, dtype: str) -> None:
    flat = rows(dtype)
    factors = np.ones(M, dtype)
    factors[: len(EXTREME[dtype])] = EXTREME[dtype]
    flat = (flat.astype(np.longdouble) * factors[:, None]).astype(dtype)
    expected = np.sqrt(np.sum(flat.astype(np.longdouble) ** 2, axis=1)).astype(dtype)
    found = row_norms(xp.asarray(flat))
    assert like(found) == like(xp.asarray(flat))
    assert np.allclose(
        to_numpy(found), expected, rtol=1e-5 if dtype == "float32" else 1e-12, atol=0
    )


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_norms_have_the_same_bits_for_every_number_of_threads(count: int, dtype: str) -> None:
    flat = np.random.default_rng(1).standard_normal((count, 20_000)).astype(dtype)
    expected = row_norms(flat)
    for threads in (2, 3, 7):
        with using_threads(threads):
            assert np.array_equal(row_norms(flat), expected)


def test_norm_of_a_row_of_zeros_is_zero(xp: Any) -> None:
    flat = rows("float64")
    flat[3] = 0
    found = to_numpy(row_norms(xp.asarray(flat)))
    assert found[3] == 0
    assert np.all(found[4:] > 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_row_that_is_not_finite_is_named(xp: Any, bad: float) -> None:
    flat = rows("float64")
    flat[5] *= 1e300  # finite, although the sum of squares is not
    flat[[17, 30], 2] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity \(first in row 17\); expected finite"):
        row_norms(xp.asarray(flat))


def test_norms_of_a_library_are_computed_in_blocks(
    xp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = rows("float64")
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 3 * N1 * N2)  # 13 blocks and a remainder
    expected = np.linalg.norm(flat, axis=1)
    assert np.allclose(to_numpy(module._by_library(xp.asarray(flat))), expected, rtol=1e-14)


def on_disk(A: Array, folder: Path) -> Array:
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")  # type: ignore[no-any-return]


LAYOUTS: dict[str, Callable[[Array, Path], Array]] = {
    "C order": lambda A, _: A,
    "Fortran order": lambda A, _: np.asfortranarray(A),
    "every second column": lambda A, _: np.repeat(A, 2, axis=2)[:, :, ::2],
    "foreign byte order": lambda A, _: A.astype(A.dtype.newbyteorder()),
    "memory-mapped": on_disk,
    "memory-mapped, Fortran order": lambda A, folder: on_disk(np.asfortranarray(A), folder),
}


def operator_of(A: Array, block_bytes: int) -> Any:
    """The operator that ``as_operator`` chooses, with small blocks if it reads in blocks."""
    operator = as_operator(A)
    if isinstance(operator, ShardedRows):
        return StreamedOperator(operator.shards[0], (N1, N2), block_bytes=block_bytes)
    streamed = getattr(operator, "inner", operator)
    if isinstance(streamed, (StreamedOperator, ColumnStreamedOperator)):
        streamed._products = replace(streamed._products, block_bytes=block_bytes)
        vars(streamed).pop("_norms")
    return operator


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_every_layout_has_exact_norms(layout: str, size: float, tmp_path: Path) -> None:
    A = rows("float64").reshape(M, N1, N2) * size
    A[7] = 0
    operator = operator_of(LAYOUTS[layout](A, tmp_path), block_bytes=7 * 8 * N1 * N2)
    expected = size * np.linalg.norm((A / size).reshape(M, -1), axis=1)
    assert np.allclose(operator.row_norms(), expected, rtol=1e-12, atol=0)
    typical = np.sort(expected)[(M - 1) // 2] / np.sqrt(N1 * N2)
    assert operator.gain == pytest.approx(typical)


@pytest.mark.parametrize("by_columns", [False, True])
def test_row_that_is_not_finite_is_named_when_read_in_blocks(by_columns: bool) -> None:
    """Row 17 is in the third block."""
    A = rows("float64")
    A[17, 11] = np.nan
    kind = ColumnStreamedOperator if by_columns else StreamedOperator
    source = ArrayRows(A.T if by_columns else A)
    with pytest.raises(ValueError, match="first in row 17"):
        kind(source, (N1, N2), block_bytes=7 * 8 * N1 * N2).row_norms()


def test_norms_are_computed_once() -> None:
    A = rows("float64").reshape(M, N1, N2)
    operator = as_operator(A)
    before = operator.row_norms().copy()
    A[:] = 0
    assert np.array_equal(operator.row_norms(), before)


def test_a_single_huge_row_does_not_change_the_gain() -> None:
    A = rows("float64").reshape(M, N1, N2)
    plain = as_operator(A.copy()).gain
    A[3] *= 1e4
    assert as_operator(A).gain == pytest.approx(plain, rel=0.05)
    assert ScaledOperator(as_operator(A), -2.0).gain == pytest.approx(2 * as_operator(A).gain)
