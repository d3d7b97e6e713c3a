"""GPUs: which arrays are on one, moving arrays there, memory, precision, kernels, CUDA graphs."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import (
    device,
    is_cupy_array,
    is_jax_array,
    is_numpy_array,
    is_torch_array,
    to_device,
)

from robustrank.backend.arrays import Array, library, to_numpy
from robustrank.backend.calling import warn_user


class DeviceMemoryError(MemoryError):
    """A device ran out of memory; the message says how much is needed and what to do.

    Use float32, free other arrays on the device, reduce ``batch`` of ``recover_many``, or solve the
    problem on the CPU, where a memory-mapped file is read in blocks.

    See Also
    --------
    robustrank.recover : Its parameter ``device`` chooses the device.
    robustrank.recover_many : Its parameter ``batch`` is the number of problems in memory.
    """


class ReducedPrecisionWarning(UserWarning):
    """Matrix products are computed with fewer bits than the arrays have.

    PyTorch is set to multiply float32 matrices in TF32, which limits the accuracy to about 1e-3.
    Call ``torch.set_float32_matmul_precision("highest")`` first, or use float64.

    See Also
    --------
    robustrank.recover : Accepts PyTorch arrays.
    """


def on_gpu(array: Array) -> bool:
    """Whether the array is in GPU memory."""
    if is_torch_array(array):
        return bool(array.is_cuda)
    if is_jax_array(array):
        return bool(device(array).platform == "gpu")
    return bool(is_cupy_array(array))


def on_torch_gpu(array: Array) -> bool:
    """Whether the array is a PyTorch tensor in GPU memory."""
    return is_torch_array(array) and on_gpu(array)


def few_on_host(values: Array, axes: int) -> Array:
    """A few numbers of one problem in host memory if a GPU has computed them.

    Launching an operation on a GPU takes longer than computing it for a few numbers on the host.
    Arrays with more than ``axes`` axes belong to a batch of problems, and stay where they are.
    """
    return to_numpy(values) if values.ndim == axes and on_gpu(values) else values


def move(array: Any, target: str) -> Array:
    """The array on ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; NumPy arrays become PyTorch tensors."""
    kind, _, index = str(target).partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdigit()):
        raise ValueError(f'device={target!r} is not known; expected "cpu", "cuda" or "cuda:0"')
    if is_jax_array(array):
        import jax

        try:
            return jax.device_put(array, jax.devices(kind)[int(index or 0)])
        except (RuntimeError, IndexError) as error:
            raise ValueError(f"JAX has no device {target}: {error}") from error
    if is_cupy_array(array):
        return to_device(array, "cpu") if kind == "cpu" else array
    if not is_torch_array(array) and kind == "cpu":
        return array
    return _move_with_torch(array, kind, target)


def move_to_device_of(array: Any, other: Array) -> Array:
    """An array of NumPy or of the other array's library, moved to the other array's device.

    A CuPy array in host memory is a NumPy array, so beside a NumPy array it becomes one.
    """
    if is_cupy_array(array) and is_numpy_array(other):
        return to_device(array, "cpu")
    if not (is_numpy_array(array) or library(array) == library(other)):
        return array  # of a third library: Problem raises an error that explains it
    if is_torch_array(other):
        import torch

        return torch.asarray(array, device=other.device)
    if is_jax_array(other):
        import jax

        return jax.device_put(array, device(other))
    if is_cupy_array(other):
        import cupy

        with other.device:
            return cupy.asarray(array)
    return array


def _move_with_torch(array: Any, kind: str, target: str) -> Array:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={target!r} needs PyTorch for NumPy arrays; install it with: pip install torch"
        ) from error
    given = array if is_torch_array(array) else np.asarray(array)
    if given.dtype == object:
        raise TypeError(
            f"a {type(array).__name__} cannot be moved to device={target!r}; expected an array: "
            "omit device"
        )
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"PyTorch finds no CUDA device for device={target!r}; omit device")
    return torch.asarray(given, device=target)


@contextmanager
def explain_memory_errors(needed: int, or_else: str = "") -> Iterator[None]:
    """Turn a library's out-of-memory error into a DeviceMemoryError; ``needed`` is in bytes."""
    try:
        yield
    except Exception as error:
        # The name of the error type in PyTorch and CuPy; JAX has no type for it.
        short = type(error).__name__ == "OutOfMemoryError" or "RESOURCE_EXHAUSTED" in str(error)
        if not short:
            raise
        raise DeviceMemoryError(
            f"the device ran out of memory: this problem needs about {needed / 1e9:.2g} GB. Use "
            f"float32, free other arrays on the device, {or_else + ', ' if or_else else ''}or "
            "solve it on the CPU, where a memory-mapped file is read in blocks"
        ) from error


