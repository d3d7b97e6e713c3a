"""Validation of numbers and random seeds given by the user."""

from __future__ import annotations

import math
import numbers as numbers_abc
from typing import Any

import numpy as np

Seed = int | np.random.Generator | None

_LONGEST = 60  # characters of a value in a message


def check_positive(**numbers: Any) -> None:
    """Raise for the first argument that is not a positive finite number, naming it."""
    for name, value in numbers.items():
        if not 0 < _as_float(name, value) < math.inf:
            raise ValueError(f"{name}={shown(value)}; expected a positive finite number")


def check_not_negative(**numbers: Any) -> None:
    """Raise for the first argument that is not zero or a positive finite number, naming it."""
    for name, value in numbers.items():
        if not 0 <= _as_float(name, value) < math.inf:
            raise ValueError(f"{name}={shown(value)}; expected zero or a positive finite number")


def as_seconds(**duration: Any) -> float:
    """The argument as a positive number of seconds, which may be infinite."""
    ((name, value),) = duration.items()
    seconds = _as_float(name, value)
    if not seconds > 0:
        raise ValueError(f"{name}={shown(value)}; expected a positive number of seconds")
    return seconds


def check_count(**numbers: Any) -> None:
    """Raise for the first argument that is not an integer of at least 1, naming it."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, numbers_abc.Integral):
            kind = type(value).__name__
            raise TypeError(f"{name}={shown(value)} is a {kind}; expected an integer")
        if value < 1:
            raise ValueError(f"{name}={shown(value)}; expected at least 1")


def as_generator(rng: Any) -> np.random.Generator:
    """The generator for ``rng``: the generator itself, one with that seed, or a fresh one."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or not 0 <= rng < 2**63:
        raise ValueError(
            f"rng={shown(rng)}; expected an integer from 0 to 2^63 - 1, a numpy Generator or None"
        )
    return np.random.default_rng(int(rng))


def shown(value: Any) -> str:
    """A value in a message: numbers as they are printed, others as in code, long ones cut."""
    try:
        text = str(value) if isinstance(value, numbers_abc.Number) else repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "(a number of thousands of digits)"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _as_float(name: str, value: Any) -> float:
    """A real number as a float, infinite if it is too large for one."""
    if isinstance(value, bool) or not isinstance(value, numbers_abc.Real):
        kind = type(value).__name__
        raise TypeError(f"{name}={shown(value)} is a {kind}; expected a number")
    try:
        return float(value)
    except OverflowError:
        return -math.inf if bool(value < 0) else math.inf
