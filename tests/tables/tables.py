"""Small tables of correlated normal rows."""

from __future__ import annotations

import numpy as np

from robustrank.tables.units import Mask, Values


def correlated(rows: int = 60, columns: int = 6, rank: int = 2, noise: float = 0.3) -> Values:
    """Rows of a factor model, the same in every call."""
    rng = np.random.default_rng(rows + 1000 * columns)
    low = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
    return np.asarray(low + noise * rng.standard_normal((rows, columns)))


def some(shape: tuple[int, int], share: float, seed: int = 0) -> Mask:
    """Random cells, but not the first two of a row."""
    chosen = np.random.default_rng(seed).random(shape) < share
    chosen[:, :2] = False
    return np.asarray(chosen)
