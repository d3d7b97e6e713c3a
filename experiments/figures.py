"""Figures of experiments, drawn from rows alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import FuncFormatter

from experiments import DEFAULT, PAPER, Cell, Experiment, Table
from experiments.claims import red_line, transition, transition_by_size
from experiments.rows import Row, key_of
from experiments.statistics import rate
from robustrank.report.canvas import DASHES, SERIES, Key, Sketch, decades, line_style

_LIMIT = "#c53030"
_HALF = SERIES[1]
_SUCCESS = "Blues"
_ALWAYS = to_hex(matplotlib.colormaps[_SUCCESS](1.0))
_UNKNOWN = "#c9d1d8"
_SIZE = (4.5, 3.2)
_THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")


def sketches(experiment: Experiment, table: Table) -> list[Sketch]:
    """The figures of an experiment, of the methods that have rows."""
    methods = [
        method.name
        for method in experiment.methods
        if any(row["method"] == method.name for row in table.rows)
    ]
    if not methods:
        return []
    if experiment.figure in _PLANES:
        return [_PLANES[experiment.figure](experiment, table, method) for method in methods]
    if experiment.figure == "traces":
        axes = ["iterations", "reads of the sensing data"]
        if table.seconds:
            axes.append("seconds")
        return [_traces(experiment, table, methods, what) for what in axes]
    return [_LINES[experiment.figure](experiment, table, methods)]


# Success as a shade over two axes.


def _plane(
    experiment: Experiment,
    table: Table,
    method: str,
    columns: Sequence[Any],
    lines: Sequence[Any],
    place: Callable[[Cell], tuple[Any, Any]],
    finish: Callable[[Axes], None],
    keys: tuple[Key, ...],
) -> Sketch:
    """Success rates of one method; the setting of a cell is its column and its line."""
    shades = np.full((len(lines), len(columns)), np.nan)
    for cell in experiment.cells:
        column, line = place(cell)
        shades[lines.index(line), columns.index(column)] = rate(table, cell, method).value

    def paint(axes: Axes) -> None:
        extent = (-0.5, len(columns) - 0.5, -0.5, len(lines) - 0.5)
        colors = matplotlib.colormaps[_SUCCESS].with_extremes(bad=_UNKNOWN)
        axes.imshow(
            shades, cmap=colors, vmin=0, vmax=1, origin="lower", aspect="auto", extent=extent
        )
        finish(axes)

    known = shades[~np.isnan(shades)]
    trials = sum(row["method"] == method for row in table.rows)
    caption = (
        f"{trials:,} trials, {known.mean():.0%} of them recovered to 1e-6. "
        "White: none of a setting; grey: not run."
    )
    name = f"{experiment.name}-{method}".replace(" ", "-")
    title = f"{_who(method)}: {experiment.title}"
    if trials < experiment.trials * len(experiment.cells):
        title += f", {trials:,} of {experiment.trials * len(experiment.cells):,} trials"
    return Sketch(title, caption, name, f"Success rates of {method}", _SIZE, paint, keys)


def _ticks(axis: Any, values: Sequence[Any], write: Callable[[Any], str], most: int = 8) -> None:
    step = -(-len(values) // most)
    places = range(0, len(values), step)
    axis.set_ticks([*places], [write(values[k]) for k in places])


def _index(values: Sequence[float], value: float) -> float:
    """Where a number stands among evenly spaced ones, between two of them if need be."""
    return (value - values[0]) / (values[1] - values[0])


def _who(method: str) -> str:
    return {PAPER.name: "The paper's method", DEFAULT.name: "The default"}.get(method, method)


_SHADE_KEY = Key("all of the trials succeed", _ALWAYS, "bar")
_LIMIT_KEY = Key("r = (1 − s) m / (n1 + n2), the paper's red line", _LIMIT, "line")
_HALF_KEY = Key("half of the trials succeed", _HALF, "dot")


def _over_measurements(experiment: Experiment, table: Table, method: str) -> Sketch:
    counts = sorted({cell.measurements for cell in experiment.cells})
    ranks = sorted({cell.rank for cell in experiment.cells})
    half = transition(experiment, table, method)
    limits = {cell.rank: red_line(cell) for cell in experiment.cells}

    def finish(axes: Axes) -> None:
        height = [ranks.index(rank) for rank in ranks]
        axes.plot([_index(counts, limits[rank]) for rank in ranks], height, color=_LIMIT)
        axes.plot(
            [_index(counts, where) for where in half.values()],
            [ranks.index(rank) for rank in half],
            "o",
            color=_HALF,
            markersize=4,
        )
        axes.set_xlim(-0.5, len(counts) - 0.5)
        _ticks(axes.xaxis, counts, "{:,}".format)
        _ticks(axes.yaxis, ranks, str, 10)
        axes.set_xlabel("measurements m")
        axes.set_ylabel("rank r")

    def place(cell: Cell) -> tuple[int, int]:
        return cell.measurements, cell.rank

    keys = (_SHADE_KEY, _LIMIT_KEY, _HALF_KEY)
    return _plane(experiment, table, method, counts, ranks, place, finish, keys)


def _over_shares(experiment: Experiment, table: Table, method: str) -> Sketch:
    shares = sorted({cell.outliers for cell in experiment.cells})
    ranks = sorted({cell.rank for cell in experiment.cells})
    m, n = experiment.cells[0].measurements, sum(experiment.cells[0].shape)

    def finish(axes: Axes) -> None:
        line = np.linspace(0, shares[-1], 50)
        at = [_index(shares, share) for share in line]
        axes.plot(at, [_index(ranks, (1 - share) * m / n) for share in line], color=_LIMIT)
        axes.set_ylim(-0.5, len(ranks) - 0.5)
        _ticks(axes.xaxis, shares, "{:.0%}".format, 10)
        _ticks(axes.yaxis, ranks, str, 10)
        axes.set_xlabel("share of outliers s")
        axes.set_ylabel("rank r")

    def place(cell: Cell) -> tuple[float, int]:
        return cell.outliers, cell.rank

    keys = (_SHADE_KEY, _LIMIT_KEY)
    return _plane(experiment, table, method, shares, ranks, place, finish, keys)


def _over_kinds(experiment: Experiment, table: Table, method: str) -> Sketch:
    shares = sorted({cell.outliers for cell in experiment.cells})
    kinds = list(dict.fromkeys(cell.model for cell in experiment.cells))

    def finish(axes: Axes) -> None:
        _ticks(axes.xaxis, shares, "{:.0%}".format, 10)
        _ticks(axes.yaxis, kinds, str, 10)
        axes.set_xlabel("share of outliers")

    def place(cell: Cell) -> tuple[float, str]:
        return cell.outliers, cell.model

    return _plane(experiment, table, method, shares, kinds, place, finish, (_SHADE_KEY,))


_PLANES = {"m and r": _over_measurements, "s and r": _over_shares, "kinds": _over_kinds}


# Curves.


def _keys(labels: Sequence[str]) -> tuple[Key, ...]:
    colors, dashes = len(SERIES), len(DASHES)
    return tuple(  # where the colors begin again the dashes are others
        Key(label, SERIES[k % colors], "line", DASHES[(k + k // colors) % dashes])
        for k, label in enumerate(labels)
    )


def _family_keys(experiment: Experiment, names: Sequence[str]) -> tuple[Key, ...]:
    """A color for each solver, and dashes that tell its forms apart."""
    families: dict[Any, list[str]] = {}
    for method in experiment.methods:
        families.setdefault(method.solver, []).append(method.name)
    keys = {
        name: Key(name, color, "line", dash)
        for color, family in zip(SERIES, families.values(), strict=False)
        for dash, name in zip(DASHES, family, strict=False)
    }
    return tuple(keys[name] for name in names)


def _draw_logs(axes: Axes, key: Key, x: Any, y: Any, **style: Any) -> None:
    """A curve of positive numbers as logarithms, which ``decades`` labels."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    shown = np.isfinite(y) & (y > 0)
    drawn = {"color": key.color, "linestyle": line_style(key), "linewidth": 1.6} | style
    axes.plot(x[shown], np.log10(y[shown]), **drawn)


