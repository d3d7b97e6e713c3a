"""The library, precision and device of an array."""

from __future__ import annotations

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
    """The array-API namespace of the given arrays."""
    return array_namespace(*arrays)


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


def check_same_device(A: Array, y: Array) -> None:
    """Raise unless A and y belong to one library and one device."""
    if library(A) != library(y):
        raise TypeError(
            f"A is a {library(A)} array and y is a {library(y)} array; expected the same library: "
            f"convert y with {library(A)}'s asarray"
        )
    if device(A) != device(y):
        raise ValueError(
            f"A is on {device(A)} and y is on {device(y)}; expected the same device: "
            f"move y to {device(A)}"
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


def reject_masked(values: Any, name: str) -> None:
    """Raise for a masked array, because the meaning of its mask is ambiguous here."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored; remove the masked "
            "measurements from A and y, or fill in values with .filled(...)"
        )
