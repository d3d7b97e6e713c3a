"""Compiled kernels give the same results as plain matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.operators import StoredTangent
from robustrank.operators.kernels import kernels_for, tangent_rows

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
    rows, reads = tangent_rows(A, U, V)
    assert reads == 1
    exact = A.astype(float)
    expected = np.concatenate([(exact @ V).swapaxes(1, 2), np.matmul(U.T, exact)], axis=2)
    assert np.allclose(rows, expected, atol=1e-10)
    repeated = np.tile(rows, (1 + 2**20 // rows.size, 1, 1))  # large enough for the kernels
    assert kernels_for(repeated) is not None
    large = StoredTangent(repeated, U, V)
    flat, x = repeated.reshape(len(repeated), -1), W.T.ravel()
    w = rng.uniform(0, 1, len(flat))
    assert np.allclose(large.apply(W), flat @ x)
    assert np.allclose(large.adjoint(w), (w @ flat).reshape(3, -1).T)
    assert np.allclose(large.gram(w, W), (flat.T @ (w * (flat @ x))).reshape(3, -1).T)


def test_small_arrays_are_not_compiled_for() -> None:
    A = np.ones((20, 5, 4))
    assert kernels_for(A) is None
    assert tangent_rows(A, np.ones((5, 1)), np.ones((4, 1)))[1] == 2


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_result_is_reproducible_for_every_number_of_threads(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((2**16, 2, 9))
    tangent = StoredTangent(rows, np.ones((5, 2)), np.ones((4, 2)))
    assert kernels_for(rows) is not None
    w = rng.uniform(0, 1, len(rows))
    first, second = tangent.adjoint(w), tangent.adjoint(w)
    assert np.array_equal(first, second)
    assert np.allclose(first, np.einsum("i,ikn->nk", w, rows))
