"""The one room that knows array libraries.

Everything numeric is written against the array API standard; what the standard lacks (selection in
linear time, a truncated SVD, a norm that cannot overflow) is here, once.
"""

from __future__ import annotations

import math
import numbers as numbers_abc
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import array_api_extra as xpx
import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_cupy_array,
    is_jax_array,
    is_numpy_namespace,
    is_torch_array,
    to_device,
)

# No static type describes "an array of any library that follows the standard".
Array = Any
Namespace = Any

Seed = int | np.random.Generator | None

# Below this size a thin dense SVD is faster than a Lanczos one.
_DENSE_SVD_LIMIT = 600


def namespace(*arrays: Array) -> Namespace:
    """The array library that the given arrays belong to, in its standard dress."""
    return array_namespace(*arrays)


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """The same values as a NumPy array, brought to the host if need be."""
    on_card = is_torch_array(array) or is_cupy_array(array)
    return np.asarray(to_device(array, "cpu") if on_card else array)


def like(array: Array) -> dict[str, Any]:
    """Arguments for a creation function, for the array's precision and device."""
    return {"dtype": array.dtype, "device": device(array)}


def library(array: Array) -> str:
    """The name of the library an array belongs to, as it is imported."""
    return str(namespace(array).__name__).removeprefix("array_api_compat.").split(".")[0]


def check_same_place(A: Array, y: Array) -> None:
    """Raise unless both arrays are of one library and on one device, saying how to move y."""
    if library(A) != library(y):
        raise TypeError(
            f"A is a {library(A)} array and y a {library(y)} one; expected both of one library: "
            f"convert y with {library(A)}'s asarray"
        )
    if device(A) != device(y):
        raise ValueError(
            f"A is on {device(A)} and y on {device(y)}; expected both on one device: "
            f"move y to {device(A)}"
        )


def move(array: Any, target: str) -> Array:
    """The array on a device, ``"cpu"`` or ``"cuda"`` or ``"cuda:1"``; a NumPy array by PyTorch."""
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


def _move_with_torch(array: Any, kind: str, target: str) -> Array:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={target!r} needs PyTorch for NumPy arrays; install it with: pip install torch"
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"PyTorch sees no CUDA device for device={target!r}; leave device out")
    moved = array if is_torch_array(array) else np.asarray(array)
    try:
        return torch.asarray(moved, device=target)
    except torch.cuda.OutOfMemoryError as error:
        size = moved.nbytes / 1e9
        raise MemoryError(
            f"{size:.1f} GB do not fit on {target}; use float32, or leave device out (a "
            "memory-mapped file is then read in blocks)"
        ) from error


def full_precision(array: Array) -> AbstractContextManager[Any]:
    """A context in which products of such arrays keep their precision.

    JAX on a card would multiply single precision with ten bits unless told otherwise. PyTorch and
    CuPy do not, unless the user asked for it, and then it is the user's choice.
    """
    if not is_jax_array(array):
        return nullcontext()
    import jax

    context: AbstractContextManager[Any] = jax.default_matmul_precision("highest")
    return context


def epsilon(array: Array) -> float:
    """The rounding unit of the array's precision."""
    return float(namespace(array).finfo(array.dtype).eps)


def refuse_masked(values: Any, name: str) -> None:
    """Raise for a masked array: what its mask means here is the user's to say."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be ignored; remove the masked "
            "measurements from A and y, or fill them in with .filled(...)"
        )


def check_positive(**numbers: Any) -> None:
    """Raise for the first argument that is not a positive, finite number, by its name."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, numbers_abc.Real):
            raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected a number")
        if not 0 < float(value) < math.inf:
            raise ValueError(f"{name}={value}; expected a positive number")


def check_count(**numbers: Any) -> None:
    """Raise for the first argument that is not a whole number of at least one, by its name."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, numbers_abc.Integral):
            raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected an integer")
        if value < 1:
            raise ValueError(f"{name}={value}; expected at least 1")


def as_generator(rng: Any) -> np.random.Generator:
    """The generator that ``rng`` stands for: itself, seeded by an integer, or fresh."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or not 0 <= rng < 2**63:
        raise ValueError(
            f"rng={rng!r}; expected an integer from 0 to 2^63 - 1, a numpy Generator or None"
        )
    return np.random.default_rng(int(rng))


def quantile_index(m: int, p: float) -> int:
    """Where the sample p-quantile stands among m sorted values, counted from zero.

    The paper's θ_p is inf{x : F(x) ≥ p} with F the empirical distribution, so this is the smallest
    k with (k + 1)/m ≥ p. The division is compared as it rounds: p·m alone would be off by one for
    0.07 and m = 100.
    """
    if not 0 < p < 1:
        raise ValueError(f"p={p} is not a quantile; expected 0 < p < 1")
    k = max(math.ceil(p * m) - 1, 0)
    if k > 0 and k / m >= p:
        k -= 1
    return k


def sample_quantile(values: Array, p: float) -> Array:
    """θ_p of a sample, as a zero-dimensional array: one of the values, never an average of two."""
    m = values.shape[0]
    if m == 0:
        raise ValueError("an empty sample has no quantile")
    k = quantile_index(m, p)
    if is_torch_array(values):
        return values.kthvalue(k + 1).values
    return xpx.partition(values, k, xp=namespace(values))[k]


def lower_median(values: Array) -> Array:
    """The paper's median, θ_½: ``sorted(values)[(m - 1) // 2]``."""
    return sample_quantile(values, 0.5)


def frobenius_norm(array: Array) -> Array:
    """The root of the sum of squares, for entries of any size that the dtype holds."""
    xp = namespace(array)
    flat = xp.reshape(array, (-1,))
    largest = xp.max(xp.abs(flat))
    safe = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    return safe * xp.linalg.vector_norm(flat / safe)


def spectral_norm(tall: Array) -> Array:
    """The largest singular value of a thin matrix; NaN where it is not finite."""
    xp = namespace(tall)
    if not bool(xp.all(xp.isfinite(tall))):
        return xp.asarray(xp.nan, **like(tall))
    return xp.max(xp.linalg.svdvals(tall))


def leading_svd(
    matrix: Array, rank: int, rng: np.random.Generator, plus: tuple[Array, Array] | None = None
) -> tuple[Array, Array, Array]:
    """The leading singular triplets (left n1 × rank, values, right n2 × rank), largest first.

    With ``plus`` = (U, V) they are those of matrix + U Vᵀ.

    A large NumPy matrix goes through Lanczos, so that no n1 × n1 array is ever formed. A matrix
    that is not finite has no SVD, and its triplets are NaN.
    """
    xp = namespace(matrix)
    if plus is not None:
        matrix = matrix + plus[0] @ xp.matrix_transpose(plus[1])
    if not bool(xp.all(xp.isfinite(matrix))):
        return tuple(xp.full(s, xp.nan, **like(matrix)) for s in _svd_shapes(matrix, rank))
    if is_numpy_namespace(xp) and min(matrix.shape) > max(_DENSE_SVD_LIMIT, 8 * rank):
        from scipy.sparse.linalg import svds

        start = rng.standard_normal(min(matrix.shape)).astype(matrix.dtype)
        left, values, right_t = svds(matrix, k=rank, v0=start)
        order = np.argsort(-values)
        left, values, right_t = left[:, order], values[order], right_t[order]
    else:
        left, values, right_t = xp.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank], values[:rank], xp.matrix_transpose(right_t[:rank, :])


def _svd_shapes(matrix: Array, rank: int) -> tuple[tuple[int, ...], ...]:
    return (matrix.shape[0], rank), (rank,), (matrix.shape[1], rank)
