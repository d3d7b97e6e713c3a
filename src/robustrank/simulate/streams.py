"""Random streams that depend on a seed and a purpose, and on nothing else.

Each purpose has its own stream, so that another outlier model leaves the sensing data as it was.
Each sensing row has its own counter, so that row i is the same however many rows are drawn.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from robustrank.backend import as_generator


class Purpose(IntEnum):
    """What a stream is drawn for. The numbers are part of the seed: never renumber."""

    FACTORS = 0
    SENSING = 1
    SUPPORT = 2
    OUTLIERS = 3
    NOISE = 4
    IMPOSTOR = 5


def seed_of(rng: int | np.random.Generator | None) -> int:
    """One integer that stands for ``rng``: itself, a draw from the generator, or fresh entropy."""
    generator = as_generator(rng)  # refuses what is no seed
    return int(rng) if isinstance(rng, (int, np.integer)) else int(generator.integers(2**63))


def stream(seed: int, purpose: Purpose) -> np.random.Generator:
    """The generator of one purpose."""
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose)))


def sensing_rows(
    seed: int, first: int, count: int, size: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows ``first`` to ``first + count`` of the Gaussian sensing data, (count, size)."""
    key = _key(seed, Purpose.SENSING)
    block = np.empty((count, size))
    for offset, row in enumerate(block):
        counter = np.asarray([0, 0, 0, first + offset], np.uint64)
        np.random.Generator(np.random.Philox(key=key, counter=counter)).standard_normal(out=row)
    return block


def _key(seed: int, purpose: Purpose) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.random.SeedSequence([seed, int(purpose)]).generate_state(2, np.uint64).view(np.uint64)
