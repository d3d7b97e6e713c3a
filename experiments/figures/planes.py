"""Success rates as shades over two axes: figures 1a and 1b, and the kinds of outliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from experiments.definition import Cell, Study
from experiments.figures.labels import FIGURE_SIZE, display_name
from experiments.rows import Table
from experiments.statistics import rate
from experiments.transitions import heuristic_limit, transition
from robustrank.report.canvas import SERIES, Key, Sketch

_COLORMAP = "Blues"
_NOT_RUN = "#c9d1d8"
_LIMIT_COLOR = "#c53030"
_HALF_COLOR = SERIES[1]

_SHADE_KEY = Key("all trials succeed", to_hex(matplotlib.colormaps[_COLORMAP](1.0)), "bar")
_LIMIT_KEY = Key("r = (1 − s) m / (n1 + n2), the paper's red line", _LIMIT_COLOR, "line")
_HALF_KEY = Key("half of the trials succeed", _HALF_COLOR, "dot")


def over_measurements(study: Study[Cell], table: Table, method: str) -> Sketch:
    """Success rates over the number of measurements and the rank."""
    counts = sorted({cell.measurements for cell in study.cells})
    ranks = sorted({cell.rank for cell in study.cells})
    half = transition(study, table, method)
    limits = {cell.rank: heuristic_limit(cell) for cell in study.cells}

    def finish(axes: Axes) -> None:
        heights = [ranks.index(rank) for rank in ranks]
        axes.plot([_position(counts, limits[rank]) for rank in ranks], heights, color=_LIMIT_COLOR)
        axes.plot(
            [_position(counts, m) for m in half.values()],
            [ranks.index(rank) for rank in half],
            "o",
            color=_HALF_COLOR,
            markersize=4,
        )
        axes.set_xlim(-0.5, len(counts) - 0.5)
        _set_ticks(axes.xaxis, counts, "{:,}".format)
        _set_ticks(axes.yaxis, ranks, str, 10)
        axes.set_xlabel("measurements m")
        axes.set_ylabel("rank r")

    def place(cell: Cell) -> tuple[int, int]:
        return cell.measurements, cell.rank

    keys = (_SHADE_KEY, _LIMIT_KEY, _HALF_KEY)
    return _plane(study, table, method, counts, ranks, place, finish, keys)


def over_fractions(study: Study[Cell], table: Table, method: str) -> Sketch:
    """Success rates over the fraction of outliers and the rank."""
    fractions = sorted({cell.outliers for cell in study.cells})
    ranks = sorted({cell.rank for cell in study.cells})
    m, n = study.cells[0].measurements, sum(study.cells[0].shape)

    def finish(axes: Axes) -> None:
        line = np.linspace(0, fractions[-1], 50)
        places = [_position(fractions, s) for s in line]
        axes.plot(places, [_position(ranks, (1 - s) * m / n) for s in line], color=_LIMIT_COLOR)
        axes.set_ylim(-0.5, len(ranks) - 0.5)
        _set_ticks(axes.xaxis, fractions, "{:.0%}".format, 10)
        _set_ticks(axes.yaxis, ranks, str, 10)
        axes.set_xlabel("fraction of outliers s")
        axes.set_ylabel("rank r")

    def place(cell: Cell) -> tuple[float, int]:
        return cell.outliers, cell.rank

    keys = (_SHADE_KEY, _LIMIT_KEY)
    return _plane(study, table, method, fractions, ranks, place, finish, keys)


def over_kinds(study: Study[Cell], table: Table, method: str) -> Sketch:
    """Success rates over the fraction and the kind of outliers."""
    fractions = sorted({cell.outliers for cell in study.cells})
    kinds = list(dict.fromkeys(cell.model for cell in study.cells))

    def finish(axes: Axes) -> None:
        _set_ticks(axes.xaxis, fractions, "{:.0%}".format, 10)
        _set_ticks(axes.yaxis, kinds, str, 10)
        axes.set_xlabel("fraction of outliers")

    def place(cell: Cell) -> tuple[float, str]:
        return cell.outliers, cell.model

    return _plane(study, table, method, fractions, kinds, place, finish, (_SHADE_KEY,))


def _plane(
    study: Study[Cell],
    table: Table,
    method: str,
    columns: Sequence[Any],
    lines: Sequence[Any],
    place: Callable[[Cell], tuple[Any, Any]],
    finish: Callable[[Axes], None],
    keys: tuple[Key, ...],
) -> Sketch:
    """The success rates of one method; ``place`` gives the column and the line of a setting."""
    shades = np.full((len(lines), len(columns)), np.nan)
    for cell in study.cells:
        column, line = place(cell)
        shades[lines.index(line), columns.index(column)] = rate(table, cell, method).value

    def paint(axes: Axes) -> None:
        extent = (-0.5, len(columns) - 0.5, -0.5, len(lines) - 0.5)
        colors = matplotlib.colormaps[_COLORMAP].with_extremes(bad=_NOT_RUN)
        axes.imshow(
            shades, cmap=colors, vmin=0, vmax=1, origin="lower", aspect="auto", extent=extent
        )
        finish(axes)

    known = shades[~np.isnan(shades)]
    trials = sum(row["method"] == method for row in table.rows)
    caption = (
        f"{trials:,} trials, {known.mean():.0%} of them recovered to 1e-6. "
        "White: no trial succeeds; gray: not run."
    )
    total = study.trials * len(study.cells)
    title = f"{display_name(method)}: {study.title}"
    if trials < total:
        title += f", {trials:,} of {total:,} trials"
    name = f"{study.name}-{method}".replace(" ", "-")
    return Sketch(title, caption, name, f"Success rates of {method}", FIGURE_SIZE, paint, keys)


def _set_ticks(
    axis: Any, values: Sequence[Any], write: Callable[[Any], str], most: int = 8
) -> None:
    step = -(-len(values) // most)
    places = range(0, len(values), step)
    axis.set_ticks([*places], [write(values[k]) for k in places])


def _position(values: Sequence[float], value: float) -> float:
    """The position of a number on an axis whose evenly spaced values are at 0, 1, 2, …"""
    return (value - values[0]) / (values[1] - values[0])
