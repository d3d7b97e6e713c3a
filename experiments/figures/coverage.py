"""The coverage of intervals, and the reliability of the probabilities of outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from experiments.definition import Study
from experiments.figures.labels import FIGURE_SIZE, PERCENT
from experiments.rows import Row, Table
from experiments.studies.coverage import BINS, NOISES, CoverageCell
from robustrank.report.canvas import OUTLIER, SERIES, Key, Sketch

_LEVEL = "0.95"


def coverage(study: Study[Any], table: Table) -> list[Sketch]:
    """Both figures."""
    rows = [row for row in table.rows if "inside" in row]
    return [_coverage(study, rows), _reliability(study, rows)]


def mean_coverage(cell: CoverageCell, rows: Sequence[Row], level: str) -> float | None:
    """The share of entries inside their intervals, over the certified results of a setting."""
    inside = [row["inside"][level] for row in rows if row["cell"] == cell.key]
    return float(np.mean(inside)) if inside else None


def _coverage(study: Study[Any], rows: Sequence[Row]) -> Sketch:
    groups = list(dict.fromkeys((cell.family, cell.ratio) for cell in study.cells))
    colors = dict(zip(NOISES, SERIES, strict=False))

    def paint(axes: Axes) -> None:
        for cell in study.cells:
            found = mean_coverage(cell, rows, _LEVEL)
            if found is not None:
                place = groups.index((cell.family, cell.ratio))
                shift = 0.22 * (NOISES.index(cell.noise) - 1)
                axes.plot(place + shift, found, "o", ms=4, color=colors[cell.noise], alpha=0.8)
        axes.axhline(float(_LEVEL), color=OUTLIER, lw=1)
        axes.axhspan(float(_LEVEL) - 0.02, float(_LEVEL) + 0.02, color=OUTLIER, alpha=0.12, lw=0)
        axes.set_xticks(range(len(groups)), [f"{family} {ratio:g}" for family, ratio in groups])
        axes.yaxis.set_major_formatter(PERCENT)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("measurements per degree of freedom")
        axes.set_ylabel("entries inside their interval")

    keys = tuple(Key(f"{noise} noise", color, "dot") for noise, color in colors.items())
    caption = (
        "The share of entries of the true matrix inside intervals of 95 %, over the certified "
        "results of 10 trials. Each dot is a fraction and a kind of outliers; the band is ± 2 "
        "points."
    )
    title = study.title.capitalize()
    return Sketch(title, caption, study.name, title, FIGURE_SIZE, paint, keys)


def _reliability(study: Study[Any], rows: Sequence[Row]) -> Sketch:
    colors = dict(zip(NOISES, SERIES, strict=False))

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=OUTLIER, lw=1)
        for noise, color in colors.items():
            chosen = [row for row in rows if row["cell"].endswith(noise)]
            count, expected, found = (
                np.sum([row[name] for row in chosen] or [[0] * BINS], axis=0)
                for name in ("measurements", "expected", "outliers")
            )
            some = count > 0
            axes.plot(
                expected[some] / count[some], found[some] / count[some], "o-", ms=4, color=color
            )
        axes.xaxis.set_major_formatter(PERCENT)
        axes.yaxis.set_major_formatter(PERCENT)
        axes.grid(visible=True)
        axes.set_xlabel("probability of being an outlier, as computed")
        axes.set_ylabel("share that are outliers")

    caption = (
        "All measurements of the certified results, in ten groups by their probability of being an "
        "outlier. If the probabilities are right, the dots are on the line."
    )
    title = f"Probabilities of outliers: {study.title}"
    keys = tuple(Key(f"{noise} noise", color, "dot") for noise, color in colors.items())
    return Sketch(title, caption, f"{study.name}-reliability", title, FIGURE_SIZE, paint, keys)
