"""Charts of a table: how unusual its rows are, and how accurate filled cells are."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, MaxNLocator

from robustrank.report.arrays import Values
from robustrank.report.canvas import INK, INLIER, OUTLIER, Key, Sketch, decades
from robustrank.report.cell_map import NamedTable
from robustrank.report.formatting import number
from robustrank.result import counted

_SIZE = (4.5, 3.3)
_POINTS = 1000  # unusual rows that are drawn, and at most 1000 of the others
_LABELED, _APART = 8, (0.3, 0.06)  # labels; how far they are apart, of the size of the axes
_LOGARITHMIC = 8.0  # a larger distance makes an axis logarithmic
_MOST = 30  # columns


def rows(named: NamedTable) -> Sketch:
    """The distance of each row from the components against that along them."""
    table, scores = named.table, named.table.scores()
    places = np.column_stack([scores.distance, scores.residual])
    wrong, some = np.flatnonzero(scores.wrong), table.wrong.any(axis=1) & ~scores.wrong
    order = np.argsort(-_order(places, scores.wrong), kind="stable")
    step = max(-(-(len(order) - _POINTS) // _POINTS), 1)
    chosen = np.zeros(len(order), bool)
    chosen[np.r_[order[:_POINTS], order[_POINTS::step]]] = True
    drawn = (
        (np.flatnonzero(chosen & ~some & ~scores.wrong), INLIER, INLIER),
        (np.flatnonzero(chosen & some), "none", INLIER),
        (np.flatnonzero(chosen & scores.wrong), OUTLIER, OUTLIER),
    )

    def paint(axes: Axes) -> None:
        scales = [_Scale(values) for values in places.T]
        at = np.column_stack([scale.at(places[:, k]) for k, scale in enumerate(scales)])
        for places_of, face, edge in drawn:
            axes.plot(*at[places_of].T, "o", mfc=face, mec=edge, markersize=3.5, mew=0.8)
        for line, scale in zip((axes.axvline, axes.axhline), scales, strict=True):
            line(float(scale.at(np.ones(1))[0]), color=INK, lw=0.9, ls=(0, (4, 2)))
        axes.margins(0.08)
        scales[0].label(axes.xaxis, *axes.get_xlim())
        scales[1].label(axes.yaxis, *axes.get_ylim())
        remarkable = (places > 1).any(axis=1) | scores.wrong
        _label(axes, named, order[remarkable[order]], at)
        axes.set_xlabel("distance along the components")
        axes.set_ylabel("distance from the components")

    rest = len(scores.wrong) - len(wrong) - int(some.sum())
    found = (
        (rest, "without wrong cells", INLIER, "dot"),
        (int(some.sum()), "with wrong cells", INLIER, "ring"),
        (len(wrong), "wrong as a whole", OUTLIER, "dot"),
    )
    keys = tuple(
        Key(f"{count:,} {name}", color, mark) for count, name, color, mark in found if count
    )
    caption = (
        "Each mark is a row; single wrong cells do not count. The cells of a row that is "
        "far up do not fit together; those of a row that is far to the right do, but they are "
        "unusually large or small. Of normal rows, 1% are beyond each line."
    )
    if step > 1:
        caption += (
            f" The {_POINTS:,} most unusual rows are drawn, and one of {step:,} of the others."
        )
    described = f"Distances of {counted(len(scores.wrong), 'row')}: " + ", ".join(
        key.label for key in keys
    )
    return Sketch("Rows", caption, "rows", described, _SIZE, paint, keys)


def _order(places: Values, wrong: Values) -> Values:
    """How unusual rows are; those that are wrong come first."""
    largest = places.max(axis=1)
    return np.asarray(largest + wrong * (1 + largest.max(initial=0.0)))


class _Scale:
    """Distances themselves, or their logarithms if the largest one is large."""

    def __init__(self, values: Values) -> None:
        positive = values[values > 0]
        self.is_log = bool(values.max(initial=0.0) > _LOGARITHMIC)
        self.low = min(float(np.quantile(positive, 0.01)) if len(positive) else 1.0, 0.9)

    def at(self, values: Values) -> Values:
        """Where values are drawn; the smallest ones at the same place, if by logarithms."""
        return np.asarray(np.log10(np.maximum(values, self.low)) if self.is_log else values)

    def label(self, axis: Axis, low: float, high: float) -> None:
        """Label an axis with the values."""
        if self.is_log:
            decades(axis, low, high)
        else:
            axis.set_major_locator(MaxNLocator(nbins=5))
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _label(axes: Axes, named: NamedTable, listed: Values, at: Values) -> None:
    """The names of the first rows of a list that do not overlap."""
    low, high = np.asarray([axes.get_xlim(), axes.get_ylim()]).T
    inside = (at - low) / (high - low)
    chosen: list[int] = []
    for i in listed.tolist():
        apart = np.abs(inside[chosen] - inside[i]) > _APART
        if len(chosen) < _LABELED and apart.any(axis=1).all():
            chosen.append(i)
    for i, name in zip(chosen, named.rows.names(chosen, 16), strict=True):
        on_right = inside[i, 0] > 0.6
        axes.annotate(
            name,
            tuple(at[i]),
            xytext=(-5 if on_right else 5, 0),
            textcoords="offset points",
            ha="right" if on_right else "left",
            va="center",
            fontsize=8,
            color=INK,
        )


def column_errors(named: NamedTable) -> Sketch | None:
    """The errors of filled cells by column, relative to those of the medians; None if unknown."""
    held_out = named.table.held_out
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = held_out.errors / held_out.trivial
    known = np.flatnonzero(np.isfinite(ratios))
    if not len(known):
        return None
    worst = known[np.argsort(-ratios[known], kind="stable")[:_MOST]]
    values = ratios[worst]

    def paint(axes: Axes) -> None:
        colors = [OUTLIER if value >= 1 else INLIER for value in values]
        axes.barh(range(len(worst)), values, 0.7, color=colors)
        names = named.columns.names(worst, 16)
        axes.set_yticks(range(len(worst)), names, fontsize=9 if len(worst) <= 12 else 8)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(worst) - 0.4, -0.6)
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        axes.set_xlim(0, max(1.08, 1.05 * float(values.max())))
        axes.grid(visible=True, axis="x")
        axes.set_xlabel("error relative to that of the median")

    caption = (
        "The error of predictions of cells that were left out. The medians of the columns have 1; "
        "a column without any relation to the others is as bad as that."
    )
    unknown = named.columns.size - len(known)
    if unknown:
        caption += f" {counted(unknown, 'column')} had too few cells that were left out."
    if len(worst) < len(known):
        caption += (
            f" Shown are the {len(worst)} columns with the largest errors, of {len(known):,}."
        )
    shown = ", ".join(f"{named.columns.name(j)} {number(ratios[j])}" for j in worst[:8])
    described = f"Errors relative to those of the medians: {shown}"
    size = 4.5, float(np.clip(0.19 * len(worst) + 0.8, 1.9, 6.0))
    return Sketch("Errors of filled cells", caption, "errors", described, size, paint)
