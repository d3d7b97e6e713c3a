"""Random streams that depend only on a seed and a purpose.

Each purpose has its own stream, so that changing the outlier model does not change the sensing
data. Each sensing row has its own counter, so that row i is the same for any number of rows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from robustrank.backend import as_generator


class Purpose(IntEnum):
    """The use of a stream. The numbers are part of the seed and must not be changed."""

    FACTORS = 0
    SENSING = 1
    SUPPORT = 2
    OUTLIERS = 3
    NOISE = 4
    IMPOSTOR = 5


def seed_from(rng: int | np.random.Generator | None) -> int:
    """The seed itself, an integer drawn from the generator, or a random one for None."""
    generator = as_generator(rng)  # raises if it is not a seed
    return int(rng) if isinstance(rng, (int, np.integer)) else int(generator.integers(2**63))


def stream(seed: int, purpose: Purpose) -> np.random.Generator:
    """The random generator for one purpose."""
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose)))


def sensing_seed(seed: int) -> int:
    """The seed with which the sensing data of a planted problem is drawn.

    The sensing data of ``plant_seeded`` and of libraries other than NumPy is drawn by a generator
    of its own, with this seed.

    Parameters
    ----------
    seed
        The ``seed`` of a ``Planted`` problem.

    See Also
    --------
    robustrank.simulate.plant_seeded : Problems whose sensing data follows from a seed.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_seeded(12, 9, 2, 600, rng=1)
    >>> A = rr.operators.Seeded(600, (12, 9), seed=rr.simulate.sensing_seed(planted.seed))
    >>> bool(abs(A.measure(planted.left, planted.right) - planted.y).max() < 1e-9)
    True
    """
    return int(stream(seed, Purpose.SENSING).integers(2**63))


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
