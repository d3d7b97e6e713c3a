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

from robustrank.tables.factors import Distribution, FactorNormal
from robustrank.tables.normal import LOG_2_PI, ROUNDING, Given, Normal, Unused, blocks
from robustrank.tables.units import Indices, Mask, Values

_MOST = 0.5  # of the cells of a row can be rejected
_MEDIAN = chdtri(1, 0.5)  # of the square of a standard normal number
_PART = 0.1  # of the largest log odds in a row: such cells are rejected together among many
_PRIOR = 4.0  # cells with noise of the usual size that are added to those of each row


@dataclass(frozen=True, eq=False)
class Cells:
    """A table, and which cells can be used and compared."""

    table: Values
    usable: Mask  # observed, and within the limits of the column
    tested: Mask  # (p,)
    share: float  # of wrong cells
    own: Values | None = None  # the shares of the rows in the factors; see ``factors``

    def log_odds(self, squares: Values, variances: Values) -> Values:
        """The log odds that cells are wrong, given their squared residuals and variances."""
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = -(LOG_2_PI + np.log(variances) + squares / variances) / 2
        odds = log_density_of_wrong(self.table) + math.log(self.share / (1 - self.share))
        return np.where(self.tested, odds - normal, -np.inf)

    def at(self, columns: Indices) -> Cells:
        """Some cells of each row; all of them are tested."""
        table = np.take_along_axis(self.table, columns, axis=1)
        usable = np.take_along_axis(self.usable, columns, axis=1)
        return Cells(table, usable, np.ones(columns.shape[1], bool), self.share)

    def of(self, rows: Indices | slice) -> Cells:
        """Some of the rows."""
        own = None if self.own is None else self.own[rows]
        return Cells(self.table[rows], self.usable[rows], self.tested, self.share, own)


def log_density_of_wrong(table: Values) -> Values:
    """The log density of wrong cells, in robust units."""
    return -np.log(math.pi * (1 + table**2))


def row_scales(used: Mask, a: Values, diagonal: Values) -> Values:
    """How much larger than usual the noise variance of each row is, at least one."""
    counts, typical = used.sum(axis=1), typical_squares(used, a, diagonal)
    return np.asarray(np.maximum((_PRIOR + counts * typical) / (_PRIOR + counts), 1.0))


