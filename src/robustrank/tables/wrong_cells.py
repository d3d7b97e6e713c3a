"""Which cells of a row contradict the others.

A correct cell differs from what the other correct cells of its row predict by normal noise. Of a
wrong cell only the column is known: its density is a Cauchy density in the robust units of the
column. Cells are rejected one after another, always the one for which this explains most more than
the normal model does, because a wrong cell also makes its neighbours look wrong. Then cells are
taken back in the same way, with the noise of rows that differ more from the model than others
made larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from robustrank.tables.normal import LOG_2_PI, ROUNDING, Normal
from robustrank.tables.units import Indices, Mask, Values

_MOST = 0.5  # of the cells of a row can be rejected
_MEDIAN = chdtri(1, 0.5)  # of the square of a standard normal number
_PRIOR = 4.0  # so many cells, with noise of the usual size, are added to those of each row
_ROWS = 4_000_000  # numbers in the matrices B of the rows that are treated at a time


@dataclass(frozen=True, eq=False)
class Cells:
    """A table, and which cells can be used and compared."""

    table: Values
    usable: Mask  # observed, and within the limits of the column
    tested: Mask  # (p,)
    share: float  # of wrong cells

    def log_odds(self, squares: Values, variances: Values) -> Values:
        """The log odds that cells are wrong, given their squared residuals and variances."""
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = -(LOG_2_PI + np.log(variances) + squares / variances) / 2
        odds = log_density_of_wrong(self.table) + math.log(self.share / (1 - self.share))
        return np.where(self.tested, odds - normal, -np.inf)

    def of(self, rows: Indices) -> Cells:
        """Some of the rows."""
        return Cells(self.table[rows], self.usable[rows], self.tested, self.share)


def log_density_of_wrong(table: Values) -> Values:
    """The log density of wrong cells, in robust units."""
    return -np.log(math.pi * (1 + table**2))


def row_scales(used: Mask, a: Values, diagonal: Values) -> Values:
    """How much larger than usual the noise variance of each row is, at least one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(used, a**2 / diagonal, np.nan)
    counts, typical = used.sum(axis=1), np.ones(len(used))
    some = counts > 0
    typical[some] = np.nanmedian(squares[some], axis=1) / _MEDIAN
    return np.asarray(np.maximum((_PRIOR + counts * typical) / (_PRIOR + counts), 1.0))


def consistent_cells(normal: Normal, cells: Cells) -> Mask:
    """The usable cells that do not contradict the others of their row."""
    given = normal.given(cells.table, cells.usable)
    squares = (given.a * given.variance()) ** 2
    odds = np.where(cells.usable, cells.log_odds(squares, given.variance()), -np.inf)
    suspicious = np.flatnonzero(odds.max(axis=1, initial=-np.inf) > 0)
    kept = cells.usable.copy()
    step = max(_ROWS // normal.covariance.size, 1)
    order = suspicious[np.argsort(cells.usable[suspicious].sum(axis=1), kind="stable")]
    for first in range(0, len(order), step):
        rows = order[first : first + step]
        search = _Search(normal, cells.of(rows))
        search.reject()
        search.take_back()
        kept[rows] = search.used
    return kept


class _Search:
    """The cells of a few rows, rejected and taken back one at a time in each row."""

    def __init__(self, normal: Normal, cells: Cells) -> None:
        self._normal, self._cells = normal, cells
        self.used = cells.usable.copy()
        self._B = normal.of_rows(self.used) * self.used[:, :, None] * self.used[:, None, :]
        centered = normal.centered(cells.table, self.used)
        self._a = (self._B @ centered[:, :, None])[:, :, 0]

    def reject(self) -> None:
        """Reject cells as long as one of a row is more probably wrong than not."""
        left = np.floor(_MOST * self.used.sum(axis=1))
        active = np.arange(len(self.used))
        while len(active):
            odds = self._odds_of_used(active)
            worst = odds.argmax(axis=1)
            more = (odds[np.arange(len(active)), worst] > 0) & (left[active] > 0)
            active, worst = active[more], worst[more]
            left[active] -= 1
            self._drop(active, worst)

    def take_back(self) -> None:
        """Take cells back that agree with the used ones, given the noise of their row."""
        scales = row_scales(self.used, self._a, np.einsum("ijj->ij", self._B))
        active = np.flatnonzero((self._cells.usable & ~self.used).any(axis=1))
        while len(active):
            residual, variance, gain = self._predicted(active)
            rejected = self._cells.usable[active] & ~self.used[active]
            scaled = variance * scales[active, None]
            odds = self._cells.of(active).log_odds(residual**2, scaled)
            odds = np.where(rejected, odds, np.inf)
            best, place = odds.argmin(axis=1), np.arange(len(active))
            more = odds[place, best] <= 0
            active, best, place = active[more], best[more], place[more]
            vector = -gain[place, :, best]
            vector[np.arange(len(active)), best] += 1
            root = np.sqrt(variance[place, best])[:, None]
            self._add(active, best, vector / root, residual[place, best] / root[:, 0])

    def _odds_of_used(self, rows: Indices) -> Values:
        diagonal = np.einsum("ijj->ij", self._B[rows])
        with np.errstate(divide="ignore", invalid="ignore"):
            squares, variances = (self._a[rows] / diagonal) ** 2, 1 / diagonal
        odds = self._cells.of(rows).log_odds(squares, variances)
        return np.where(self.used[rows], odds, -np.inf)

    def _drop(self, rows: Indices, columns: Indices) -> None:
        vector = self._B[rows, :, columns]
        root = np.sqrt(vector[np.arange(len(rows)), columns])[:, None]
        residual = self._a[rows, columns] / root[:, 0]
        vector = vector / root
        self._B[rows] -= vector[:, :, None] * vector[:, None, :]
        self._a[rows] -= vector * residual[:, None]
        self._B[rows, columns, :] = self._B[rows, :, columns] = 0.0
        self._a[rows, columns] = 0.0
        self.used[rows, columns] = False

    def _add(self, rows: Indices, columns: Indices, vector: Values, residual: Values) -> None:
        self._B[rows] += vector[:, :, None] * vector[:, None, :]
        self._a[rows] += vector * residual[:, None]
        self.used[rows, columns] = True

    def _predicted(self, rows: Indices) -> tuple[Values, Values, Values]:
        """Residual and variance of all cells given the used ones, and B Σ."""
        covariance = self._normal.covariance
        gain = self._B[rows] @ covariance
        expected = self._normal.mean + self._a[rows] @ covariance
        variance = np.diagonal(covariance) - np.einsum("jk,ikj->ij", covariance, gain)
        variance = np.maximum(variance, ROUNDING * np.diagonal(covariance))
        return self._cells.table[rows] - expected, variance, gain
