"""Names, sizes and legends that the figures share."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import FuncFormatter

from experiments.definition import DEFAULT, ORACLE, PAPER
from experiments.studies.entries import LEAST_SQUARES
from robustrank.report.canvas import DASHES, SERIES, Key

FIGURE_SIZE = (4.5, 3.2)  # inches
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")
PERCENT = FuncFormatter(lambda value, _: f"{value:.0%}")

_DISPLAY_NAMES = {
    PAPER.name: "The paper's method",
    DEFAULT.name: "The default",
    ORACLE.name: "The default, true inliers known",
    LEAST_SQUARES.name: "Least squares, true inliers known",
}


def display_name(method: str) -> str:
    """The name of a method in titles and legends."""
    return _DISPLAY_NAMES.get(method, method)


def line_keys(labels: Sequence[str]) -> tuple[Key, ...]:
    """A color and a dash pattern for each label; when colors repeat, the dashes differ."""
    colors, dashes = len(SERIES), len(DASHES)
    return tuple(
        Key(label, SERIES[k % colors], "line", DASHES[(k + k // colors) % dashes])
        for k, label in enumerate(labels)
    )
