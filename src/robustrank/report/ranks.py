"""The comparison of ranks, if none was given."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from robustrank.report.canvas import INLIER, OUTLIER, Key, Picture, decades, draw
from robustrank.report.formatting import number
from robustrank.result import RankTable

_SIZE = (4.5, 3.1)
_SMALLEST = 1e-16  # smaller errors are drawn here


def rank_comparison(table: RankTable) -> Picture:
    """The error of predictions against the rank, with the chosen rank marked."""
    rows = [row for row in table.rows if np.isfinite(row.error)]
    ranks = np.asarray([row.rank for row in rows])
    errors = np.log10(np.maximum([row.error for row in rows], _SMALLEST))
    chosen = ranks == table.chosen

    def paint(axes: Axes) -> None:
        axes.plot(ranks, errors, "-o", ms=5, lw=1.2, color=INLIER)
        axes.plot(ranks[chosen], errors[chosen], "o", ms=10, mfc="none", mec=OUTLIER, mew=1.6)
        axes.margins(x=0.1, y=0.1)
        decades(axes.yaxis, *axes.get_ylim())
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("rank")
        axes.set_ylabel("error of predictions")

    caption = (
        "The expected error for a measurement that was not used, relative to a typical one, for "
        f"each rank that was compared. {'The' if table.is_clear else 'No'} gap is clear: "
        f"rank {table.chosen} was used."
    )
    shown = ", ".join(f"{row.rank}: {number(row.error)}" for row in rows[:12])
    svg = draw("ranks", f"Error of predictions by rank: {shown}", _SIZE, paint)
    keys = Key("rank", INLIER, "dot"), Key("chosen", OUTLIER, "ring")
    return Picture("Ranks", caption, svg, keys)
