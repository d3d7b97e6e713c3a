"""Sampled entries with their values, sorted by rows and by columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, inverse_permutation, like, namespace
from robustrank.linalg import Point, lower_median, scale_columns
from robustrank.operators import Entries, SortedEntries
from robustrank.theory import half_normal_quantile


@dataclass(frozen=True, eq=False)
class Sample:
    """Observed values of a matrix, in the order of ``by_rows`` and of ``by_columns``.

    A low-rank matrix is P Qᵀ; P has a row for each row of the matrix, and Q for each column.
    """

    by_rows: SortedEntries
    by_columns: SortedEntries
    row_values: Array
    column_values: Array
    row_places: Array  # for each entry in the order of the columns, its place in that of the rows
    column_places: Array  # and the other way round

    @staticmethod
    def of(entries: Entries, values: Array) -> Sample:
        """The sample of values in the order of the entries as they were given."""
        take = namespace(values).take
        row_places = take(entries.row_places, entries.column_order)
        return Sample(
            by_rows=entries.by_rows,
            by_columns=entries.by_columns,
            row_values=take(values, entries.row_order),
            column_values=take(values, entries.column_order),
            row_places=row_places,
            column_places=inverse_permutation(row_places),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.by_rows.rows, self.by_columns.rows

    @property
    def size(self) -> int:
        """The number of observed values."""
        return self.by_rows.size

    @cached_property
    def transposed(self) -> Sample:
        """The sample of the transposed matrix."""
        return Sample(
            by_rows=self.by_columns,
            by_columns=self.by_rows,
            row_values=self.column_values,
            column_values=self.row_values,
            row_places=self.column_places,
            column_places=self.row_places,
        )

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of normal values of the typical size; zeros do not count."""
        nonzero = self.row_values[self.row_values != 0]
        return robust_deviation(nonzero) if nonzero.shape[0] else 1.0

    def divided_by(self, rows: Array, columns: Array) -> Sample:
        """The sample with each value divided by a number for its row and one for its column."""
        take = namespace(rows).take
        values = {
            name: getattr(self, name) / (take(own, at.owners) * take(other, at.others))
            for name, at, own, other in (
                ("row_values", self.by_rows, rows, columns),
                ("column_values", self.by_columns, columns, rows),
            )
        }
        return replace(self, **values)

    def subset(self, kept: Array) -> Sample:
        """The sample of some entries; ``kept`` is boolean, in the order of the rows."""
        xp = namespace(kept)
        by_rows, row_chosen = _chosen(self.by_rows, kept)
        by_columns, column_chosen = _chosen(self.by_columns, xp.take(kept, self.row_places))
        ints = like(self.row_places)
        number = xp.cumulative_sum(xp.astype(kept, ints["dtype"]), dtype=ints["dtype"]) - 1
        row_places = xp.take(number, xp.take(self.row_places, column_chosen))
        return Sample(
            by_rows=by_rows,
            by_columns=by_columns,
            row_values=xp.take(self.row_values, row_chosen),
            column_values=xp.take(self.column_values, column_chosen),
            row_places=row_places,
            column_places=inverse_permutation(row_places),
        )

    def thinned(self, most: int, rng: np.random.Generator) -> tuple[Sample, Array]:
        """A random part of the sample, and which entries are in it, in the order of the rows.

        Rows and columns with more than about ``most`` entries keep that number of them; the others
        keep all.
        """
        xp = namespace(self.row_values)
        by_rows, by_columns = self.by_rows, self.by_columns
        fewest = xp.minimum(
            xp.take(by_rows.counts, by_rows.owners), xp.take(by_columns.counts, by_rows.others)
        )
        drawn = xp.asarray(rng.random(self.size), **like(self.row_values))
        kept = drawn * xp.astype(fewest, self.row_values.dtype) < most
        return self.subset(kept), kept

    def fit_rows(self, P: Array, Q: Array, width: float, ridge: float) -> Array:
        """P fitted again, given Q; see ``SortedEntries.fit``."""
        return self.by_rows.fit(self.row_values, P, Q, width, ridge)

    def in_both_orders(self, values: Array) -> tuple[Array, Array]:
        """Values in the order of the rows, and the same in the order of the columns."""
        return values, namespace(values).take(values, self.row_places)

    def residual(self, P: Array, Q: Array) -> Array:
        """The residuals of P Qᵀ, in the order of the rows."""
        return self.row_values - self.by_rows.dot(P, Q)

    def residuals(self, point: Point) -> tuple[Array, Array]:
        """The residuals of a matrix, in the order of the rows and in that of the columns."""
        right = scale_columns(point.right, point.values)
        by_columns = self.transposed.residual(right, point.left)
        return self.residual(point.scaled_left, point.right), by_columns


def _chosen(entries: SortedEntries, kept: Array) -> tuple[SortedEntries, Array]:
    """The kept entries, and their places."""
    xp = namespace(kept)
    before = xp.cumulative_sum(xp.astype(kept, entries.starts.dtype), include_initial=True)
    chosen = xp.nonzero(kept)[0]
    starts = xp.take(before, entries.starts)
    return SortedEntries(starts, xp.take(entries.others, chosen)), chosen


def robust_deviation(residual: Array) -> float:
    """The standard deviation of normal numbers with the same median of absolute values."""
    median: Any = lower_median(namespace(residual).abs(residual))
    return float(median) / half_normal_quantile(0.5)
