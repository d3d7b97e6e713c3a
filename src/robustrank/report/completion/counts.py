"""How many observed entries the rows and columns have, and which of them are undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from robustrank.report.canvas import INLIER, OUTLIER, Key, Picture, draw
from robustrank.report.completion.arrays import Axis, CompletionArrays

Values = np.ndarray[Any, Any]

_BARS = 40
# Bars double in width if the largest number of entries is more than this times the median.
_SKEWED = 12
_LABELED = 5  # bars, at most, if each stands for a range


def entry_counts(arrays: CompletionArrays) -> list[Picture]:
    """A histogram for the rows and one for the columns."""
    return [
        _counts("row", arrays.rows, entries_per(arrays.rows, arrays.entry_rows)),
        _counts("column", arrays.columns, entries_per(arrays.columns, arrays.entry_columns)),
    ]


def entries_per(axis: Axis, places: Values, flags: Values | None = None) -> Values:
    """The number of entries, or of flagged entries, of each row or column."""
    chosen = places if flags is None else places[flags]
    return np.bincount(chosen, minlength=axis.size)


@dataclass(frozen=True, eq=False)
class CountBins:
    """Ranges of numbers of entries, one for each bar."""

    starts: Values  # the smallest number of each range, and one more than the largest of the last
    is_doubling: bool  # ranges 1, 2–3, 4–7, … instead of equally long ones

    @classmethod
    def of(cls, counts: Values) -> CountBins:
        """Equally long ranges, or doubling ones if few rows have most of the entries."""
        low, high = int(counts.min()), int(counts.max())
        if high - low >= _BARS and high > _SKEWED * max(float(np.median(counts)), 1.0):
            powers = 2 ** np.arange(high.bit_length() + 1)
            return cls(np.r_[low, powers[powers > low]], is_doubling=True)
        length = -(-(high - low + 1) // _BARS)
        return cls(np.arange(low, high + length + 1, length), is_doubling=False)

    def count(self, counts: Values) -> Values:
        """The heights of the bars."""
        # No count is equal to the last start, which numpy.histogram would include.
        return np.histogram(counts, self.starts)[0]

    @property
    def centers(self) -> Values:
        """The positions of the bars: in units of entries, or 0, 1, 2, … if ranges double."""
        if self.is_doubling:
            return np.arange(len(self.starts) - 1.0)
        return (self.starts[:-1] + self.starts[1:] - 1) / 2

    @property
    def width(self) -> float:
        """The width of a bar."""
        return 0.88 * (1.0 if self.is_doubling else float(self.starts[1] - self.starts[0]))


def _counts(what: str, axis: Axis, counts: Values) -> Picture:
    bins = CountBins.of(counts)
    undecided, decided = bins.count(counts[axis.undecided]), bins.count(counts[~axis.undecided])

    def paint(axes: Axes) -> None:
        axes.bar(bins.centers, decided, bins.width, color=INLIER)
        axes.bar(bins.centers, undecided, bins.width, decided, color=OUTLIER)
        _label(axes, what, bins)

    total = int(np.count_nonzero(axis.undecided))
    shown = ((axis.size - total, "decided", INLIER), (total, "undecided", OUTLIER))
    keys = tuple(Key(f"{count:,} {name}", color, "bar") for count, name, color in shown if count)
    described = (
        f"Histogram of the number of observed entries per {what}, from {counts.min():,} to "
        f"{counts.max():,}: {', '.join(key.label for key in keys)}"
    )
    svg = draw(f"{what}-counts", described, (4.5, 2.75), paint)
    return Picture(f"Entries per {what}", _caption(what, counts), svg, keys)


def _caption(what: str, counts: Values) -> str:
    text = (
        f"How many {what}s have how many observed entries; the median is {np.median(counts):,.0f}."
    )
    empty = int(np.count_nonzero(counts == 0))
    if empty:
        text += f" {empty:,} {what} has none." if empty == 1 else f" {empty:,} {what}s have none."
    return text


def _label(axes: Axes, what: str, bins: CountBins) -> None:
    if bins.is_doubling:
        bars = len(bins.starts) - 1
        shown = range(0, bars, -(-bars // _LABELED))
        ends = [(int(bins.starts[k]), int(bins.starts[k + 1]) - 1) for k in shown]
        axes.set_xticks([*shown], [_range(*both) for both in ends])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    margin = 0.7 * bins.width
    axes.set_xlim(bins.centers[0] - margin, bins.centers[-1] + margin)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(visible=True, axis="y")
    axes.set_xlabel(f"observed entries of a {what}")
    axes.set_ylabel(f"{what}s")


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
