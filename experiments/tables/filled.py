"""What a method returns, and what it is: a function of a table with NaN for missing cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.tables.hiding import Mask
from experiments.tables.sources import Matrix


@dataclass(frozen=True, eq=False)
class Filled:
    """A table without missing cells, and what a method says about it.

    ``outliers`` and ``row_outliers`` are True where the method considers a cell or row wrong;
    ``standard_errors`` are those of a prediction of each cell, with its noise; ``covariance`` and
    ``mean`` describe the correct rows.
    """

    values: Matrix
    outliers: Mask | None = None
    row_outliers: Mask | None = None
    standard_errors: Matrix | None = None
    covariance: Matrix | None = None
    mean: Matrix | None = None


TableMethod = Callable[[Matrix], Filled]
