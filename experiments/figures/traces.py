"""The error against iterations, passes or seconds: figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from experiments.definition import Cell, Study
from experiments.figures.curves import draw_logs
from experiments.figures.labels import FIGURE_SIZE, line_keys
from experiments.rows import Row, Table, key_of
from robustrank.report.canvas import Sketch, decades

ITERATIONS, PASSES, SECONDS = "iterations", "passes over the sensing data", "seconds"


def traces(study: Study[Cell], table: Table, methods: Sequence[str]) -> list[Sketch]:
    """One figure for each quantity that is known."""
    quantities = [ITERATIONS, PASSES, *([SECONDS] if table.seconds else [])]
    return [_against(study, table, methods, quantity) for quantity in quantities]


def _against(study: Study[Cell], table: Table, methods: Sequence[str], quantity: str) -> Sketch:
    """All trials as thin lines and a typical one as a thick line."""
    keys = line_keys(methods)
    typical = _typical_trial(table, methods[0])

    def paint(axes: Axes) -> None:
        for key, method in zip(keys, methods, strict=True):
            rows = [row for row in table.rows if row["method"] == method]
            if quantity == SECONDS:
                rows = [row for row in rows if key_of(row) in table.seconds]
            for row in rows:
                strong = row["trial"] == typical
                style = {"alpha": 1.0 if strong else 0.25, "linewidth": 1.6 if strong else 0.8}
                errors = [error for _, _, error in row["trace"]]
                draw_logs(axes, key, _positions(row, table, quantity), errors, **style)
        axes.set_xscale("log")
        decades(axes.yaxis, *axes.get_ylim())
        axes.grid(visible=True, axis="y")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.set_xlabel(quantity)
        axes.set_ylabel("error")

    caption = (
        f"{study.trials} trials; the one with the median error of {methods[0]} is drawn as a thick "
        "line. The start is drawn at ½, because a logarithmic axis has no zero. With noise, no "
        "error can reach zero."
    )
    title = study.title.replace(ITERATIONS, quantity)
    name = f"{study.name}-{quantity.split()[0]}"
    return Sketch(title, caption, name, f"Error against {quantity}", FIGURE_SIZE, paint, keys)


def _typical_trial(table: Table, method: str) -> int:
    """The number of the trial with the median error of a method."""
    rows = sorted((row for row in table.rows if row["method"] == method), key=itemgetter("error"))
    return int(rows[len(rows) // 2]["trial"])


def _positions(row: Row, table: Table, quantity: str) -> list[float]:
    """The positions of the points of a trace; seconds are assumed proportional to passes."""
    if quantity == ITERATIONS:
        return [max(float(iteration), 0.5) for iteration, _, _ in row["trace"]]
    passes = [max(float(count), 0.5) for _, count, _ in row["trace"]]
    if quantity == SECONDS:
        return [table.seconds[key_of(row)] * count / passes[-1] for count in passes]
    return passes
