"""One style for every figure: a function that draws on axes goes in, inline SVG comes out."""

from __future__ import annotations

import html
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from robustrank.files import PathLike, atomic_writer
from robustrank.report.formatting import number_from_log, power_of_ten

INK = "#24313d"
GRID = "#dfe5ea"
INLIER = "#2b6cb0"
OUTLIER = "#dd6b20"
SERIES = (INLIER, OUTLIER, "#2f855a", "#805ad5", "#b83280", "#4a5560")
DASHES = ("", "6 3", "2 2", "8 2 2 2", "10 3", "4 1")

# Variables of the style sheet that replace these colors, so that dark mode changes the figures.
_THEME = {INK: "--ink", GRID: "--grid"} | {
    color: f"--series-{place}" for place, color in enumerate(SERIES, start=1)
}

_LEGEND_GAP = 0.576  # inches below the axes of an image
_TITLE_WIDTH = 58  # in characters, above one pair of axes of an image

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text elements: small, selectable, in the font of the page
    "text.parse_math": False,  # the name of a solver may contain $
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "figure.constrained_layout.w_pad": 0.08,  # inches; the font of the browser may be wider
}


@dataclass(frozen=True)
class Key:
    """One entry of a legend."""

    label: str
    color: str
    mark: str  # "line", "bar", "dot" or "ring"
    dash: str = ""  # of a line, as in SVG


@dataclass(frozen=True)
class Picture:
    """A drawn figure with its title, caption and legend."""

    title: str
    caption: str
    svg: str
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Sketch:
    """A figure that can be drawn for a page or into an image file."""

    title: str
    caption: str
    name: str
    description: str
    size: tuple[float, float]  # inches
    paint: Callable[[Axes], None]
    keys: tuple[Key, ...] = ()

    def picture(self) -> Picture:
        """The figure as SVG, for a page."""
        svg = draw(self.name, self.description, self.size, self.paint)
        return Picture(self.title, self.caption, svg, self.keys)


def write_image(path: PathLike, sketches: Sequence[Sketch]) -> None:
    """Write figures next to each other to a PNG file, each with its title and legend."""
    with _figure_style():
        width = sum(sketch.size[0] for sketch in sketches)
        height = max(sketch.size[1] for sketch in sketches) + 0.7
        figure = Figure(figsize=(width, height), layout="constrained")
        for place, sketch in enumerate(sketches, start=1):
            axes = figure.add_subplot(1, len(sketches), place)
            sketch.paint(axes)
            axes.set_title("\n".join(textwrap.wrap(sketch.title, _TITLE_WIDTH)), fontsize=9)
            below, columns = (0.5, -_LEGEND_GAP / sketch.size[1]), 1 + (len(sketch.keys) > 3)
            add_legend(axes, sketch.keys, loc="upper center", bbox_to_anchor=below, ncols=columns)
        with atomic_writer(path) as stream:
            figure.savefig(stream, format="png", dpi=144, facecolor="white")


@contextmanager
def _figure_style(more: Mapping[Any, Any] | None = None) -> Iterator[None]:
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a style sheet of the user must not change the page
        matplotlib.rcParams.update({**_STYLE, **(more or {})})
        yield


def add_legend(axes: Axes, keys: Sequence[Key], **place: Any) -> None:
    """A legend, if there are keys; ``place`` are options of ``Axes.legend``."""
    if keys:
        handles = [_sample(key) for key in keys]
        axes.legend(handles=handles, frameon=False, fontsize=8, **place)


def _sample(key: Key) -> Line2D:
    """The line, dot or square of a legend entry."""
    marker = {"line": "", "dot": "o", "ring": "o", "bar": "s"}[key.mark]
    return Line2D(
        [],
        [],
        color=key.color,
        label=key.label,
        marker=marker,
        linestyle="none" if marker else line_style(key),
        markerfacecolor="none" if key.mark == "ring" else key.color,
    )


def line_style(key: Key) -> Any:
    """The dashes of a line in matplotlib's format."""
    dashes = tuple(float(length) / 1.6 for length in key.dash.split())
    return (0, dashes) if dashes else "-"


def draw(
    name: str, description: str, size: tuple[float, float], paint: Callable[[Axes], None]
) -> str:
    """The SVG of one pair of axes, reproducible to the byte; ``size`` is in inches."""
    stream = io.StringIO()
    with _figure_style({"svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="compressed")
        paint(figure.add_subplot())
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, dpi=144, metadata=no_metadata)
    return _inline(stream.getvalue(), name, description)


def _inline(document: str, name: str, description: str) -> str:
    """The svg element alone, without a fixed size, with ids that no other figure has."""
    svg = document[document.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="', f' id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None, "matplotlib always writes a viewBox"  # noqa: S101
    label = html.escape(description)
    opening = f'<svg {box[0]} role="img" aria-label="{label}">'
    return opening + themed(svg[svg.index(">") + 1 :])


def themed(svg: str) -> str:
    """The same drawing with the color variables of the style sheet, for light and dark mode."""
    for color, variable in _THEME.items():
        svg = svg.replace(color, f"var({variable}, {color})")
    return svg


def count_ticks(axis: Axis, ticks: int = 5) -> None:
    """Whole numbers as ticks, with commas between thousands."""
    axis.set_major_locator(MaxNLocator(nbins=ticks, integer=True, min_n_ticks=1))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def decades(axis: Axis, low: float, high: float) -> None:
    """Label an axis of log₁₀ values with the values themselves."""
    whole = range(math.ceil(low), math.floor(high) + 1)
    if len(whole) >= 2:
        stride = math.ceil(len(whole) / 6)
        # Multiples of the stride keep 10⁰ labeled if it is in range.
        ticks = [exponent for exponent in whole if exponent % stride == 0]
        axis.set_ticks(ticks, [power_of_ten(exponent) for exponent in ticks])
    else:
        exponents = range(math.floor(low), math.floor(high) + 1)
        candidates = [math.log10(k) + exponent for exponent in exponents for k in (1, 2, 5)]
        places = [place for place in candidates if low <= place <= high]
        if len(places) < 2:
            places = np.linspace(low, high, 4).tolist()
        axis.set_ticks(places, [number_from_log(place) for place in places])
