"""The typical size of the values in each row and column of a sample."""

from __future__ import annotations

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


def row_and_column_scales(sample: Sample) -> tuple[Array, Array]:
    """Positive factors a and b such that |value| / (a_i b_j) has a size of about one everywhere.

    The logarithm of |value| is modelled as the sum of a term of its row and one of its column, each
    the quantile of what the other leaves. Rows without a value other than zero have the scale one.
    """
    sides = [
        _Side(sample.by_rows, sample.row_values),
        _Side(sample.by_columns, sample.column_values),
    ]
    xp = namespace(sample.row_values)
    a, b = (xp.zeros(n, **like(sample.row_values)) for n in sample.shape)
    for _ in range(_ITERATIONS):
        a = sides[0].quantiles(b)
        b = sides[1].quantiles(a)
    middle = lower_median(b)
    return xp.exp(a + middle), xp.exp(b - middle)


class _Side:
    """The logarithms of some nonzero values of each row."""

    def __init__(self, entries: SortedEntries, values: Array) -> None:
        xp = namespace(values)
        step = -(-entries.counts // _MOST)  # every step-th entry of a row
        place = xp.arange(entries.size, **like(entries.starts)) - xp.take(
            entries.starts, entries.owners
        )
        used = (place % xp.take(step, entries.owners) == 0) & (values != 0)
        used &= xp.isfinite(values)
        chosen = xp.nonzero(used)[0]
        self._owners = xp.take(entries.owners, chosen)
        self._others = xp.take(entries.others, chosen)
        self._logarithms = xp.log(xp.abs(xp.take(values, chosen)))
        bounds = xp.arange(entries.rows + 1, **like(self._owners))
        self._starts = xp.searchsorted(self._owners, bounds)

    def quantiles(self, other: Array) -> Array:
        """The quantile of logarithm − other in each row, or zero."""
        xp = namespace(other)
        left = self._logarithms - xp.take(other, self._others)
        order = xp.argsort(left, stable=True)
        order = xp.take(order, xp.argsort(xp.take(self._owners, order), stable=True))
        counts = self._starts[1:] - self._starts[:-1]
        level = xp.astype(xp.floor(_LEVEL * xp.astype(counts - 1, other.dtype)), counts.dtype)
        place = xp.clip(self._starts[:-1] + xp.clip(level, min=0), max=left.shape[0] - 1)
        quantiles = xp.take(left, xp.take(order, place))
        return xp.where(counts > 0, quantiles, xp.zeros_like(quantiles))
