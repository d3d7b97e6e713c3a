"""Array libraries by name, and random numbers drawn on a device."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from array_api_compat import device

from robustrank.backend.arrays import Array
from robustrank.backend.gpu import move

# Import name and pip name; a library is loaded only when it is used.
LIBRARIES = {"numpy": "numpy", "torch": "torch", "jax": "jax", "cupy": "cupy-cuda12x"}


def load_library(name: str) -> Any:
    """Import an array library; the error says how to install it."""
    if name not in LIBRARIES:
        known = ", ".join(map(repr, LIBRARIES))
        raise ValueError(f"library={name!r} is not known; expected one of {known}")
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"library={name!r} is not installed; install it with: pip install {LIBRARIES[name]}"
        ) from error


def empty_array(library: str, target: str | None) -> Array:
    """An empty array of a library on a device (None: its default device), with 64-bit numbers."""
    module = load_library(library)
    if library == "jax":
        if not module.config.jax_enable_x64:
            raise ValueError(
                "JAX has 64-bit numbers switched off; call "
                'jax.config.update("jax_enable_x64", True) first'
            )
        module = module.numpy
    empty = module.zeros(0)
    return empty if target is None else move(empty, target)


def standard_normal(
    shape: tuple[int, ...], dtype: str, seed: int, library: str, target: str | None
) -> Array:
    """Standard normal numbers drawn by a library on a device (None: its default device).

    A seed gives the same numbers wherever the library and the kind of device are the same.
    """
    module = load_library(library)
    if library == "torch":
        place = device(move(module.empty(0), target or "cpu"))
        generator = module.Generator(place).manual_seed(seed)
        return module.randn(shape, generator=generator, dtype=getattr(module, dtype), device=place)
    if library == "jax":
        if dtype == "float64" and not module.config.jax_enable_x64:
            raise ValueError(
                'JAX has float64 switched off; use dtype="float32", or call '
                'jax.config.update("jax_enable_x64", True) first'
            )
        high, low = divmod(seed, 2**32)
        key = module.random.fold_in(module.random.key(low), high)
        drawn = module.random.normal(key, shape, dtype)
        return drawn if target is None else move(drawn, target)
    drawn = module.random.default_rng(seed).standard_normal(shape, dtype)
    return drawn if target is None else move(drawn, target)
