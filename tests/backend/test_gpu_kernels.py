"""Kernels compiled by Triton, compared with plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.backend import kth_smallest, to_numpy, triton_kernels_for

DTYPES = ["float32", "float64"]


def test_arrays_in_host_memory_have_no_kernels(xp: Any) -> None:
    array = xp.ones(3)
    if "cuda" not in str(getattr(array, "device", "")):
        assert triton_kernels_for(array) is None


@pytest.fixture
def kernels() -> Any:
    torch = pytest.importorskip("torch")
    found = triton_kernels_for(torch.ones(1, device="cuda"))
    if found is None:
        pytest.skip("Triton is not installed")
    return found


def on_device(array: np.ndarray[Any, Any]) -> Any:
    import torch

    return torch.asarray(array, device="cuda")


def drawn(*shape: int, dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def assert_close(found: Any, expected: np.ndarray[Any, Any], dtype: str) -> None:
    error = np.linalg.norm(to_numpy(found) - expected) / np.linalg.norm(expected)
    assert error < 20 * np.finfo(dtype).eps


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 37, 1023, 2400, 8192, 8193])
def test_selection_is_that_of_a_sorted_array(kernels: Any, m: int, dtype: str) -> None:
    values = drawn(3, m, dtype=dtype)
    values[1] = np.round(values[1])  # many equal values
    values[2, : m // 3] = np.inf
    for k in {0, m // 3, m // 2, m - 1}:
        found = to_numpy(kth_smallest(on_device(values), k))
        np.testing.assert_array_equal(found, np.sort(values)[:, k])
        assert to_numpy(kernels.kth_smallest(on_device(values[0]), k)) == np.sort(values[0])[k]


@pytest.mark.gpu
def test_selection_counts_nan_as_the_largest(kernels: Any) -> None:
    values = on_device(np.array([np.nan, 3.0, np.nan, -1.0, np.inf]))
    found = [float(kernels.kth_smallest(values, k)) for k in range(5)]
    np.testing.assert_array_equal(found, [-1, 3, np.inf, np.nan, np.nan])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n1", "n2", "r"), [(1, 1, 1), (7, 5, 3), (150, 120, 5), (90, 301, 17)])
def test_products_are_those_of_numpy(kernels: Any, n1: int, n2: int, r: int, dtype: str) -> None:
    G, U, V = (
        drawn(*shape, dtype=dtype, seed=seed)
        for seed, shape in enumerate([(n1, n2), (n1, r), (n2, r)])
    )
    assert_close(kernels.outer_product(on_device(U), on_device(V)), U @ V.T, dtype)
    GV, GtU = kernels.products_with_factors(*map(on_device, (G, U, V)))
    assert_close(GV, G @ V, dtype)
    assert_close(GtU, G.T @ U, dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "r"), [(2, 1), (65, 3), (270, 5), (1000, 17)])
def test_a_step_is_the_update_of_gradient_descent(kernels: Any, n: int, r: int, dtype: str) -> None:
    W, GW, sizes, factors = (
        drawn(*shape, dtype=dtype, seed=seed)
        for seed, shape in enumerate([(n, r), (n, r), (n, 1), (n, 1)])
    )
    expected = W - sizes * (factors * (W @ (W.T @ (factors * W))) - GW)
    found = kernels.balanced_step(*map(on_device, (W, GW, sizes, factors)))
    assert_close(found, expected, dtype)
