"""Tables as images: which cells are wrong or missing, and the loadings of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.transforms import ScaledTranslation

from robustrank.report.arrays import Axis, Values, axis_of
from robustrank.report.canvas import GRID, INK, OUTLIER, Key, Sketch
from robustrank.result import Result, counted, numbers_of
from robustrank.tables import CleanTable, Indices

# Colors of pixels, which are the same in dark mode.
_ABOVE, _BELOW, _MISSING = "#c93a2f", "#2a6fbb", "#98a4af"
_MOST_ROWS, _MOST_COLUMNS, _MOST_COMPONENTS = 40, 30, 6
_MOST_BLOCKS, _MOST_LINES = 240, 120  # blocks of rows, and rows with lines between them
_FEWEST = 12  # rows and columns of a large table, also if fewer have wrong or missing cells
_WIDTH, _LONGEST = 4.5, 14  # inches; characters of a label beside an image
# The opacity of missing cells, of cells that are not wrong (at most), and of wrong ones (at least).
_OF_MISSING, _PALE, _STRONG = 0.4, 0.2, 0.5
_FULL = 10.0  # standard errors from which on a wrong cell has its full color


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A cleaned table, with the names of its rows and columns."""

    table: CleanTable
    rows: Axis
    columns: Axis

    @classmethod
    def of(
        cls,
        result: Result,
        row_labels: Sequence[Any] | None = None,
        column_labels: Sequence[Any] | None = None,
    ) -> NamedTable:
        """The table of a result of ``clean``; labels that are given replace its own."""
        if result.table is None:
            raise ValueError(
                "the result is not that of a table; expected one of robustrank.clean(table)"
            )
        rows, columns = result.table.given.shape
        return cls(
            result.table,
            axis_of(result.undecided_rows, result.row_labels, row_labels, rows, "row"),
            axis_of(
                result.undecided_columns, result.column_labels, column_labels, columns, "column"
            ),
        )

    @property
    def missing(self) -> Values:
        """The cells without a value."""
        return np.asarray(np.isnan(self.table.given))

    @property
    def surprise(self) -> Values:
        """The standard errors by which cells are above what is expected; zero where missing.

        Values of skewed columns are transformed.
        """
        table, units = self.table, self.table.model.units
        given, expected, deviation = table.given, table.expected, table.deviation
        if units.skewness.any():
            given, expected = (units.straightened(units.linear(X)) for X in (given, expected))
            deviation = units.straightened_deviation(expected, deviation)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = given - expected
            known = np.where(deviation > 0, errors / deviation, 0.0)
            exact = np.where(table.wrong, np.copysign(np.inf, errors), 0.0)
        return np.nan_to_num(np.where(table.deviation == 0, exact, known), posinf=1e9, neginf=-1e9)


