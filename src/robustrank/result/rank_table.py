"""The ranks that were compared when no rank was given, and how clear the choice is."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

# With a clear gap, the last component reduces the error of predictions by at least this factor.
_CLEAR = 3.0
# Ranks with errors within this factor predict about as well.
_SIMILAR = 1.3
# The largest rank that is looked for at first if none is given; then twice as high ones.
FIRST_RANKS = 10
# A component that the data has reduces what is left to less than this share.
PROGRESS = 0.9
# A fit that leaves more of the measurements than this does not describe them.
_NO_STRUCTURE = 0.7


@dataclass(frozen=True)
class RankRow:
    """A rank with the expected error of its prediction of a measurement that was not used.

    The error is estimated from the residuals and the degrees of freedom (generalized
    cross-validation); for sampled entries with noise, from entries that were left out.

    Attributes
    ----------
    rank
        The rank.
    error
        The expected error, relative to the typical size of a measurement.
    singular_value
        The smallest singular value of the matrix of this rank, relative to the largest.

    See Also
    --------
    robustrank.RankTable : The ranks that were compared.

    Examples
    --------
    >>> import robustrank as rr
    >>> rr.result.RankRow(rank=2, error=0.1, singular_value=0.5).rank
    2
    """

    rank: int
    error: float
    singular_value: float  # the smallest of a matrix of this rank, relative to the largest

    @classmethod
    def of(cls, singular_values: np.ndarray[Any, Any], error: float) -> RankRow:
        """The row of a matrix with these singular values.

        Parameters
        ----------
        singular_values
            All of them, largest first, of shape (rank,).
        error
            The expected error of a prediction, relative to the typical size of a measurement.
        """
        largest, smallest = float(singular_values[0]), float(singular_values[-1])
        return cls(len(singular_values), error, smallest / largest if largest > 0 else 0.0)


def left_out_error(noise: float, count: float, freedom: float) -> float:
    """The expected error for a measurement that was not used, by generalized cross-validation.

    ``noise`` is the size of the residuals of ``count`` measurements that were used, and ``freedom``
    the number of degrees of freedom of the fit.
    """
    beyond = count - freedom
    return noise * count / beyond if beyond > 0 else math.inf


@dataclass(frozen=True)
class RankTable:
    """The ranks that were compared, in increasing order, and the one that was chosen.

    ``print(table)`` shows it.

    Attributes
    ----------
    rows
        A ``RankRow`` for each rank.
    chosen
        The rank of the result.
    largest
        The rank of a matrix of this shape without any structure.

    See Also
    --------
    robustrank.recover : Called without a rank, it returns a result with this table.
    robustrank.complete : The same for a completion.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> table = rr.recover(planted.A, planted.y).rank_table
    >>> table.chosen, table.is_clear
    (2, True)
    >>> [row.rank for row in table.candidates]
    [2]
    """

    rows: tuple[RankRow, ...]
    chosen: int
    largest: int  # the rank of a matrix of this shape without any structure

    @property
    def is_clear(self) -> bool:
        """Whether a lower rank would predict clearly worse, and no higher rank clearly better.

        If it is not, other ranks describe the data as well, the ranks just below were not tried, or
        the rank is full: the singular values then have no gap.
        """
        errors = {row.rank: row.error for row in self.rows}
        # If ranks were skipped, the error may have fallen gradually.
        skipped = self.chosen > 1 and self.chosen - 1 not in errors
        if self.chosen == self.largest or skipped or not self._lower_ranks_are_worse:
            return False
        higher = [row.error for row in self.rows if row.rank > self.chosen]
        return min(higher, default=errors[self.chosen]) > errors[self.chosen] / _SIMILAR

    @property
    def _lower_ranks_are_worse(self) -> bool:
        """Whether every lower rank that was tried, or zero, predicts clearly worse."""
        errors = {row.rank: row.error for row in self.rows}
        lower = [row.error for row in self.rows if row.rank < self.chosen]
        return _CLEAR * errors.get(self.chosen, math.inf) <= min(lower, default=1.0)

    @property
    def candidates(self) -> tuple[RankRow, ...]:
        """The rows of the ranks that predict about as well as the best of them."""
        best = min(row.error for row in self.rows)
        return tuple(row for row in self.rows if row.error <= _SIMILAR * best)

    @property
    def sentence(self) -> str:
        """How the rank was chosen, in one sentence."""
        best = min(row.error for row in self.rows)
        if best > _NO_STRUCTURE:
            return (
                f"no low-rank structure was found: ranks up to {max(row.rank for row in self.rows)}"
                " were tried, and the best of them predicts a measurement with an error of "
                f"{best:.0%} of its size"
            )
        if self.chosen == self.largest and self._lower_ranks_are_worse:
            tried = ", ".join(str(row.rank) for row in self.rows if row.rank < self.chosen)
            worse = f" than lower ones; tried: {tried}" if tried else ""
            return f"{self.chosen}, full: it predicts measurements clearly better{worse}"
        if self.is_clear:
            return f"{self.chosen}, estimated: a lower rank predicts measurements clearly worse"
        others = [str(row.rank) for row in self.candidates if row.rank != self.chosen]
        also = f"; about as good: rank {', '.join(others)}" if others else ""
        return (
            f"{self.chosen}, estimated, but there is no clear gap between the ranks{also}; see "
            "rank_table"
        )

    def _cells(self) -> list[tuple[str, str, str]]:
        return [
            (
                f"{row.rank}{' *' if row.rank == self.chosen else ''}",
                f"{row.error:.3g}",
                f"{row.singular_value:.3g}",
            )
            for row in self.rows
        ]

    def __str__(self) -> str:
        head = ("rank", "prediction error", "smallest singular value")
        lines = [
            f"{rank:<6}{error:>18}{value:>26}" for rank, error, value in (head, *self._cells())
        ]
        return "\n".join([*lines, "* chosen; errors are relative to a typical measurement"])

    def _repr_html_(self) -> str:
        head = "<tr><th>rank</th><th>prediction error</th><th>smallest singular value</th></tr>"
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in self._cells()
        )
        return f"<table>{head}{rows}</table>"
