"""The measurements needed against the fraction of outliers: the studies for planning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from experiments.definition import Study
from experiments.figures.labels import FIGURE_SIZE, PERCENT, display_name
from experiments.rows import Table
from experiments.success_curves import MODELS, fit_curves, points
from robustrank.planning.curves import Curve, smallness
from robustrank.report.canvas import DASHES, SERIES, Key, Sketch, line_style

_SHAPE, _RANK = (60, 48), 3
_SHARES = {0.95: DASHES[0], 0.5: DASHES[1]}  # the probability of success
_LIMIT_COLOR = "#c53030"
_LIMIT_KEY = Key("information limit", _LIMIT_COLOR, "line")

Line = tuple[str, float]  # kind of outliers, noise


def over_outliers(study: Study[Any], table: Table, method: str) -> Sketch:
    """Inliers per degree of freedom at which 95 % or half of the trials succeed."""
    curves = [curve for curve in fit_curves([*points(study, table)]) if curve.method == method]
    lines = _lines([curve for curve in curves if curve.is_known])
    colors = dict(zip(lines, SERIES, strict=False))

    def paint(axes: Axes) -> None:
        for line, members in lines.items():
            for share, dash in _SHARES.items():
                style = line_style(Key("", colors[line], "line", dash))
                places = _places(members, share)
                axes.plot(*places, color=colors[line], linestyle=style, marker="o", markersize=3)
        axes.axhline(1.0, color=_LIMIT_COLOR)
        axes.xaxis.set_major_formatter(PERCENT)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("fraction of outliers")
        axes.set_ylabel("inliers per degree of freedom")

    caption = (
        "For a success rate of 95 % (dashed: 50 %), for a "
        f"{_SHAPE[0]} × {_SHAPE[1]} matrix of rank {_RANK}, by curves fitted to all sizes of this "
        "study. A line ends where no trial had so many inliers."
    )
    keys = tuple(Key(_label(*line), color, "line") for line, color in colors.items())
    title = f"{display_name(method)}: {study.title}"
    name = f"{study.name}-{method}".replace(" ", "-")
    return Sketch(title, caption, name, title, FIGURE_SIZE, paint, (*keys, _LIMIT_KEY))


def _lines(curves: Sequence[Curve]) -> dict[Line, list[Curve]]:
    """The curves of each line, by the fraction of outliers; no outliers are of every kind."""
    lines: dict[Line, list[Curve]] = {}
    for model in MODELS:
        for curve in curves:
            if curve.outlier_model == model or not curve.outliers:
                lines.setdefault((model, curve.noise), []).append(curve)
    return {line: found for line, found in lines.items() if any(c.outliers for c in found)}


def _places(curves: Sequence[Curve], share: float) -> tuple[list[float], list[float]]:
    """The fractions of outliers, and the inliers per degree of freedom as far as trials have."""
    u = smallness(curves[0].family, _SHAPE, _RANK)
    ratios = [(curve, curve.inliers_per_freedom(share, u)) for curve in curves]
    inside = [(curve.outliers, ratio) for curve, ratio in ratios if ratio <= curve.ratio[1]]
    return [s for s, _ in inside], [ratio for _, ratio in inside]


def _label(model: str, noise: float) -> str:
    return f"{model}, noise {noise:.0%}" if noise else model
