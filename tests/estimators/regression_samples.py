"""Planted regression problems with an intercept and outliers in the targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Regression:
    """Targets <X_i, M> + b, of which some are outliers; X is (samples, n1, n2)."""

    X: Array
    y: Array
    clean: Array  # the targets without outliers
    matrix: Array
    intercept: float
    outliers: Array


def regression(
    samples: int,
    shape: tuple[int, int] = (10, 8),
    rank: int = 2,
    *,
    intercept: float = 0.0,
    mean: float = 0.0,
    noise: float = 0.0,
    share: float = 0.2,
    outliers: str = "huge",
    seed: int = 0,
) -> Regression:
    """A planted problem; ``mean`` is the size of the means of the features."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    X = rng.standard_normal((samples, *shape)) + mean * rng.standard_normal(shape)
    exact = np.sum(X * M, axis=(1, 2))
    size = float(np.std(exact))
    clean = exact + intercept + noise * size * rng.standard_normal(samples)
    wrong = np.zeros(samples, bool)
    wrong[rng.permutation(samples)[: round(share * samples)]] = True
    corrupted = {
        "huge": intercept + 100 * size * rng.standard_normal(samples),
        "alike": np.roll(clean, 1),
        "one-sided": clean + 10 * size * np.abs(rng.standard_normal(samples)),
        "offset": clean + 3 * size,
        "constant": np.full(samples, 1e4),
    }[outliers]
    return Regression(X, np.where(wrong, corrupted, clean), clean, M, intercept, wrong)
