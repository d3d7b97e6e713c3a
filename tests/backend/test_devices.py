"""Devices: where arrays are moved, what happens when memory is short, and reduced precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import (
    LIBRARIES,
    DeviceMemoryError,
    ReducedPrecisionWarning,
    explain_memory_errors,
    free_memory,
    full_precision,
    library,
    like,
    move,
    move_to_device_of,
    on_gpu,
    to_numpy,
)
from robustrank.operators import DenseOperator, StoredTangent
from robustrank.simulate import Planted, plant


def test_device_moves_both_arrays_to_the_cpu(xp: Any, small: Planted) -> None:
    A, y = xp.asarray(small.A), xp.asarray(small.y)
    result = rr.recover(A, y, 2, device="cpu")
    assert not on_gpu(result.left)
    assert not on_gpu(result.outliers)
    assert isinstance(to_numpy(result.left), np.ndarray)
    assert result.status is rr.Status.RECOVERED


def test_numpy_y_is_moved_to_the_device_of_a(xp: Any, small: Planted) -> None:
    A = xp.asarray(small.A)
    if library(A) not in LIBRARIES:
        pytest.skip("array_api_strict is not a library for users")
    result = rr.recover(A, small.y, 2, device="cuda" if on_gpu(A) else "cpu")
    assert result.status is rr.Status.RECOVERED
    assert like(result.left) == like(A)


def test_arrays_of_two_libraries_raise(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="A is a torch array and y is a numpy array; expected the"):
        rr.recover(torch.asarray(small.A), small.y, 2)
    with pytest.raises(TypeError, match="A is a numpy array and y is a torch array"):
        rr.recover(small.A, torch.asarray(small.y), 2)
    with pytest.raises(TypeError, match="A is a numpy array and y is a torch array"):
        rr.recover(small.A, torch.asarray(small.y), 2, device="cpu")


@pytest.mark.gpu
def test_arrays_on_two_devices_raise(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="A is on cuda:0 and y is on cpu; expected the same"):
        rr.recover(torch.asarray(small.A, device="cuda"), torch.asarray(small.y), 2)


@pytest.mark.gpu
def test_numpy_arrays_are_moved_to_the_gpu(small: Planted) -> None:
    result = rr.recover(small.A, small.y, 2, device="cuda")
    assert result.status is rr.Status.RECOVERED
    assert result.left.device.type == "cuda"


@pytest.mark.gpu
def test_cupy_arrays_move_between_host_and_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    on_device, on_host = cupy.ones(3), np.ones(3)
    assert isinstance(move(on_device, "cpu"), np.ndarray)
    assert move(on_device, "cuda") is on_device
    assert isinstance(move_to_device_of(on_device, on_host), np.ndarray)
    assert isinstance(move_to_device_of(on_host, on_device), cupy.ndarray)


def test_y_may_be_a_list(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    A = torch.asarray(small.A)
    for y in (list(small.y), small.y.tolist()):
        assert rr.recover(A, y, 2).status is rr.Status.RECOVERED


@pytest.mark.parametrize("target", ["gpu", "cuda:x", "", "cpu:0:1"])
def test_unknown_device_raises(target: str, small: Planted) -> None:
    with pytest.raises(ValueError, match='is not known; expected "cpu", "cuda" or "cuda:0"'):
        rr.recover(small.A, small.y, 2, device=target)


def test_missing_gpu_raises(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match="PyTorch finds no CUDA device for device='cuda'"):
        rr.recover(small.A, small.y, 2, device="cuda")


def test_missing_jax_device_raises() -> None:
    jax = pytest.importorskip("jax")

    with pytest.raises(ValueError, match=r"JAX has no device c(uda|pu):9"):
        move(jax.numpy.ones(3), "cuda:9" if jax.default_backend() == "gpu" else "cpu:9")


class OutOfMemory(DenseOperator):
    """Raises the error of PyTorch for a GPU without free memory."""

    def tangent(self, U: Any, V: Any, *, precise: bool = False) -> StoredTangent:
        torch = pytest.importorskip("torch")
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


def test_memory_error_says_what_to_do(small: Planted) -> None:
    operator = OutOfMemory(small.A.reshape(400, -1), (20, 15))
    with pytest.raises(
        MemoryError, match=r"ran out of memory: this problem needs about .* GB\. Use float32"
    ):
        rr.recover(operator, small.y, 2)


@pytest.mark.parametrize("error", [ValueError("a"), RuntimeError("RESOURCE_EXHAUSTED: 3 GB")])
def test_only_memory_errors_are_explained(error: Exception) -> None:
    expected = DeviceMemoryError if "RESOURCE" in str(error) else type(error)
    with pytest.raises(expected), explain_memory_errors(10**9):
        raise error


@pytest.mark.gpu
def test_gpu_without_free_memory_raises() -> None:
    torch = pytest.importorskip("torch")
    planted = plant(60, 50, 3, 20_000, library="torch", device="cuda", rng=1)
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((planted.A.nbytes + 2**26) / total)
    try:
        with pytest.raises(MemoryError, match="ran out of memory"):
            rr.recover(planted.A, planted.y, 3)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_free_memory_is_finite_on_a_gpu_only(xp: Any) -> None:
    array = xp.asarray([1.0])
    assert (0 < free_memory(array) < np.inf) == on_gpu(array)


def test_reduced_precision_is_warned_about(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    A, y = (torch.asarray(array, dtype=torch.float32) for array in (small.A, small.y))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.warns(ReducedPrecisionWarning, match="multiply float32 matrices in TF32"):
            rr.recover(A, y, 2)
        rr.recover(A.double(), y.double(), 2)  # a warning would be an error here
    finally:
        torch.set_float32_matmul_precision(before)


def test_products_keep_their_precision(xp: Any) -> None:
    """On a GPU, JAX rounds float32 factors to 10 bits by default."""
    matrix = np.random.default_rng(0).standard_normal((64, 64)).astype("float32")
    array = xp.asarray(matrix)
    with full_precision(array):
        product = to_numpy(array @ array)
    exact = matrix.astype(float) @ matrix.astype(float)
    assert np.linalg.norm(product - exact) < 1e-6 * np.linalg.norm(exact)
