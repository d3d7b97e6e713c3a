"""A histogram of the residuals, which may be zero or infinite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from robustrank.report.arrays import Arrays
from robustrank.report.canvas import INK, INLIER, OUTLIER, Key, Sketch, count_ticks, decades
from robustrank.report.formatting import number

Values = np.ndarray[Any, Any]

_BINS = 44


@dataclass(frozen=True)
class Bins:
    """Equal bins of log₁₀ |residual|, plus one bar for zeros and one for infinite values."""

    low: float
    high: float
    has_zeros: bool
    has_infinities: bool

    @property
    def width(self) -> float:
        """The width of a bin, in decades."""
        return (self.high - self.low) / _BINS

    @property
    def zero(self) -> float:
        """The position of the bar for residuals that are exactly zero."""
        return self.low - 3 * self.width

    @property
    def infinity(self) -> float:
        """The position of the bar for residuals that are not finite."""
        return self.high + 3 * self.width

    def count(self, magnitudes: Values) -> tuple[Values, Values]:
        """The centers of all bars and their heights."""
        ordinary = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
        edges = np.linspace(self.low, self.high, _BINS + 1)
        inside, _ = np.histogram(np.clip(np.log10(ordinary), self.low, self.high), edges)
        zeros = np.count_nonzero(magnitudes == 0)
        infinities = np.count_nonzero(~np.isfinite(magnitudes))
        centers = [self.zero, *(edges[:-1] + edges[1:]) / 2, self.infinity]
        return np.asarray(centers), np.asarray([zeros, *inside, infinities])


def bins_for(magnitudes: Values, marked: float | None) -> Bins:
    """Bins for all magnitudes and a marked value, together at least a decade wide."""
    values = magnitudes if marked is None else np.append(magnitudes, marked)
    ordinary = np.log10(values[np.isfinite(values) & (values > 0)])
    low, high = (ordinary.min(), ordinary.max()) if ordinary.size else (0.0, 0.0)
    margin = max(0.0, 1.0 - (high - low)) / 2
    return Bins(
        float(low - margin),
        float(high + margin),
        has_zeros=bool(np.any(magnitudes == 0)),
        has_infinities=not bool(np.all(np.isfinite(magnitudes))),
    )


def residuals(arrays: Arrays) -> Sketch:
    """The absolute residuals of inliers and rejected measurements, and the cutoff."""
    magnitudes, rejected = np.abs(arrays.residuals), arrays.rejected
    cutoff = arrays.result.cutoff
    bins = bins_for(magnitudes, cutoff)

    def paint(axes: Axes) -> None:
        centers, inlier_counts = bins.count(magnitudes[~rejected])
        _, rejected_counts = bins.count(magnitudes[rejected])
        width = 0.92 * bins.width
        axes.bar(centers, inlier_counts, width, color=INLIER)
        axes.bar(centers, rejected_counts, width, inlier_counts, color=OUTLIER)
        axes.set_ylim(0, 1.15 * max(inlier_counts + rejected_counts))  # room for the label
        _label(axes, bins, arrays.noun)
        _mark_cutoff(axes, bins, cutoff)

    count = int(np.count_nonzero(rejected))
    keys = (
        Key(f"{len(rejected) - count:,} inliers", INLIER, "bar"),
        Key(f"{count:,} rejected", OUTLIER, "bar"),
    )
    described = f"Histogram of |residual|: {keys[0].label}, {keys[1].label}"
    caption = _caption(arrays, magnitudes)
    return Sketch("Residuals", caption, "residuals", described, (4.5, 2.75), paint, keys)


def _caption(arrays: Arrays, magnitudes: Values) -> str:
    text = (
        f"The distribution of |residual| over the {arrays.noun}, in the units of the data. If the "
        "two groups are well separated, the classification is clear; if they touch, some "
        "classifications are borderline."
    )
    cutoff = arrays.result.cutoff
    if cutoff is None:
        return f"{text} This solver has no cutoff: it rejects nothing."
    exact = int(np.count_nonzero((magnitudes > cutoff) & ~arrays.rejected))
    if exact:
        count, they = ("1 is", "it is") if exact == 1 else (f"{exact:,} are", "they are")
        text += f" {count} above the cutoff but not rejected, because {they} fitted exactly."
    return text


def _label(axes: Axes, bins: Bins, counted: str) -> None:
    decades(axes.xaxis, bins.low, bins.high)
    extra = [(bins.zero, "0")] * bins.has_zeros + [(bins.infinity, "∞")] * bins.has_infinities
    ticks = [*zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)]
    places = [*(place for place, _ in ticks), *(place for place, _ in extra)]
    axes.set_xticks(places, [*(t.get_text() for _, t in ticks), *(text for _, text in extra)])
    left = bins.zero if bins.has_zeros else bins.low
    right = bins.infinity if bins.has_infinities else bins.high
    axes.set_xlim(left - bins.width, right + bins.width)
    count_ticks(axes.yaxis)
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("|residual|")
    axes.set_ylabel(counted)


def _mark_cutoff(axes: Axes, bins: Bins, value: float | None) -> None:
    """A labeled line; a cutoff of zero is drawn between the zeros and the other residuals."""
    if value is None or not math.isfinite(value):
        return
    place = math.log10(value) if value > 0 else bins.low - 1.5 * bins.width
    axes.axvline(place, color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
    left_half = place < (bins.low + bins.high) / 2
    axes.annotate(
        f"cutoff {number(value)}",
        (place, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4 if left_half else -4, -2),
        textcoords="offset points",
        horizontalalignment="left" if left_half else "right",
        verticalalignment="top",
    )
