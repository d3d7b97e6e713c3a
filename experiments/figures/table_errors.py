"""The errors of methods that fill tables, relative to the best peer, by kind of corruption."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from experiments.tables.methods import OURS
from experiments.tables.summary import Comparison
from robustrank.report.canvas import INLIER, OUTLIER, Key, Sketch

_FAR = 10.0  # ratios above this are drawn here


def table_errors(found: Comparison) -> Sketch:
    """A dot for each table and a ring for the geometric mean, one line for each method."""
    names = sorted(found.errors, key=found.mean, reverse=True)
    keys = (Key("one table", INLIER, "dot"), Key("geometric mean", OUTLIER, "ring"))

    def paint(axes: Axes) -> None:
        for place, name in enumerate(names):
            ratios = [min(ratio, _FAR) for ratio in found.ratios(name).values()]
            axes.plot(ratios, [place] * len(ratios), "o", color=INLIER, ms=3, alpha=0.6)
            mean = found.ratio(name)
            if math.isfinite(mean):
                axes.plot(mean, place, "o", mec=OUTLIER, mfc="none", ms=8)
        axes.axvline(1.0, color=OUTLIER, lw=0.6)
        axes.set_xscale("log")
        ticks = (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(names)), [f"{n} *" if n == OURS else n for n in names])
        axes.set_xlabel(f"error / error of {found.best_peer}")

    caption = "Root mean square error of hidden cells. The methods are ordered by their mean error."
    size = (4.2, 1.0 + 0.22 * len(names))
    return Sketch(found.family, caption, "tables", "Errors by method", size, paint, keys)
