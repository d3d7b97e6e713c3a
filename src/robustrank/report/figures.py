"""The convergence curves and the singular values."""

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
    Picture,
    decades,
    draw,
    line_style,
)
from robustrank.report.formatting import number, solver_labels
from robustrank.result import History, Result

Values = np.ndarray[Any, Any]

_SIZE = (4.5, 2.75)
_SQUARER = (4.5, 3.1)
# If one solver takes this many times the iterations of another, the axis is logarithmic.
_UNEVEN = 20
# Singular values with a larger ratio than this are shown on a logarithmic axis.
_SPREAD = 30


def convergence(recoveries: Sequence[Result]) -> Picture:
    """The misfit against iterations, one curve per solver."""
    curves = [_curve(recovery.history) for recovery in recoveries]
    names = solver_labels(recoveries)
    ends = [_last(recovery.history) for recovery in recoveries]
    keys = tuple(
        Key(f"{name}, ends at {end}", SERIES[i % len(SERIES)], "line", DASHES[i % len(DASHES)])
        for i, (name, end) in enumerate(zip(names, ends, strict=True))
    )

    def paint(axes: Axes) -> None:
        for key, (iterations, misfit) in zip(keys, curves, strict=True):
            axes.plot(iterations, misfit, color=key.color, linewidth=1.6, linestyle=line_style(key))
            axes.plot(iterations[-1:], misfit[-1:], "o", color=key.color, markersize=4)
        _label_convergence(axes, [recovery.iterations for recovery in recoveries])

    described = "; ".join(key.label for key in keys)
    return Picture(
        "Convergence",
        "The misfit is the median |residual| divided by the median |y|. A steadily falling curve "
        "is converging; a curve that stays flat at a high misfit has stalled.",
        draw("convergence", f"Misfit against iterations: {described}", _SIZE, paint),
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
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def spectrum(found: Values, true: Values | None = None, *, matrix: str = "recovered") -> Picture:
    """The singular values of the recovered or completed matrix, and of the true one if known."""
    found = _shown(found)
    true = None if true is None else _shown(true)
    everything = found if true is None else np.concatenate([found, true])

    def paint(axes: Axes) -> None:
        use_logs = _spread(everything) > _SPREAD or not _ordinary(everything)
        if true is not None:
            axes.plot(*_points(true, use_logs), "o", ms=9, mfc="none", mec=OUTLIER, mew=1.4)
        axes.plot(*_points(found, use_logs), "o", ms=5, color=INLIER)
        _label_spectrum(axes, use_logs, top=1.12 * everything.max(initial=0.0))

    keys: tuple[Key, ...] = (Key(matrix, INLIER, "dot"),)
    caption = (
        f"The singular values of the {matrix} matrix, largest first. If the last ones are close "
        "to zero, a lower rank is sufficient."
    )
    if true is not None:
        keys = (*keys, Key("true", OUTLIER, "ring"))
        caption += " Each dot should be at the center of its ring."
    shown = ", ".join(number(value) for value in found[:8]) or "none is finite"
    svg = draw("spectrum", f"Singular values, largest first: {shown}", _SQUARER, paint)
    return Picture("Singular values", caption, svg, keys)


def _shown(values: Values) -> Values:
    return values[np.isfinite(values)]


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
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    axes.margins(x=0.1)
    axes.grid(visible=True, axis="y")
    axes.set_xlabel("index")
    axes.set_ylabel("singular value")
