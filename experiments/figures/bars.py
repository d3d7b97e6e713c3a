"""Success rates by setting for the solver study, and statuses for the certificate study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from experiments.definition import Cell, Study
from experiments.figures.labels import FIGURE_SIZE, PERCENT, display_name
from experiments.rows import Table
from experiments.statistics import rate
from robustrank.report.canvas import SERIES, Key, Sketch
from robustrank.result import Status

_METHOD_COLORS = (SERIES[0], SERIES[5], SERIES[1])
_STATUS_COLORS = {
    Status.RECOVERED: SERIES[2],
    Status.ESTIMATED: SERIES[0],
    Status.AMBIGUOUS: SERIES[3],
    Status.INCONCLUSIVE: SERIES[1],
    Status.UNDERDETERMINED: SERIES[4],
}
_OTHER_STATUS = SERIES[5]


def by_setting(study: Study[Cell], table: Table, methods: Sequence[str]) -> Sketch:
    """The success rate of each method at each setting without noise, with its interval."""
    cells = [cell for cell in study.cells if not cell.noise]
    keys = tuple(
        Key(display_name(method), color, "dot")
        for method, color in zip(methods, _METHOD_COLORS, strict=False)
    )

    def paint(axes: Axes) -> None:
        for k, (key, method) in enumerate(zip(keys, methods, strict=True)):
            for place, cell in enumerate(cells):
                found = rate(table, cell, method)
                if not found.trials:
                    continue
                height = -place + 0.22 * (1 - k)
                axes.plot(found.interval, [height, height], color=key.color, lw=1, alpha=0.6)
                axes.plot(found.value, height, "o", color=key.color, markersize=3.5)
        axes.set_yticks([-place for place in range(len(cells))], [cell.label for cell in cells])
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(0.5 - len(cells), 0.5)
        axes.xaxis.set_major_formatter(PERCENT)
        axes.set_xlabel("recovered to 1e-6")
        axes.grid(visible=True, axis="x")

    caption = "The lines are 95 % Wilson intervals; they are wide where few trials were run."
    size = (5.2, 1.0 + 0.2 * len(cells))
    return Sketch(study.title, caption, study.name, "Success rates by setting", size, paint, keys)


def by_status(study: Study[Any], table: Table, methods: Sequence[str]) -> Sketch:
    """How often each status is reported, for each kind of problem."""
    rows = [row for row in table.rows if row["method"] in methods]
    kinds = [cell.family for cell in study.cells]
    counts = Counter((row["family"], row["status"]) for row in rows)
    keys = tuple(
        Key(status.name, _STATUS_COLORS.get(status, _OTHER_STATUS), "bar")
        for status in Status
        if any(counts[kind, status.name] for kind in kinds)
    )

    def paint(axes: Axes) -> None:
        left = [0] * len(kinds)
        for key in keys:
            widths = [counts[kind, key.label] for kind in kinds]
            axes.barh([-k for k in range(len(kinds))], widths, 0.6, left, color=key.color)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.set_yticks([-k for k in range(len(kinds))], kinds)
        axes.set_xlabel("problems")

    caption = "Only RECOVERED and ESTIMATED certify a result."
    title, name = study.title, study.name
    return Sketch(title, caption, name, "Statuses by kind of problem", FIGURE_SIZE, paint, keys)
