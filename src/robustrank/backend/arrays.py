"""The library, precision and device of an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_cupy_array,
    is_jax_array,
    is_numpy_array,
    is_torch_array,
    to_device,
)

# No static type describes "an array of any library that follows the standard".
Array = Any
Namespace = Any


def namespace(*arrays: Array) -> Namespace:
    """The array-API namespace of the given arrays; that of NumPy is NumPy itself."""
    # Called often, and the time matters for small problems.
    for array in arrays:
        if type(array) is not np.ndarray:
            return array_namespace(*arrays)
    return np


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """The same values as a NumPy array in host memory."""
    movable = is_torch_array(array) or is_cupy_array(array)
    return np.asarray(to_device(array, "cpu") if movable else array)


def like(array: Array) -> dict[str, Any]:
    """The dtype and device of an array, as keyword arguments of a creation function."""
    return {"dtype": array.dtype, "device": device(array)}


def library(array: Array) -> str:
    """The import name of the library of an array."""
    return str(namespace(array).__name__).removeprefix("array_api_compat.").split(".")[0]


def check_same_device(A: Array, y: Array, names: tuple[str, str] = ("A", "y")) -> None:
    """Raise unless two arrays belong to one library and one device; ``names`` are for messages."""
    first, second = names
    if library(A) != library(y):
        raise TypeError(
            f"{first} is a {library(A)} array and {second} is a {library(y)} array; expected the "
            f"same library: convert {second} with {library(A)}'s asarray"
        )
    if device(A) != device(y):
        raise ValueError(
            f"{first} is on {device(A)} and {second} is on {device(y)}; expected the same device: "
            f"move {second} to {device(A)}"
        )


def is_array(values: Any) -> bool:
    """Whether the values are an array of a supported library."""
    return bool(is_array_api_obj(values))


def is_numpy(values: Any) -> bool:
    """Whether the values are a NumPy array."""
    return bool(is_numpy_array(values))


def has_double_precision(array: Array) -> bool:
    """Whether the array's library computes in float64; JAX does only with jax_enable_x64."""
    if not is_jax_array(array):
        return True
    import jax

    config: Any = jax.config  # not typed there
    return bool(config.jax_enable_x64)


def epsilon(array: Array) -> float:
    """The machine epsilon of the array's dtype."""
    return float(namespace(array).finfo(array.dtype).eps)


def tiny(array: Array) -> float:
    """The smallest positive normal number of the array's dtype, to avoid division by zero."""
    return float(namespace(array).finfo(array.dtype).smallest_normal)


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_CONVERTED = dict.fromkeys(_INTEGERS | {"bool"}, "float64") | {
    "float16": "float32",
    "bfloat16": "float32",
}


def floating_dtype(array: Array, name: str) -> str:
    """The dtype in which real numbers are used here, ``"float32"`` or ``"float64"``.

    Integers and booleans are used as float64, or as float32 if JAX has float64 switched off, and
    half-precision numbers as float32. Raises for other dtypes; ``name`` is that of the array.
    """
    given = dtype_name(array)
    used = given if given in ("float32", "float64") else _CONVERTED.get(given)
    if used is None and "complex" in given:
        raise TypeError(
            f"{name} has dtype {array.dtype}; expected float32 or float64. Complex numbers are not "
            "supported. If the matrix is real, the real and the imaginary part of a measurement "
            "are two measurements: pass np.concatenate([A.real, A.imag]), and y in the same way"
        )
    if used is None:
        raise TypeError(
            f"{name} has dtype {array.dtype}; expected float32 or float64, or integers or booleans,"
            f' which are converted. Convert it first, for example with {name}.astype("float64")'
        )
    return used if has_double_precision(array) else "float32"


def as_floating(array: Array, name: str) -> Array:
    """The array in its ``floating_dtype``, not copied unless it must be converted."""
    used = floating_dtype(array, name)
    if is_numpy(array):
        converted = array.astype(array.dtype.newbyteorder("="), copy=False)
        converted = converted.astype(used, copy=False)
    else:
        xp = namespace(array)
        converted = xp.astype(array, getattr(xp, used), copy=False)
    if dtype_name(array) in _INTEGERS:
        check_exact(converted, name)
    return converted


def check_exact(converted: Array, name: str) -> None:
    """Raise if integers that were converted to this array may have been rounded."""
    bits = 1 - round(math.log2(epsilon(converted)))
    xp = namespace(converted)
    if bool(xp.any(xp.abs(converted) >= 2.0**bits)):
        raise ValueError(
            f"{name} contains integers of 2^{bits} or more, which {dtype_name(converted)} cannot "
            f"represent exactly; scale them down, or round them with {name}.astype"
            f'("{dtype_name(converted)}")'
        )


def dtype_name(array: Array) -> str:
    """The name of the dtype of an array, without the library and the byte order."""
    if is_numpy(array):
        return str(array.dtype.newbyteorder("=").name)
    return str(array.dtype).rpartition(".")[2]


def reject_masked(values: Any, name: str) -> None:
    """Raise for a masked array, because the meaning of its mask is ambiguous here."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored; remove the masked "
            "measurements from A and y, or fill in values with .filled(...)"
        )
