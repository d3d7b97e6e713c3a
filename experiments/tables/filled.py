"""What a method is: a function of a table with NaN for missing cells. What a problem for it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from experiments.rows import Row
from experiments.tables.hiding import Mask
from experiments.tables.sources import Matrix


@dataclass(frozen=True, eq=False)
class Filled:
    """A table without missing cells, and what a method says about it.

    ``expected`` is what is predicted for each cell, also for those that look right.
    ``outliers`` and ``row_outliers`` are True where the method considers a cell or row wrong;
    ``standard_errors`` are those of a prediction of each cell, with its noise; ``covariance`` and
    ``mean`` describe the correct rows. ``claimed`` tells whether the method vouches for the result.
    """

    values: Matrix
    outliers: Mask | None = None
    row_outliers: Mask | None = None
    standard_errors: Matrix | None = None
    covariance: Matrix | None = None
    mean: Matrix | None = None
    claimed: bool | None = None
    expected: Matrix | None = None


TableMethod = Callable[[Matrix], Filled]


class Problem(Protocol):
    """A table of which the truth is known."""

    @property
    def given(self) -> Matrix:
        """What methods are given; NaN where a cell is missing."""

    def about(self) -> Row:
        """Fields of a row that do not depend on the method."""

    def scored(self, filled: Filled) -> Row:
        """Fields of a row that describe the result of a method."""


class ProblemCell(Protocol):
    """Problems that differ only in their random numbers."""

    @property
    def key(self) -> str:
        """The setting as one line."""

    def seed(self, trial: int) -> int:
        """The seed of a trial."""

    def draw(self, trial: int) -> Problem:
        """The problem of a trial."""