def typical_squares(used: Mask, a: Values, diagonal: Values) -> Values:
    """The noise variance of each row, relative to the usual one, by the median of its cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(used, a**2 / diagonal, np.nan)
    counts, place = used.sum(axis=1), np.arange(len(used))
    ordered = np.sort(squares, axis=1)  # NaN last; much faster than nanmedian with many columns
    middle = [ordered[place, np.maximum(k, 0)] for k in ((counts - 1) // 2, counts // 2)]
    return np.where(counts > 0, np.mean(middle, axis=0) / _MEDIAN, 1.0)


def consistent_cells(normal: Distribution, cells: Cells, before: Mask | None = None) -> Given:
    """What the usable cells that do not contradict the others of their row say about its cells.

    With many columns, the search goes on from the cells that were used ``before``.
    """
    if isinstance(normal, FactorNormal):
        used = cells.usable if before is None else cells.usable & before
        parts = [
            _consistent_among_many(normal, cells.of(rows), used[rows].copy())
            for rows in normal.blocks(len(used))
        ]
        return Given.joined(parts) if len(parts) > 1 else parts[0]
    given = normal.given(cells.table, cells.usable)
    odds = cells.log_odds(given.left_out_squares(), given.variance())
    odds = np.where(cells.usable, odds, -np.inf)
    suspicious = odds.max(axis=1, initial=-np.inf) > 0
    kept = cells.usable.copy()
    for block in blocks(cells.usable[suspicious]):
        rows = np.flatnonzero(suspicious)[block]
        search = _Search(normal, given.of_rows(rows), cells.of(rows))
        search.reject()
        kept[rows] = search.used | search.taken_back()
    return normal.given(cells.table, kept)


def _consistent_among_many(normal: FactorNormal, cells: Cells, used: Mask) -> Given:
    """The same for many columns, of which none says much about the factors alone.

    So in each step all cells are rejected that look nearly as wrong as the worst of their row, and
    those that agree with the rest are taken back together.
    """
    given = normal.given(cells.table, used, cells.own)
    some, rows = cells, np.arange(len(used))
    while len(rows):
        now = given.of_rows(rows)
        odds = np.where(now.used, some.log_odds(now.left_out_squares(), now.variance()), -np.inf)
        wrong = odds > _PART * np.maximum(odds.max(axis=1, keepdims=True), 0.0)
        left = np.sum(now.used, axis=1) - np.ceil((1 - _MOST) * np.sum(some.usable, axis=1))
        for row in np.flatnonzero(wrong.sum(axis=1) > left):
            wrong[row, np.argsort(-odds[row])[max(int(left[row]), 0) :]] = False
        changed = wrong.any(axis=1)
        rows, left_in = rows[changed], (now.used & ~wrong)[changed]
        some = cells.of(rows)
        given.put(rows, normal.given(some.table, left_in, some.own))
    scales = row_scales(given.used, given.a, given.diagonal)[:, None]
    squares = (cells.table - given.completed) ** 2
    back = cells.log_odds(squares, given.variance() * scales) <= 0
    back &= cells.usable & ~given.used
    rows = np.flatnonzero(back.any(axis=1))
    some = cells.of(rows)
    given.put(rows, normal.given(some.table, (given.used | back)[rows], some.own))
    return given


class _Search:
    """The cells of a few rows, rejected and taken back one at a time in each row.

    If cell j is rejected, B loses v vᵀ with v = B_j / √B_jj. These vectors are kept instead of B.
    """

    def __init__(self, normal: Normal, given: Given, cells: Cells) -> None:
        self._normal, self._cells = normal, cells
        self.used = cells.usable.copy()
        self._unused = Unused.of(normal.precision, self.used)
        self._a, self._diagonal = given.a.copy(), given.diagonal.copy()
        self._rejected: list[Values] = []

    def reject(self) -> None:
        """Reject cells as long as one of a row is more probably wrong than not."""
        left = np.floor(_MOST * self.used.sum(axis=1))
        active = np.arange(len(self.used))
        while len(active):
            odds = self._odds(active)
            worst = odds.argmax(axis=1)
            more = (odds[np.arange(len(active)), worst] > 0) & (left[active] > 0)
            active, worst = active[more], worst[more]
            left[active] -= 1
            self._drop(active, worst)

    def taken_back(self) -> Mask:
        """The rejected cells that agree with the used ones, given the noise of their row."""
        rejected = self._cells.usable & ~self.used
        if not rejected.any():
            return rejected
        scales = row_scales(self.used, self._a, self._diagonal)
        most = int(rejected.sum(axis=1).max(initial=0))
        columns = np.argsort(~rejected, axis=1, kind="stable")[:, :most]
        residual, covariance = self._predicted(columns)
        cells, place = self._cells.at(columns), np.arange(len(columns))
        open_ = np.take_along_axis(rejected, columns, axis=1)
        back = np.zeros_like(rejected)
        while open_.any():
            variance = np.diagonal(covariance, axis1=1, axis2=2)
            odds = cells.log_odds(residual**2, variance * scales[:, None])
            best = np.where(open_, odds, np.inf).argmin(axis=1)
            more = open_[place, best] & (odds[place, best] <= 0)
            open_ &= more[:, None]
            open_[place, best] = False
            rows, chosen = place[more], best[more]
            back[rows, columns[rows, chosen]] = True
            own = covariance[rows, :, chosen]
            share = own / own[np.arange(len(rows)), chosen][:, None]
            residual[rows] -= share * residual[rows, chosen][:, None]
            covariance[rows] -= share[:, :, None] * own[:, None, :]
        return back

    def _odds(self, rows: Indices) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = 1 / self._diagonal[rows]
            squares = (self._a[rows] * variances) ** 2
        odds = self._cells.of(rows).log_odds(squares, variances)
        return np.where(self.used[rows], odds, -np.inf)

    def _drop(self, rows: Indices, columns: Indices) -> None:
        own = np.sqrt(self._diagonal[rows, columns])
        vector = self._unused.column(rows, columns)
        for earlier in self._rejected:
            vector -= earlier[rows] * earlier[rows, columns][:, None]
        vector = np.where(self.used[rows], vector, 0.0) / own[:, None]
        self._a[rows] -= vector * (self._a[rows, columns] / own)[:, None]
        least = ROUNDING * np.diagonal(self._normal.precision)
        self._diagonal[rows] = np.maximum(self._diagonal[rows] - vector**2, least)
        self._a[rows, columns], self._diagonal[rows, columns] = 0.0, 0.0
        self.used[rows, columns] = False
        kept = np.zeros_like(self._a)
        kept[rows] = vector
        self._rejected.append(kept)

    def _predicted(self, columns: Indices) -> tuple[Values, Values]:
        """The residuals of unused cells, and the covariance of the errors of their predictions."""
        given = self._normal.given(self._cells.table, self.used)
        residual = np.take_along_axis(self._cells.table - given.completed, columns, axis=1)
        return residual, Unused.of(self._normal.precision, self.used).covariance(columns)