def free_memory(array: Array) -> float:
    """Free bytes on the GPU that holds an array; infinity for an array in host memory."""
    if on_torch_gpu(array):
        import torch

        kept = torch.cuda.memory_reserved(array.device) - torch.cuda.memory_allocated(array.device)
        return float(torch.cuda.mem_get_info(array.device)[0] + kept)
    if is_jax_array(array) and on_gpu(array):
        known = device(array).memory_stats() or {"bytes_limit": math.inf, "bytes_in_use": 0}
        return float(known["bytes_limit"] - known["bytes_in_use"])
    if is_cupy_array(array):
        import cupy

        return float(array.device.mem_info[0] + cupy.get_default_memory_pool().free_bytes())
    return math.inf


@dataclass(frozen=True)
class Gpu:
    """A GPU as PyTorch reports it."""

    device: str  # such as "cuda:0"
    name: str
    memory: int  # bytes
    free: int  # bytes

    def copy_bandwidth(self, size: int = 2**30, repeats: int = 10) -> float:
        """Bytes read and written per second while copying ``size`` bytes, the best of some runs."""
        import torch

        size = min(size, self.free // 4)
        source = torch.zeros(size, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        times = []
        for _ in range(repeats + 1):  # the first one includes start-up costs
            torch.cuda.synchronize(self.device)
            began = time.perf_counter()
            target.copy_(source)
            torch.cuda.synchronize(self.device)
            times.append(time.perf_counter() - began)
        return 2 * size / min(times[1:])


def gpus() -> list[Gpu]:
    """The GPUs that PyTorch can use; an empty list if PyTorch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    found = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        found.append(Gpu(f"cuda:{index}", torch.cuda.get_device_name(index), total, free))
    return found


def full_precision(array: Array) -> AbstractContextManager[Any]:
    """A context in which matrix products of such arrays keep their precision.

    On a GPU, JAX multiplies float32 arrays in TF32 (10-bit mantissa) by default. PyTorch
    does so only if it is enabled for the whole process; this setting is left alone, with a warning.
    """
    if is_torch_array(array) and "float32" in str(array.dtype):
        import torch

        if torch.get_float32_matmul_precision() != "highest":
            warn_user(
                "PyTorch is set to multiply float32 matrices in TF32, which limits the accuracy to "
                'about 1e-3; call torch.set_float32_matmul_precision("highest") first',
                ReducedPrecisionWarning,
            )
    if not is_jax_array(array):
        return nullcontext()
    import jax

    context: AbstractContextManager[Any] = jax.default_matmul_precision("highest")
    return context


def triton_kernels_for(array: Array) -> Any:
    """The functions of ``gpu_kernels`` for a PyTorch array on a GPU if Triton works; else None."""
    return _triton_kernels() if on_torch_gpu(array) else None


@functools.cache
def _triton_kernels() -> Any:
    try:
        import torch

        from robustrank.backend import gpu_kernels

        gpu_kernels.kth_smallest(torch.ones(2, device="cuda"), 0)
    except Exception:  # not installed, a GPU that is too old, or no C compiler
        return None
    return gpu_kernels


def capture_graph(
    function: Callable[[tuple[Array, ...]], tuple[Array, ...]], arrays: tuple[Array, ...]
) -> Callable[[tuple[Array, ...], int], tuple[Array, ...]] | None:
    """The function as a CUDA graph that can be replayed; None if the library has no graphs.

    Each replay is a single launch. The function must have run before on arrays of the same shapes
    and must not read values on the host. Arrays other than its arguments are read from the same
    memory at every replay.
    """
    if not on_torch_gpu(arrays[0]):
        return None
    import torch

    with torch.cuda.device(arrays[0].device):
        inputs = tuple(array.clone() for array in arrays)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for fixed, output in zip(inputs, function(inputs), strict=True):
                if output is not fixed:
                    fixed.copy_(output)

    def replay(arrays: tuple[Array, ...], times: int) -> tuple[Array, ...]:
        for fixed, given in zip(inputs, arrays, strict=True):
            fixed.copy_(given)
        for _ in range(times):
            graph.replay()
        return tuple(array.clone() for array in inputs)

    return replay
