"""The observed entries in both orders, and the typical size of each row and column."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.backend import Array, epsilon, inverse_permutation, like, namespace, to_numpy
from robustrank.certificate import relative_tolerance
from robustrank.linalg import (
    Point,
    Triplets,
    half_normal_quantile,
    leading_svd_by_products,
    lower_median,
)
from robustrank.noise import Conditions, PossibleLaws
from robustrank.operators import Entries, EntryTangent, SortedEntries

Vector = np.ndarray[Any, Any]


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
    known_noise: Array | None = None  # relative sizes, in the order of the rows
    one: float = 1.0  # the number one in the units of the values
    laws: PossibleLaws | None = None  # by which the noise may grow with the entry

    @staticmethod
    def of(
        entries: Entries,
        values: Array,
        known_noise: Array | None = None,
        one: float = 1.0,
        laws: PossibleLaws | None = None,
    ) -> Sample:
        """The sample of values, in the order of the entries as they were given.

        So are the relative sizes of their noise if they are known.
        """
        take = namespace(values).take
        row_places = take(entries.row_places, entries.column_order)
        return Sample(
            by_rows=entries.by_rows,
            by_columns=entries.by_columns,
            row_values=take(values, entries.row_order),
            column_values=take(values, entries.column_order),
            row_places=row_places,
            column_places=inverse_permutation(row_places),
            known_noise=None if known_noise is None else take(known_noise, entries.row_order),
            one=one,
            laws=laws,
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
        """The deviation of the values, see ``typical_deviation``."""
        return typical_deviation(self.row_values)

    @property
    def relative_tolerance(self) -> float:
        """The largest |residual| of an exact fit, relative to the deviation."""
        return relative_tolerance(epsilon(self.row_values))

    @property
    def tolerance(self) -> float:
        """The largest |residual| of an exact fit."""
        return self.relative_tolerance * self.deviation

    def divided_by(self, rows: Array, columns: Array) -> Sample:
        """The sample with each value divided by a number for its row and one for its column."""
        take, at = namespace(rows).take, self.by_rows
        divided = self.row_values / (take(rows, at.owners) * take(columns, at.others))
        row_values, column_values = self.in_both_orders(divided)
        return replace(self, row_values=row_values, column_values=column_values)

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
            known_noise=None if self.known_noise is None else xp.take(self.known_noise, row_chosen),
            one=self.one,
            laws=self.laws,
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

    @property
    def conditions(self) -> Conditions:
        """What the noise may depend on."""
        return Conditions(
            count=self.size,
            row_factors=1.0,
            typical=self.deviation * half_normal_quantile(0.5),
            one=self.one,
            laws=self.laws,
            known=self.known_noise,
            groups={"rows": self.by_rows.owners, "columns": self.by_rows.others},
        )

    def fit_rows(self, P: Array, Q: Array, width: float, ridge: float) -> Array:
        """P fitted again, given Q; see ``SortedEntries.fit``."""
        return self.by_rows.fit(self.row_values, P, Q, width, ridge)

    def in_both_orders(self, values: Array) -> tuple[Array, Array]:
        """Values in the order of the rows, and the same in the order of the columns."""
        return values, namespace(values).take(values, self.row_places)

    def residual(self, P: Array, Q: Array) -> Array:
        """The residuals of P Qᵀ, in the order of the rows."""
        return self.row_values - self.by_rows.dot(P, Q)

    def within(self, P: Array, Q: Array, cutoff: float) -> Vector:
        """Which entries P Qᵀ fits up to a cutoff, a NumPy array in the order of the rows."""
        return to_numpy(abs(self.residual(P, Q)) <= cutoff)

    def count_by_row(self, chosen: Vector) -> Vector:
        """The number of chosen entries of each row; ``chosen`` is like the result of ``within``."""
        return np.bincount(to_numpy(self.by_rows.owners)[chosen], minlength=self.shape[0])

    def equations(self, i: int, chosen: Vector, Q: Vector) -> tuple[Vector, Vector]:
        """The V and y such that V p = y for row p of P, given Q, by the chosen entries of row i."""
        starts, others, values = self._on_host
        places = starts[i] + np.flatnonzero(chosen[starts[i] : starts[i + 1]])
        return Q[others[places]], values[places]

    @cached_property
    def _on_host(self) -> tuple[Vector, Vector, Vector]:
        at = self.by_rows
        return to_numpy(at.starts), to_numpy(at.others), to_numpy(self.row_values)

    def leading_svd(
        self, values: Array, rank: int, rng: np.random.Generator, *, approximate: bool = False
    ) -> Triplets:
        """The leading singular triplets of the matrix with these entries, and zero elsewhere.

        The values are in the order of the rows.
        """
        rows, columns = self.in_both_orders(values)
        return leading_svd_by_products(
            lambda V: self.by_rows.sums(rows, V),
            lambda U: self.by_columns.sums(columns, U),
            self.shape,
            rank,
            rng,
            example=rows[:1],
            approximate=approximate,
        )

    @property
    def zero(self) -> Point:
        """The zero matrix, which has no components."""
        xp, values = namespace(self.row_values), self.row_values
        left, right = (xp.zeros((n, 0), **like(values)) for n in self.shape)
        return Point(left, values[:0], right)

    def tangent(self, point: Point) -> EntryTangent:
        """The map from changes of the factors to those of the entries, in the order of the rows."""
        places = self.by_rows, self.by_columns, self.row_places
        return EntryTangent(*places, point.left, point.right)


def _chosen(entries: SortedEntries, kept: Array) -> tuple[SortedEntries, Array]:
    """The kept entries, and their places."""
    xp = namespace(kept)
    before = xp.cumulative_sum(xp.astype(kept, entries.starts.dtype), include_initial=True)
    chosen = xp.nonzero(kept)[0]
    starts = xp.take(before, entries.starts)
    return SortedEntries(starts, xp.take(entries.others, chosen)), chosen


def robust_deviation(residual: Array) -> float:
    """The standard deviation of normal numbers with the same median of absolute values."""
    return float(lower_median(abs(residual))) / half_normal_quantile(0.5)


def typical_deviation(values: Array) -> float:
    """The standard deviation of normal values of the typical size; zeros do not count."""
    nonzero = values[values != 0]
    return robust_deviation(nonzero) if nonzero.shape[0] else 1.0


# The level of the quantile of |value| that is the size of a row or column. It is below one half,
# so that large outliers among fewer than half of the values hardly change it.
_LEVEL = 0.3
_ITERATIONS = 6
# Many entries of a row: more would hardly change what is estimated from them.
MANY = 64


def row_and_column_scales(sample: Sample) -> tuple[Array, Array]:
    """Positive factors a and b such that |value| / (a_i b_j) has a size of about one everywhere.

    The logarithm of |value| is modelled as the sum of a term of its row and one of its column, each
    the quantile of what the other leaves. Rows without a value other than zero have the scale one.
    """
    rows, columns = _logarithms(sample), _logarithms(sample.transposed)
    xp = namespace(sample.row_values)
    b = xp.zeros(sample.shape[1], **like(sample.row_values))
    for _ in range(_ITERATIONS):
        a = _quantiles(*rows, b)
        b = _quantiles(*columns, a)
    middle = lower_median(b)
    return xp.exp(a + middle), xp.exp(b - middle)


def _logarithms(sample: Sample) -> tuple[Array, Array]:
    """The logarithms of some nonzero values of each row, and their columns: a table each.

    The logarithm is infinite where a row has too few of them.
    """
    xp, entries = namespace(sample.row_values), sample.by_rows
    step = xp.clip(-(-entries.counts // MANY), min=1)  # every step-th entry of a row
    place = xp.arange(MANY, **like(entries.starts))[None, :] * step[:, None]
    exists = place < entries.counts[:, None]
    place = xp.where(exists, place + entries.starts[:-1, None], xp.zeros_like(place))
    flat = xp.reshape(place, (-1,))
    sizes = abs(xp.reshape(xp.take(sample.row_values, flat), place.shape))
    # Smaller values count as zero: others of a row with their size would overflow.
    least = math.cbrt(xp.finfo(sizes.dtype).smallest_normal) * sample.deviation
    used = exists & (sizes > least) & xp.isfinite(sizes)
    logarithms = xp.log(xp.where(used, sizes, xp.full_like(sizes, math.inf)))
    return logarithms, xp.reshape(xp.take(entries.others, flat), place.shape)


def _quantiles(logarithms: Array, columns: Array, subtracted: Array) -> Array:
    """The quantile of each row, less a number for each column; zero for rows without any."""
    xp = namespace(logarithms)
    shifts = xp.reshape(xp.take(subtracted, xp.reshape(columns, (-1,))), columns.shape)
    ordered = xp.sort(logarithms - shifts, axis=1)  # what is infinite comes last
    counts = xp.sum(xp.astype(xp.isfinite(logarithms), logarithms.dtype), axis=1)
    place = xp.astype(xp.floor(_LEVEL * xp.clip(counts - 1, min=0)), xp.int64)
    found = xp.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
    return xp.where(counts > 0, found, xp.zeros_like(found))
