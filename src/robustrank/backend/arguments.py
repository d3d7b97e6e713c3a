"""Validation of numbers and random seeds given by the user."""

from __future__ import annotations

import math
import numbers as numbers_abc
from typing import Any

import numpy as np

Seed = int | np.random.Generator | None


def check_positive(**numbers: Any) -> None:
    """Raise for the first argument that is not a positive finite number, naming it."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, numbers_abc.Real):
            raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected a number")
        if not 0 < float(value) < math.inf:
            raise ValueError(f"{name}={value}; expected a positive finite number")


def check_count(**numbers: Any) -> None:
    """Raise for the first argument that is not an integer of at least 1, naming it."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, numbers_abc.Integral):
            raise TypeError(f"{name}={value!r} is a {type(value).__name__}; expected an integer")
        if value < 1:
            raise ValueError(f"{name}={value}; expected at least 1")


def as_generator(rng: Any) -> np.random.Generator:
    """The generator for ``rng``: the generator itself, one with that seed, or a fresh one."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or not 0 <= rng < 2**63:
        raise ValueError(
            f"rng={rng!r}; expected an integer from 0 to 2^63 - 1, a numpy Generator or None"
        )
    return np.random.default_rng(int(rng))