def _errors(experiment: Experiment, table: Table, methods: Sequence[str]) -> Sketch:
    keys = _family_keys(experiment, methods)

    def paint(axes: Axes) -> None:
        widths = np.linspace(3.5, 1.0, len(keys))  # what lies below is wider, and can be seen
        for key, method, width in zip(keys, methods, widths, strict=True):
            points = []
            for cell in experiment.cells:
                errors = [row["error"] for row in table.of(cell.key, method)]
                if errors:
                    points.append((cell.measurements, float(np.mean(errors))))
            style = {"marker": "o", "markersize": 2 + width / 2, "linewidth": width}
            _draw_logs(axes, key, *zip(*points, strict=True), **style)
        decades(axes.yaxis, *axes.get_ylim())
        axes.grid(visible=True, axis="y")
        axes.xaxis.set_major_formatter(_THOUSANDS)
        axes.set_xlabel("measurements m")
        axes.set_ylabel("mean error")

    caption = "The mean of ‖estimate − M‖ / ‖M‖ over the trials of a setting."
    return Sketch(experiment.title, caption, experiment.name, "Error against m", _SIZE, paint, keys)


def _traces(experiment: Experiment, table: Table, methods: Sequence[str], what: str) -> Sketch:
    """Error against iterations, reads or seconds: every trial, a typical one strong."""
    keys = _keys(methods)
    typical = _typical_trial(table, methods[0])

    def paint(axes: Axes) -> None:
        for key, method in zip(keys, methods, strict=True):
            rows = [row for row in table.rows if row["method"] == method]
            if what == "seconds":
                rows = [row for row in rows if key_of(row) in table.seconds]
            for row in rows:
                strong = row["trial"] == typical
                style = {"alpha": 1.0 if strong else 0.25, "linewidth": 1.6 if strong else 0.8}
                errors = [error for _, _, error in row["trace"]]
                _draw_logs(axes, key, _along(row, table, what), errors, **style)
        axes.set_xscale("log")
        decades(axes.yaxis, *axes.get_ylim())
        axes.grid(visible=True, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.set_xlabel(what)
        axes.set_ylabel("error")

    caption = (
        f"{experiment.trials} trials, the one with the median error of {methods[0]} drawn "
        "strong; the start is at ½ on an axis that has no zero. With noise, no error can be zero."
    )
    title = experiment.title.replace("iterations", what)
    name = f"{experiment.name}-{what.split()[0]}"
    return Sketch(title, caption, name, f"Error against {what}", _SIZE, paint, keys)


def _typical_trial(table: Table, method: str) -> int:
    """The number of the trial that a method ends with its median error."""
    rows = sorted((row for row in table.rows if row["method"] == method), key=itemgetter("error"))
    return int(rows[len(rows) // 2]["trial"])


def _along(row: Row, table: Table, what: str) -> list[float]:
    """Where the points of a trace lie; seconds are shared out by reads, which take them."""
    if what == "iterations":
        return [max(float(iteration), 0.5) for iteration, _, _ in row["trace"]]
    reads = [max(float(passes), 0.5) for _, passes, _ in row["trace"]]
    if what == "seconds":
        return [table.seconds[key_of(row)] * passes / reads[-1] for passes in reads]
    return reads


def _over_condition(experiment: Experiment, table: Table, methods: Sequence[str]) -> Sketch:
    """Success rates with their intervals."""
    keys = _keys([_who(method) for method in methods])
    numbers = [float(cell.condition_number or 1) for cell in experiment.cells]

    def paint(axes: Axes) -> None:
        for key, method in zip(keys, methods, strict=True):
            rates = [rate(table, cell, method) for cell in experiment.cells]
            drawn = {"color": key.color, "marker": "o", "linestyle": line_style(key)}
            axes.plot(numbers, [r.value for r in rates], markersize=3, **drawn)
            low, high = zip(*(r.interval for r in rates), strict=True)
            axes.fill_between(numbers, low, high, color=key.color, alpha=0.12, linewidth=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_THOUSANDS)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("condition number")
        axes.set_ylabel("recovered to 1e-6")

    caption = "The bands are 95 % Wilson intervals."
    return Sketch(experiment.title, caption, experiment.name, experiment.title, _SIZE, paint, keys)


def _over_sizes(experiment: Experiment, table: Table, methods: Sequence[str]) -> Sketch:
    """Where half succeed, against the size: a curve for every method and share of outliers."""
    shares = sorted({cell.outliers for cell in experiment.cells})
    curves = [(method, share) for method in methods for share in shares]
    keys = tuple(
        Key(
            f"{_who(method)}, {share:.0%} outliers",
            SERIES[methods.index(method)],
            "line",
            DASHES[shares.index(share)],
        )
        for method, share in curves
    )

    def paint(axes: Axes) -> None:
        for key, (method, share) in zip(keys, curves, strict=True):
            half = transition_by_size(experiment, table, method, share)
            drawn = {"color": key.color, "marker": "o", "linestyle": line_style(key)}
            axes.plot([*half], [*half.values()], markersize=3, **drawn)
        axes.set_xscale("log")
        sizes = sorted({cell.shape[0] for cell in experiment.cells})
        axes.set_xticks(sizes, map(str, sizes))
        axes.minorticks_off()
        axes.set_ylim(bottom=1.0)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("n, of an n × n matrix")
        axes.set_ylabel("clean measurements\nfor each degree of freedom")

    caption = "Where half of the trials succeed; one is the least that any method can do with."
    return Sketch(experiment.title, caption, experiment.name, experiment.title, _SIZE, paint, keys)


_LINES = {"errors": _errors, "condition": _over_condition, "sizes": _over_sizes}
