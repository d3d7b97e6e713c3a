"""Curves of errors, success rates and transitions against one quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from experiments.definition import Cell, Study
from experiments.figures.labels import FIGURE_SIZE, PERCENT, THOUSANDS, display_name, line_keys
from experiments.rows import Table
from experiments.statistics import rate
from experiments.transitions import transition_by_size
from robustrank.report.canvas import DASHES, SERIES, Key, Sketch, decades, line_style


def errors(study: Study[Cell], table: Table, methods: Sequence[str]) -> Sketch:
    """The mean error against the number of measurements."""
    keys = _keys_by_solver(study, methods)

    def paint(axes: Axes) -> None:
        widths = np.linspace(3.5, 1.0, len(keys))  # wide curves remain visible below narrow ones
        for key, method, width in zip(keys, methods, widths, strict=True):
            points = []
            for cell in study.cells:
                values = [row["error"] for row in table.of(cell.key, method)]
                if values:
                    points.append((cell.measurements, float(np.mean(values))))
            style = {"marker": "o", "markersize": 2 + width / 2, "linewidth": width}
            draw_logs(axes, key, *zip(*points, strict=True), **style)
        decades(axes.yaxis, *axes.get_ylim())
        axes.grid(visible=True, axis="y")
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.set_xlabel("measurements m")
        axes.set_ylabel("mean error")

    caption = "The mean of ‖estimate − M‖ / ‖M‖ over the trials of a setting."
    return Sketch(study.title, caption, study.name, "Error against m", FIGURE_SIZE, paint, keys)


def over_condition(study: Study[Cell], table: Table, methods: Sequence[str]) -> Sketch:
    """Success rates with their intervals against the condition number."""
    keys = line_keys([display_name(method) for method in methods])
    numbers = [float(cell.condition_number or 1) for cell in study.cells]

    def paint(axes: Axes) -> None:
        for key, method in zip(keys, methods, strict=True):
            rates = [rate(table, cell, method) for cell in study.cells]
            drawn = {"color": key.color, "marker": "o", "linestyle": line_style(key)}
            axes.plot(numbers, [r.value for r in rates], markersize=3, **drawn)
            low, high = zip(*(r.interval for r in rates), strict=True)
            axes.fill_between(numbers, low, high, color=key.color, alpha=0.12, linewidth=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.yaxis.set_major_formatter(PERCENT)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("condition number")
        axes.set_ylabel("recovered to 1e-6")

    caption = "The bands are 95 % Wilson intervals."
    return Sketch(study.title, caption, study.name, study.title, FIGURE_SIZE, paint, keys)


def over_sizes(study: Study[Cell], table: Table, methods: Sequence[str]) -> Sketch:
    """The measurements needed against the size, for every method and fraction of outliers."""
    fractions = sorted({cell.outliers for cell in study.cells})
    curves = [(method, fraction) for method in methods for fraction in fractions]
    keys = tuple(
        Key(
            f"{display_name(method)}, {fraction:.0%} outliers",
            SERIES[methods.index(method)],
            "line",
            DASHES[fractions.index(fraction)],
        )
        for method, fraction in curves
    )

    def paint(axes: Axes) -> None:
        for key, (method, fraction) in zip(keys, curves, strict=True):
            half = transition_by_size(study, table, method, fraction)
            drawn = {"color": key.color, "marker": "o", "linestyle": line_style(key)}
            axes.plot([*half], [*half.values()], markersize=3, **drawn)
        axes.set_xscale("log")
        sizes = sorted({cell.shape[0] for cell in study.cells})
        axes.set_xticks(sizes, map(str, sizes))
        axes.minorticks_off()
        axes.set_ylim(bottom=1.0)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("n, of an n × n matrix")
        axes.set_ylabel("inliers per degree of freedom")

    caption = "Half of the trials succeed there; below 1 no method can succeed."
    return Sketch(study.title, caption, study.name, study.title, FIGURE_SIZE, paint, keys)


def draw_logs(axes: Axes, key: Key, x: Any, y: Any, **style: Any) -> None:
    """Draw the logarithms of positive numbers; ``decades`` labels the axis."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    shown = np.isfinite(y) & (y > 0)
    drawn = {"color": key.color, "linestyle": line_style(key), "linewidth": 1.6} | style
    axes.plot(x[shown], np.log10(y[shown]), **drawn)


def _keys_by_solver(study: Study[Cell], names: Sequence[str]) -> tuple[Key, ...]:
    """One color per solver, and one dash pattern for each of its variants."""
    variants: dict[Any, list[str]] = {}
    for method in study.methods:
        variants.setdefault(method.solver, []).append(method.name)
    keys = {
        name: Key(name, color, "line", dash)
        for color, family in zip(SERIES, variants.values(), strict=False)
        for dash, name in zip(DASHES, family, strict=False)
    }
    return tuple(keys[name] for name in names)
