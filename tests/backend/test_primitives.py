"""Operations that differ between array libraries: selection, thin SVD, dtypes and conversion."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from robustrank.backend import (
    check_same_device,
    epsilon,
    has_double_precision,
    is_array,
    is_numpy,
    kth_smallest,
    library,
    like,
    load_library,
    namespace,
    reject_masked,
    sorted_orders,
    standard_normal,
    thin_svd,
    to_numpy,
)


def test_kth_smallest_is_an_order_statistic_along_the_last_axis(xp: Any, dtype: str) -> None:
    values = np.random.default_rng(0).standard_normal((3, 20)).astype(dtype)
    for k in (0, 7, 19):
        found = kth_smallest(xp.asarray(values), k)
        assert np.array_equal(to_numpy(found), np.sort(values)[:, k])


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 6, 4)])
def test_thin_svd_reproduces_the_matrix(xp: Any, dtype: str, shape: tuple[int, ...]) -> None:
    matrix = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    left, values, right_t = (to_numpy(part) for part in thin_svd(xp.asarray(matrix)))
    assert values.shape[-1] == 4
    assert np.allclose(values, np.linalg.svd(matrix, compute_uv=False), rtol=1e-4)
    assert np.allclose((left * values[..., None, :]) @ right_t, matrix, atol=1e-5)


def test_thin_svd_of_repeated_singular_values(xp: Any, dtype: str) -> None:
    left, values, right_t = (
        to_numpy(part) for part in thin_svd(xp.asarray(np.eye(5, dtype=dtype)))
    )
    assert np.allclose(values, 1)
    assert np.allclose(left @ right_t, np.eye(5), atol=1e-5)


def test_array_is_recognized_and_converted(xp: Any, dtype: str) -> None:
    values = np.arange(3.0).astype(dtype)
    array = xp.asarray(values)
    assert is_array(array)
    assert is_numpy(array) is (library(array) == "numpy")
    assert np.array_equal(to_numpy(array), values)
    assert to_numpy(array).dtype == dtype
    assert has_double_precision(array)  # the tests switch it on in JAX
    assert epsilon(array) == np.finfo(dtype).eps
    copy = namespace(array).zeros((2, 2), **like(array))
    assert like(copy) == like(array)
    check_same_device(array, copy)


def test_lists_are_not_arrays() -> None:
    assert not is_array([1.0, 2.0])
    assert not is_numpy([1.0, 2.0])


def test_masked_array_raises() -> None:
    with pytest.raises(TypeError, match=r"y is a masked array, and its mask would be ignored"):
        reject_masked(np.ma.masked_array([1.0]), "y")
    reject_masked(np.ones(1), "y")


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_standard_normal_is_reproducible(name: str, dtype: str) -> None:
    first, second, other = (
        to_numpy(standard_normal((50, 40), dtype, seed, name, None)) for seed in (7, 7, 8)
    )
    assert first.dtype == dtype
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert abs(first.mean()) < 0.1
    assert first.std() == pytest.approx(1, abs=0.1)


def test_unknown_or_missing_library_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="library='pandas' is not known; expected one of 'numpy'"):
        load_library("pandas")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match="install it with: pip install cupy-cuda12x"):
        load_library("cupy")


@pytest.mark.parametrize("shape", [(7, 5), (900, 5), (5, 900)])  # by counting, and by keys
def test_orders_of_pairs_sort_by_row_and_by_column(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    rows, columns = (rng.integers(0, n, 40) for n in shape)
    by_rows, by_columns = sorted_orders(rows, columns, shape)
    np.testing.assert_array_equal(by_rows, np.lexsort((columns, rows)))
    np.testing.assert_array_equal(by_columns, np.lexsort((rows, columns)))
