"""Curves and dots: convergence, singular values, and the ranks that were compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from robustrank.report.canvas import (
    DASHES,
    INLIER,
    OUTLIER,
    SERIES,
    Key,
    Sketch,
    count_ticks,
    decades,
    line_style,
)
from robustrank.report.formatting import number, solver_labels
from robustrank.result import History, RankTable, Result

Values = np.ndarray[Any, Any]

_SIZE = (4.5, 2.75)
_SQUARER = (4.5, 3.1)
# If one solver takes this many times the iterations of another, the axis is logarithmic.
_UNEVEN = 20
# Singular values with a larger ratio than this are shown on a logarithmic axis.
_SPREAD = 30
_SMALLEST = 1e-16  # smaller errors of predictions are drawn here


def convergence(results: Sequence[Result]) -> Sketch:
    """The misfit against iterations, one curve per solver that has a history."""
    curves = [_curve(result.history) for result in results]
    ends = [_last(result.history) for result in results]
    keys = tuple(
        Key(f"{name}, ends at {end}", SERIES[i % len(SERIES)], "line", DASHES[i % len(DASHES)])
        for i, (name, end) in enumerate(zip(solver_labels(results), ends, strict=True))
    )

    def paint(axes: Axes) -> None:
        for key, (iterations, misfit) in zip(keys, curves, strict=True):
            axes.plot(iterations, misfit, color=key.color, linewidth=1.6, linestyle=line_style(key))
            axes.plot(iterations[-1:], misfit[-1:], "o", color=key.color, markersize=4)
        _label_convergence(axes, [result.iterations for result in results])

    return Sketch(
        "Convergence",
        "The misfit is the median |residual| divided by the median |y|. A steadily falling curve "
        "is converging; a curve that stays flat at a high misfit has stalled.",
        "convergence",
        f"Misfit against iterations: {'; '.join(key.label for key in keys)}",
        _SIZE,
        paint,
        keys,
    )


def _curve(history: History) -> tuple[Values, Values]:
    """Iterations and log₁₀ misfit, without checks whose misfit is zero or not finite."""
    misfit = np.asarray(history.column("misfit"), float)
    shown = np.isfinite(misfit) & (misfit > 0)
    return np.asarray(history.column("iteration"), float)[shown], np.log10(misfit[shown])


def _last(history: History) -> str:
    return number(history.checks[-1].misfit) if history.checks else "no value"


def _label_convergence(axes: Axes, iterations: Sequence[int]) -> None:
    decades(axes.yaxis, *axes.get_ylim())
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("iterations")
    axes.set_ylabel("misfit")
    if max(iterations) > _UNEVEN * max(min(iterations), 1):
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    else:
        count_ticks(axes.xaxis, 6)
    axes.set_xlim(left=0)


def singular_values(found: Values, true: Values | None = None) -> Sketch:
    """The singular values of the recovered matrix, and of the true one if known."""
    found = found[np.isfinite(found)]
    true = None if true is None else true[np.isfinite(true)]
    everything = found if true is None else np.concatenate([found, true])

    def paint(axes: Axes) -> None:
        use_logs = _spread(everything) > _SPREAD or not _ordinary(everything)
        if true is not None:
            axes.plot(*_points(true, use_logs), "o", ms=9, mfc="none", mec=OUTLIER, mew=1.4)
        axes.plot(*_points(found, use_logs), "o", ms=5, color=INLIER)
        _label_spectrum(axes, use_logs, top=1.12 * everything.max(initial=0.0))

    keys: tuple[Key, ...] = ()
    caption = (
        "The singular values of the recovered matrix, largest first. If the last ones are close "
        "to zero, a lower rank is sufficient."
    )
    if true is not None:
        keys = Key("recovered", INLIER, "dot"), Key("true", OUTLIER, "ring")
        caption += " Each dot should be at the center of its ring."
    shown = ", ".join(number(value) for value in found[:8]) or "none is finite"
    described = f"Singular values, largest first: {shown}"
    return Sketch("Singular values", caption, "spectrum", described, _SQUARER, paint, keys)


def _spread(values: Values) -> float:
    positive = values[values > 0]
    return float(positive.max() / positive.min()) if positive.size else 1.0


def _ordinary(values: Values) -> bool:
    """Whether matplotlib can draw the values on a linear axis without over- or underflow."""
    largest = values.max(initial=0.0)
    return bool(largest == 0 or 1e-200 < largest < 1e200)


def _points(values: Values, use_logs: bool) -> tuple[Values, Values]:
    places = np.arange(1, len(values) + 1)
    if not use_logs:
        return places, values
    return places[values > 0], np.log10(values[values > 0])


def _label_spectrum(axes: Axes, use_logs: bool, top: float) -> None:
    if use_logs:
        decades(axes.yaxis, *axes.get_ylim())
    else:
        axes.set_ylim(0, top or 1.0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    count_ticks(axes.xaxis, 8)
    axes.margins(x=0.1)
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("index")
    axes.set_ylabel("singular value")


def ranks(table: RankTable) -> Sketch:
    """The error of predictions against the rank, with the chosen rank marked."""
    rows = [row for row in table.rows if np.isfinite(row.error)]
    compared = np.asarray([row.rank for row in rows])
    errors = np.log10(np.maximum([row.error for row in rows], _SMALLEST))
    chosen = compared == table.chosen

    def paint(axes: Axes) -> None:
        axes.plot(compared, errors, "-o", ms=5, lw=1.2, color=INLIER)
        axes.plot(compared[chosen], errors[chosen], "o", ms=10, mfc="none", mec=OUTLIER, mew=1.6)
        axes.margins(x=0.1, y=0.1)
        decades(axes.yaxis, *axes.get_ylim())
        count_ticks(axes.xaxis, 8)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("rank")
        axes.set_ylabel("error of predictions")

    caption = (
        "The expected error for a measurement that was not used, relative to a typical one, for "
        f"each rank that was compared. Rank: {table.sentence}."
    )
    shown = ", ".join(f"{row.rank}: {number(row.error)}" for row in rows[:12])
    keys = Key("compared", INLIER, "dot"), Key("chosen", OUTLIER, "ring")
    described = f"Error of predictions by rank: {shown}"
    return Sketch("Ranks", caption, "ranks", described, _SQUARER, paint, keys)
