"""The typical size of the values in each row and column of a sample."""

from __future__ import annotations

import math

from robustrank.backend import Array, like, namespace
from robustrank.completion.sample import Sample
from robustrank.linalg import lower_median
from robustrank.operators import SortedEntries

# The level of the quantile of |value| that is the size of a row or column. It is below one half,
# so that large outliers among fewer than half of the values hardly change it.
_LEVEL = 0.3
_ITERATIONS = 6
# More entries of a row would hardly change its size.
_MOST = 64
# Smaller values, relative to a typical one, count as zero: other values of a row with their size
# would overflow.
_LEAST = 1e-100


def row_and_column_scales(sample: Sample) -> tuple[Array, Array]:
    """Positive factors a and b such that |value| / (a_i b_j) has a size of about one everywhere.

    The logarithm of |value| is modelled as the sum of a term of its row and one of its column, each
    the quantile of what the other leaves. Rows without a value other than zero have the scale one.
    """
    sides = [
        _Side(sample.by_rows, sample.row_values, _LEAST * sample.deviation),
        _Side(sample.by_columns, sample.column_values, _LEAST * sample.deviation),
    ]
    xp = namespace(sample.row_values)
    a, b = (xp.zeros(n, **like(sample.row_values)) for n in sample.shape)
    for _ in range(_ITERATIONS):
        a = sides[0].quantiles(b)
        b = sides[1].quantiles(a)
    middle = lower_median(b)
    return xp.exp(a + middle), xp.exp(b - middle)


class _Side:
    """The logarithms of some nonzero values of each row, in a table with a row for each."""

    def __init__(self, entries: SortedEntries, values: Array, least: float) -> None:
        xp = namespace(values)
        step = -(-entries.counts // _MOST)  # every step-th entry of a row
        columns = xp.arange(_MOST, **like(entries.starts))
        place = columns[None, :] * xp.clip(step, min=1)[:, None]
        exists = place < entries.counts[:, None]
        place = xp.where(exists, place + entries.starts[:-1, None], xp.zeros_like(place))
        flat = xp.reshape(place, (-1,))
        self._others = xp.take(entries.others, flat)
        chosen = xp.reshape(xp.take(values, flat), place.shape)
        used = exists & (xp.abs(chosen) > least) & xp.isfinite(chosen)
        magnitudes = xp.where(used, xp.abs(chosen), xp.full_like(chosen, math.inf))
        self._logarithms = xp.log(magnitudes)  # what is not used comes last
        self._counts = xp.sum(xp.astype(used, entries.starts.dtype), axis=1)

    def quantiles(self, other: Array) -> Array:
        """The quantile of logarithm − other in each row, or zero."""
        xp = namespace(other)
        shifts = xp.reshape(xp.take(other, self._others), self._logarithms.shape)
        ordered = xp.sort(self._logarithms - shifts, axis=1)
        level = xp.floor(_LEVEL * xp.astype(self._counts - 1, other.dtype))
        place = xp.clip(xp.astype(level, self._counts.dtype), min=0)
        found = xp.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
        return xp.where(self._counts > 0, found, xp.zeros_like(found))
