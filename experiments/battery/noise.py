"""Noise of several distributions, each with a standard deviation of about one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _heteroscedastic(count: int, rng: np.random.Generator) -> Array:
    """The standard deviation varies by a factor of about three between measurements."""
    return rng.standard_normal(count) * np.exp(rng.normal(-0.25, 0.7, count))


NOISES: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "gaussian": lambda count, rng: rng.standard_normal(count),
    "uniform": lambda count, rng: rng.uniform(-np.sqrt(3), np.sqrt(3), count),
    "t3": lambda count, rng: rng.standard_t(3, count) / np.sqrt(3),
    "heteroscedastic": _heteroscedastic,
}
NONE, QUANTIZED = "none", "quantized"


def add_noise(kind: str, level: float, sizes: Array, y: Array, rng: np.random.Generator) -> Array:
    """Measurements with noise of standard deviation ``level`` · ``sizes``."""
    if kind == NONE:
        return y
    if kind == QUANTIZED:
        step = np.sqrt(12) * level * sizes
        return np.asarray(step * np.round(y / step))
    return y + level * sizes * NOISES[kind](len(y), rng)