def cell_map(named: NamedTable, chosen: Indices | None = None) -> Sketch:
    """The cells that are wrong or missing, of the rows and columns with the most of these.

    The rows are those that are ``chosen`` (their numbers), if they are given.
    """
    table, missing = named.table, named.missing
    bad = table.wrong & ~missing
    counts = bad.sum(axis=1) + named.rows.size * table.wrong_rows
    rows = _worst(counts, missing.sum(axis=1), _MOST_ROWS) if chosen is None else chosen
    within = slice(None) if chosen is None else chosen
    columns = _worst(bad[within].sum(axis=0), missing[within].sum(axis=0), _MOST_COLUMNS)
    part, size = np.ix_(rows, columns), -(-len(rows) // _MOST_BLOCKS)
    pixels = _colors(*_strongest(size, named.surprise[part], bad[part], missing[part]))

    def paint(axes: Axes) -> None:
        _image(axes, pixels)
        _names(axes, named.rows, rows[::size], named.columns, columns)
        marked = np.unique(np.flatnonzero(table.wrong_rows[rows]) // size)
        if len(marked):  # nothing has a place of its own, too, which would make room for it
            right = np.full(len(marked), len(columns) - 0.5)
            place = axes.transData + ScaledTranslation(0.09, 0, axes.figure.dpi_scale_trans)
            axes.plot(right, marked, "o", color=OUTLIER, ms=4, clip_on=False, transform=place)

    above = int(np.count_nonzero(bad & (named.surprise > 0)))
    found = (
        (above, "wrong, above", _ABOVE, "bar"),
        (int(bad.sum()) - above, "wrong, below", _BELOW, "bar"),
        (int(missing.sum()), "missing", _MISSING, "bar"),
        (int(table.wrong_rows.sum()), "wrong as a whole row", OUTLIER, "dot"),
    )
    keys = tuple(
        Key(f"{count:,} {name}", color, mark) for count, name, color, mark in found if count
    )
    described = f"Map of {len(rows)} rows and {len(columns)} columns: " + (
        ", ".join(key.label for key in keys) or "no cell is wrong or missing"
    )
    inches = _WIDTH, float(np.clip(0.15 * len(rows) + 1.0, 2.2, 7.0))
    caption = _caption(named, rows, columns, bad, chosen is not None)
    return Sketch("Wrong and missing cells", caption, "cells", described, inches, paint, keys)


def _strongest(size: int, surprise: Values, bad: Values, missing: Values) -> list[Values]:
    """Of each block of rows, the cells that are wrong or farthest from what is expected."""
    order = np.where(bad, np.inf, np.where(missing, 3.0, np.abs(surprise)))
    starts = range(0, len(order), size)
    places = np.array([start + order[start : start + size].argmax(axis=0) for start in starts])
    return [np.take_along_axis(values, places, axis=0) for values in (surprise, bad, missing)]


def row_numbers(result: Result, rows: Any) -> Indices:
    """The numbers of the rows of a table that a slice or labels name."""
    size = result.shape[0]
    if isinstance(rows, slice):
        found = np.arange(size)[rows]
    else:
        found = np.atleast_1d(numbers_of(rows, result.row_labels, size, "rows"))
    if not len(found):
        raise ValueError(f"rows={rows!r} has none of the {size:,} rows of the table")
    return found


def _caption(
    named: NamedTable, rows: Indices, columns: Indices, bad: Values, are_chosen: bool
) -> str:
    table = named.table
    if not (bad.any() or named.missing.any() or table.wrong_rows.any()):
        text = "No cell is wrong or missing."
    elif not bad.any():
        text = "No cell is wrong by itself."
    else:
        text = (
            "Wrong cells are red if they are above what the other cells of their row predict, and "
            "blue if they are below it; the color is full from ten standard errors on."
        )
    text += " Pale colors are deviations of cells that are not wrong."
    kinds = (("rows", rows, named.rows), ("columns", columns, named.columns))
    parts = [
        f"{len(at):,} of {axis.size:,} {name}" for name, at, axis in kinds if len(at) < axis.size
    ]
    if parts:
        text += f" Shown are {' and '.join(parts)}"
        some = named.table.replaced.any() and not are_chosen
        text += ", those with the most wrong and missing cells." if some else "."
        left = int(bad.sum() - bad[np.ix_(rows, columns)].sum())
        if left:
            text += f" {counted(left, 'wrong cell')} {'is' if left == 1 else 'are'} not shown."
    return text


def _worst(counts: Values, missing: Values, most: int) -> Values:
    """All places, or those with wrong or missing cells if there are more than can be shown."""
    if len(counts) > most:
        most = int(np.clip(np.count_nonzero(counts + missing), _FEWEST, most))
    return _largest(counts, missing, most)


def _largest(counts: Values, others: Values, most: int) -> Values:
    """The places of the largest counts, in their order; the others decide between equal ones."""
    order = np.lexsort((-np.arange(len(counts)), others, counts))[::-1]
    return np.sort(order[:most])


def _colors(surprise: Values, bad: Values, missing: Values) -> Values:
    """Red above zero and blue below, the more opaque the larger; gray where cells are missing."""
    strong = _STRONG + (1 - _STRONG) * np.clip((np.abs(surprise) - 3) / (_FULL - 3), 0, 1)
    opacity = np.where(bad, strong, _PALE * np.clip(np.abs(surprise) / 3, 0, 1))
    return _tinted(surprise, np.where(missing, _OF_MISSING, opacity), missing)


def _tinted(signs: Values, opacity: Values, missing: Values) -> Values:
    colors = np.where((signs > 0)[..., None], to_rgb(_ABOVE), to_rgb(_BELOW))
    colors = np.where(missing[..., None], to_rgb(_MISSING), colors)
    return np.dstack([colors, opacity])


def _image(axes: Axes, pixels: Values) -> None:
    """Pixels with lines between them."""
    axes.imshow(np.round(255 * pixels).astype(np.uint8), interpolation="none", aspect="auto")
    rows, columns = pixels.shape[:2]
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5 if rows <= _MOST_LINES else [], minor=True)
    axes.grid(visible=True, which="minor", color=GRID, linewidth=0.5)
    axes.tick_params(which="both", length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _names(axes: Axes, rows: Axis, own: Indices, columns: Axis, other: Indices) -> None:
    names = columns.names(other, _LONGEST)
    turned = 90 if sum(map(len, names)) > 30 else 0
    axes.set_xticks(range(len(other)), names, rotation=turned, fontsize=_font(len(other)))
    shown = np.arange(0, len(own), -(-len(own) // _MOST_ROWS))  # every one, or every second …
    axes.set_yticks(shown, rows.names(own[shown], _LONGEST), fontsize=_font(len(shown)))


def _font(labels: int) -> float:
    return 9.0 if labels <= 12 else 8.0


def components(named: NamedTable) -> Sketch:
    """The loadings of the components, and their share of the variance."""
    loadings, variances = named.table.components()
    total = named.table.total_variance
    loadings, shown = loadings[:_MOST_COMPONENTS], len(variances[:_MOST_COMPONENTS])
    columns = _largest(np.abs(loadings).max(axis=0), np.zeros(named.columns.size), _MOST_COLUMNS)
    part = loadings[:, columns].T
    pixels = _tinted(part, np.abs(part) / np.abs(part).max(), np.zeros(part.shape, bool))
    shares = [_percent(value / total) for value in variances[:shown]]

    def paint(axes: Axes) -> None:
        _image(axes, pixels)
        axes.set_xticks(range(shown), [f"{k}\n{one}" for k, one in enumerate(shares, start=1)])
        names = named.columns.names(columns, _LONGEST)
        axes.set_yticks(range(len(columns)), names, fontsize=_font(len(columns)))
        for (j, k), value in np.ndenumerate(part):
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
            axes.text(k, j, text, ha="center", va="center", color=INK, fontsize=_font(len(part)))
        axes.set_xlabel("component and share of the variance")

    caption = (
        "What varies together: columns with loadings of the same sign rise together, those with "
        "different signs in opposite directions. Each column is in units of its own spread."
    )
    if len(columns) < named.columns.size:
        caption += (
            f" Shown are {len(columns):,} of {named.columns.size:,} columns, those with the "
            "largest loadings."
        )
    if shown < len(variances):
        caption += f" {len(variances) - shown:,} more components are not shown."
    described = (
        f"Loadings of {counted(shown, 'component')} with {', '.join(shares)} of the variance"
    )
    size = _WIDTH, float(np.clip(0.2 * len(columns) + 0.9, 2.2, 6.0))
    return Sketch("Components", caption, "components", described, size, paint)


def _percent(value: float) -> str:
    return f"{value:.0%}" if value >= 0.005 else "<1%"
