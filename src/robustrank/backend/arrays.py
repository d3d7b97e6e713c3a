"""What any array has: a library, a precision, a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_cupy_array,
    is_jax_array,
    is_torch_array,
    to_device,
)

# No static type describes "an array of any library that follows the standard".
Array = Any
Namespace = Any


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


def is_array(values: Any) -> bool:
    """Whether values are an array of some library."""
    return bool(is_array_api_obj(values))


def has_double_precision(array: Array) -> bool:
    """Whether the array's library computes in double precision; JAX must be told to."""
    if not is_jax_array(array):
        return True
    import jax

    config: Any = jax.config  # not typed there
    return bool(config.jax_enable_x64)


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
