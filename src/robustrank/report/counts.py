"""Numbers of measurements: the entries of rows and columns, and what is rejected where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from robustrank.report.arrays import Arrays, Axis
from robustrank.report.canvas import INLIER, OUTLIER, Key, Sketch, count_ticks
from robustrank.result import GroupTable

Values = np.ndarray[Any, Any]

_SIZE = (4.5, 2.75)
_BARS = 40
# Bars double in width if the largest number of entries is more than this times the median.
_SKEWED = 12
_LABELED = 5  # bars, at most, if each stands for a range
# Of groups: those that are labeled, and the lengths of names that are shown, and not turned.
_LABELED_GROUPS, _LONGEST_NAME, _UPRIGHT = 20, 12, 2


def rejected_by_index(arrays: Arrays) -> Sketch:
    """How many of the measurements next to each other are rejected: sensors often are."""
    total = len(arrays.rejected)
    starts = np.unique(np.linspace(0, total, min(total, _BARS) + 1).astype(int))
    lengths = np.diff(starts)
    rejected = np.add.reduceat(arrays.rejected.astype(int), starts[:-1])

    def paint(axes: Axes) -> None:
        axes.bar(starts[:-1], rejected / lengths, lengths, align="edge", color=OUTLIER)
        axes.set_xlim(0, total)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
        count_ticks(axes.xaxis, 6)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("index of the measurement")
        axes.set_ylabel("rejected")

    largest = int(np.argmax(rejected / lengths))
    return Sketch(
        "Outliers by index",
        "The share of the measurements that are rejected, for blocks of successive measurements. "
        "If a few bars are much higher than the others, check what these measurements have in "
        "common: a sensor, a time, a unit.",
        "rejected",
        f"Share of rejected measurements by index, at most {rejected[largest]:,} of "
        f"{lengths[largest]:,} from index {starts[largest]:,}",
        _SIZE,
        paint,
    )


def rejected_by_group(groups: GroupTable) -> Sketch:
    """The rejected share of each group, and which of them are wrong altogether."""
    shares = np.asarray([row.share for row in groups.rows])
    wrong, places = np.asarray([row.is_wrong for row in groups.rows]), np.arange(len(shares))

    def paint(axes: Axes) -> None:
        for chosen, color in ((~wrong, INLIER), (wrong, OUTLIER)):
            axes.bar(places[chosen], shares[chosen], 0.8, color=color)
            # Groups without rejected measurements are visible, too.
            axes.plot(places[chosen], 0 * places[chosen], ".", color=color, markersize=3)
        axes.set_ylim(-0.02, 1.02)
        axes.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
        shown = places[:: -(-len(places) // _LABELED_GROUPS)]
        names = [_shortened(str(groups.rows[k].label)) for k in shown]
        axes.set_xticks(shown, names, rotation=90 if max(map(len, names)) > _UPRIGHT else 0)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("group")
        axes.set_ylabel("rejected")

    count = int(np.count_nonzero(wrong))
    shown = ((len(wrong) - count, "not wrong", INLIER), (count, "wrong altogether", OUTLIER))
    keys = tuple(Key(f"{number:,} {name}", color, "bar") for number, name, color in shown if number)
    caption = (
        "The share of the measurements of each group that are rejected. A group that is wrong "
        "altogether is rejected as a whole."
    )
    described = f"Rejected share of {len(wrong):,} groups, of which {groups.sentence}"
    return Sketch("Groups", caption, "groups", described, _SIZE, paint, keys)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def entry_counts(arrays: Arrays) -> list[Sketch]:
    """A histogram for the rows and one for the columns, unless all have the same number."""
    if arrays.places is None:
        return []
    sides = zip(("row", "column"), (arrays.rows, arrays.columns), arrays.places, strict=True)
    counted = [(what, axis, entries_per(axis, places)) for what, axis, places in sides]
    return [_counts(*side) for side in counted if side[2].min() < side[2].max()]


def entries_per(axis: Axis, places: Values) -> Values:
    """The number of entries of each row or column."""
    return np.bincount(places, minlength=axis.size)


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


def _counts(what: str, axis: Axis, counts: Values) -> Sketch:
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
    caption = _caption(what, counts)
    return Sketch(f"Entries per {what}", caption, f"{what}-counts", described, _SIZE, paint, keys)


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
        count_ticks(axes.xaxis, 6)
    margin = 0.7 * bins.width
    axes.set_xlim(bins.centers[0] - margin, bins.centers[-1] + margin)
    count_ticks(axes.yaxis)
    axes.grid(visible=True, axis="y")
    axes.set_xlabel(f"observed entries of a {what}")
    axes.set_ylabel(f"{what}s")


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"
