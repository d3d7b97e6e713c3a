"""Draws of missing cells, with the uncertainty of the model: multiple imputation."""

from __future__ import annotations

import numpy as np

from robustrank.tables.factors import Distribution
from robustrank.tables.normal import blocks
from robustrank.tables.units import Mask, Values


def drawn_rows(normal: Distribution, table: Values, used: Mask, rng: np.random.Generator) -> Values:
    """The used cells, and random values for the others, given the used ones of their row.

    A row is drawn from the normal distribution, and the others get what they would be expected to
    be, plus how far this draw is from what would be expected of it (Matheron's rule).
    """
    about_zero = normal.with_mean(np.zeros_like(normal.mean))
    filled = table.copy()
    for rows in blocks(used):
        random = normal.random(len(rows), rng)
        difference = np.where(used[rows], table[rows] - random, 0.0)
        correction = about_zero.given(difference, used[rows])
        filled[rows] = np.where(used[rows], table[rows], random + correction.completed)
    return filled
