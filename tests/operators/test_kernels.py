"""Compiled kernels give the same results as plain matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank import recover
from robustrank.operators import StoredTangent, as_operator
from robustrank.operators.kernels import kernels_for, stored_dtype, tangent_rows
from robustrank.result import Status
from robustrank.simulate import Planted, plant

Array = np.ndarray[Any, Any]


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
    rows, core, reads = tangent_rows(A, U, V)
    assert reads == 1
    exact = A.astype(float)
    expected = np.concatenate([(exact @ V).swapaxes(1, 2), np.matmul(U.T, exact)], axis=2)
    assert np.allclose(rows, expected, atol=1e-10)
    assert core is not None
    assert np.allclose(core, np.einsum("ak,iab,bk->ik", U, exact, V), atol=1e-10)
    repeated = np.tile(rows, (1 + 2**20 // rows.size, 1, 1))  # large enough for the kernels
    assert kernels_for(repeated) is not None
    large = StoredTangent(repeated, U, V)
    flat, x = repeated.reshape(len(repeated), -1), W.T.ravel()
    w = rng.uniform(0, 1, len(flat))
    assert np.allclose(large.apply(W), flat @ x)
    assert np.allclose(large.adjoint(w), (w @ flat).reshape(3, -1).T)
    assert np.allclose(large.normal_map(w)(W), (flat.T @ (w * (flat @ x))).reshape(3, -1).T)


def test_small_arrays_are_not_compiled_for() -> None:
    A = np.ones((20, 5, 4))
    assert kernels_for(A) is None
    assert tangent_rows(A, np.ones((5, 1)), np.ones((4, 1))).reads == 2


@pytest.mark.parametrize(("measurements", "dtype"), [(15_887, "float64"), (15_888, "float32")])
def test_large_maps_are_stored_in_single_precision(measurements: int, dtype: str) -> None:
    """From 2^20 numbers on, 33 · 2 of which are of a measurement, unless they are to be precise."""
    shape, U = (measurements, 20, 13), np.ones((20, 2))
    assert stored_dtype(shape, U, precise=False) == dtype
    assert stored_dtype(shape, U, precise=True) == np.float64


def test_maps_are_precise_only_if_asked_for() -> None:
    pytest.importorskip("numba")
    A = np.random.default_rng(9).standard_normal((2**20 // 33 + 1, 20, 13))
    U, V = np.ones((20, 1)), np.ones((13, 1))
    assert tangent_rows(A, U, V).rows.dtype == np.float32
    assert tangent_rows(A, U, V, precise=True).rows.dtype == np.float64


def test_result_has_the_same_bits_for_every_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((2**16 + 5, 2, 9))
    tangent = StoredTangent(rows, np.ones((5, 2)), np.ones((4, 2)))
    assert kernels_for(rows) is not None
    w, W = rng.uniform(0, 1, len(rows)), rng.standard_normal((9, 2))
    adjoints, grams = [], []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        adjoints.append(tangent.adjoint(w))
        grams.append(tangent.normal_map(w)(W))
    for results in (adjoints, grams):
        assert all(np.array_equal(results[0], other) for other in results[1:])
    assert np.allclose(adjoints[0], np.einsum("i,ikn->nk", w, rows))


@pytest.fixture
def large() -> Planted:
    """A problem whose tangent map is large enough for single precision."""
    pytest.importorskip("numba")
    return plant(80, 70, 3, 2600, outliers=0.1, rng=3)


def orthonormal(planted: Planted) -> tuple[Array, Array]:
    left, right = (np.linalg.qr(factor)[0] for factor in (planted.left, planted.right))
    return left, right


def test_large_map_is_stored_in_single_precision_and_measures_in_double(large: Planted) -> None:
    operator, (left, right) = as_operator(large.A), orthonormal(large)
    tangent, precise = operator.tangent(left, right), operator.tangent(left, right, precise=True)
    assert isinstance(tangent, StoredTangent)
    assert isinstance(precise, StoredTangent)
    assert (tangent.stored.dtype, precise.stored.dtype) == (np.float32, np.float64)
    assert tangent.epsilon > 1e8 * precise.epsilon
    values = np.asarray([3.0, 2.0, 1.0])
    exact = np.einsum("iab,ab->i", large.A, (left * values) @ right.T)
    assert np.allclose(tangent.measure(values), exact, rtol=0, atol=1e-12)
    W = np.random.default_rng(1).standard_normal((150, 3))
    assert np.allclose(tangent.apply(W), precise.apply(W), rtol=0, atol=1e-4)
    assert not np.allclose(tangent.apply(W), precise.apply(W), rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_sizes_beyond_single_precision_are_stored_in_double(large: Planted, size: float) -> None:
    tangent = as_operator(large.A * size).tangent(*orthonormal(large))
    assert isinstance(tangent, StoredTangent)
    assert tangent.stored.dtype == np.float64
    result = recover(large.A * size, large.y * size, 3)
    assert result.status is Status.RECOVERED
