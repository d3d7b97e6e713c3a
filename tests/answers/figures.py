"""What reports show: bars, curves, images, ticks and texts of figures, and numbers in the text.

``python tests/answers/figures.py`` writes ``figures.json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from answers import lines_of, numbers_in, plain
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

import robustrank as rr
from robustrank.report import render_report
from robustrank.report.canvas import DASHES, SERIES, Key, Sketch, line_style, write_image
from robustrank.result import Check, History, Measurements

FILE = Path(__file__).with_name("figures.json")
PAGES: dict[str, Callable[[], Any]] = {}
MARKS = {"curve": "line", "dots": "dot", "bars": "bar", "rings": "ring"}


# --- Descriptions ----------------------------------------------------------------------------


def described(page: Callable[[], Any]) -> dict[str, Any]:
    """The figures that are drawn for a page, and the numbers in its text."""
    figures: list[Any] = []

    def keep(figure: Figure, _: Any, **options: Any) -> None:
        figure.draw_without_rendering()  # places the ticks
        figures.append([[*figure.get_size_inches()], options.get("dpi"), *map(_axes, figure.axes)])
        save(figure, _, **options)

    save = Figure.savefig
    with mock.patch.object(Figure, "savefig", keep):
        text = page() or ""
    shown = {f"figure {k}": figure for k, figure in enumerate(figures)}
    described: dict[str, Any] = plain(shown | {"numbers": numbers_in(_words(text))})
    return described


def _words(page: str) -> str:
    """The text of a page without its figures and its style."""
    page = re.sub(r"<(svg|style|script|head|footer)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", page).replace("\xa0", " ")


def _axes(axes: Axes) -> dict[str, Any]:
    rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    images = [child for child in axes.get_children() if isinstance(child, AxesImage)]
    texts = [child for child in axes.texts if isinstance(child, Annotation)]
    legend = axes.get_legend()
    return {
        "title": (axes.get_title(), axes.title.get_fontsize()),
        "x": _axis(axes, "x"),
        "y": _axis(axes, "y"),
        "lines": [
            (
                _some(line.get_xdata()),
                _some(line.get_ydata()),
                *(to_hex(line.get_color()), line.get_linewidth(), line.get_linestyle()),
                *(line.get_marker(), line.get_markersize(), line.get_markeredgewidth()),
                line.get_markerfacecolor() == "none",
            )
            for line in axes.lines
        ],
        "bars": [
            (*bar.get_xy(), bar.get_width(), bar.get_height(), to_hex(bar.get_facecolor()))
            for bar in rectangles
            if bar.get_height()
        ],
        "layers": sorted({bar.get_zorder() for bar in rectangles}),
        "images": [_image(image) for image in images],
        "aspect": axes.get_aspect(),
        "texts": [
            (
                it.get_text(),
                it.xy,
                it.get_position(),
                it.get_horizontalalignment(),
                it.get_verticalalignment(),
            )
            for it in texts
        ],
        "spines": [
            (name, spine.get_visible(), spine.get_linewidth())
            for name, spine in axes.spines.items()
        ],
        "legend": None if legend is None else _legend(legend),
    }


def _legend(legend: Any) -> list[Any]:
    texts, lines = legend.get_texts(), legend.get_lines()
    marks = [(line.get_marker(), line.get_linestyle(), to_hex(line.get_color())) for line in lines]
    anchor = legend.axes.transAxes.inverted().transform_bbox(legend.get_bbox_to_anchor())
    place = [*anchor.p0, legend._ncols, legend.get_frame_on()]
    return [[(text.get_text(), text.get_fontsize()) for text in texts], marks, place]


def _axis(axes: Axes, name: str) -> list[Any]:
    axis = axes.xaxis if name == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    ticks = [
        (place, label.get_text())
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
        if min(low, high) <= place <= max(low, high)
    ]
    lines = axis.get_gridlines()
    grid = [lines[0].get_visible(), lines[0].get_linewidth()] if lines else []
    label = axis.get_label()
    scale = axis.get_scale()
    return [label.get_text(), label.get_fontsize(), (low, high), scale, ticks, grid]


def _some(values: Any) -> list[Any]:
    """All of a few values, or some of many."""
    flat = np.ravel(np.asarray(values, float))
    return [len(flat), *flat[:: max(1, len(flat) // 12)]]


def _image(image: Any) -> list[Any]:
    pixels = np.asarray(np.ma.filled(image.get_array(), np.nan), float)
    return [pixels.shape, np.nanmean(pixels), _some(pixels), image.get_extent(), image.get_clim()]


# --- Pages -----------------------------------------------------------------------------------


def drawn(page: Callable[[], Any]) -> None:
    PAGES[page.__name__.replace("_", " ")] = page


def _history(misfits: list[float], every: int = 5) -> History:
    checks = [Check(k * every, x, x / 3, 50 + k, 0.1 * k, 2.0 * k) for k, x in enumerate(misfits)]
    return History(tuple(checks))


def _result(**changes: Any) -> rr.Result:
    """A result with given numbers: the factors, residuals and checks are written by hand."""
    planted = rr.simulate.plant(6, 5, 1, 60, rng=1)
    found = rr.recover(planted.A, planted.y, 1)
    left = np.asarray([[1.0, 0.5], [0.0, 2.0], [-1.0, 0.0], [2.0, 1.0], [0.5, 0.5], [3.0, -1.0]])
    right = np.asarray([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0], [0.5, 0.25], [1.0, 1.0]])
    residual = np.r_[np.geomspace(1e-6, 1e-3, 50), np.geomspace(0.5, 40, 10)]
    given = {
        "left": left,
        "right": right,
        "observations": Measurements(residual),
        "outliers": residual > 0.1,
        "cutoff": 0.1,
        "iterations": 20,
        "history": _history([1.0, 0.3, 0.02, 1e-4, 1e-5]),
        "certificate": replace(found.certificate, misfit=2e-5, noise=3e-5, sigma=0.01),
        "attempts": (replace(found.attempts[0], misfit=2e-5, seconds=0.5),),
        "seconds": 1.5,
    }
    return replace(found, **given | changes)


def _truth(result: rr.Result, shift: float) -> Any:
    return SimpleNamespace(
        left=np.asarray(result.left) + shift, right=result.right, outliers=result.outliers
    )


@drawn
def a_result() -> str:
    return render_report(_result())


@drawn
def a_result_with_a_truth_and_others() -> str:
    other = _result(history=_history([1.0, 0.9, 0.85], every=200), iterations=400, solver="other")
    third = _result(history=_history([2.0, 0.0, 0.5]), iterations=10, solver="third")
    result = _result()
    return render_report(result, truth=_truth(result, 0.1), compare_with=[other, third])


@drawn
def zeros_and_infinities() -> str:
    values = np.r_[np.zeros(20), np.geomspace(1e-3, 2e-3, 30), np.full(10, np.inf)]
    return render_report(
        _result(observations=Measurements(values), outliers=np.isinf(values), cutoff=0.0)
    )


@drawn
def a_spectrum_over_many_decades() -> str:
    left = np.diag([1.0, 1e-3, 1e-9, 0.0, 1.0])
    result = _result(left=left, right=np.eye(5), cutoff=None, history=_history([0.5, 0.2]))
    return render_report(result, truth=_truth(result, 0.0))


@drawn
def narrow_ranges() -> str:
    """Less than a decade of misfits and residuals, and one check."""
    values = np.linspace(3.0, 3.4, 60)
    history = _history([0.031, 0.033])
    return render_report(
        _result(observations=Measurements(values), outliers=values > 9, cutoff=8.0, history=history)
    )


@drawn
def a_long_matrix() -> str:
    left, right = np.linspace(-1, 1, 500)[:, None], np.linspace(1, 2, 30)[:, None]
    result = _result(left=left, right=right)
    return render_report(result, truth=_truth(result, 1.0))


@drawn
def ranks_that_were_compared() -> str:
    errors = {1: 0.5, 2: 0.05, 3: 1e-3, 4: 1e-18, 5: float("inf")}
    rows = tuple(rr.result.RankRow(rank, error, 0.5) for rank, error in errors.items())
    return render_report(_result(rank_table=rr.RankTable(rows, 3, 5)))


def _completion(**options: Any) -> rr.Result:
    given = {"n1": 40, "n2": 30, "rank": 2, "entries": 900, "outliers": 0.1, "noise": 0.05}
    planted = rr.simulate.plant_entries(**given | {"rng": 1} | options)
    return replace(rr.complete(planted.triples, 2, shape=planted.shape), seconds=1.5)


@drawn
def a_completion() -> str:
    return render_report(_completion())


@drawn
def a_completion_with_undecided_rows() -> str:
    return render_report(_completion(entries=500, sampling="power-law", outlier_model="scale"))


@drawn
def a_long_completion() -> str:
    """More rows than pixels, and numbers of entries that differ much."""
    planted = rr.simulate.plant_entries(600, 6, 1, 2500, outliers=0.02, noise=0.1, rng=2)
    found = rr.complete(planted.triples, 1, shape=planted.shape)
    return render_report(replace(found, seconds=75.0))


@drawn
def a_completion_with_one_long_row() -> str:
    X = np.full((60, 50), np.nan)
    X[:, :3] = np.arange(1.0, 61.0)[:, None]
    X[0], X[1, :20] = 1.0, 2.0
    X[5, 0] = 300.0
    X += 0.01 * np.random.default_rng(3).standard_normal(X.shape)
    return render_report(replace(rr.complete(X, 1), seconds=0.02))


@drawn
def an_image_file() -> None:
    keys = [Key(name, SERIES[k], mark, DASHES[k]) for k, (name, mark) in enumerate(MARKS.items())]

    def paint(axes: Axes) -> None:
        for key in keys:
            axes.plot([0, 1], [0, len(key.label)], color=key.color, linestyle=line_style(key))

    titles = ("A title that is longer than the width of the axes, and goes on", "A title")
    sketches = [
        Sketch(title, "", "name", "", (4.0, 2.5 + count / 10), paint, tuple(keys[:count]))
        for title, count in zip(titles, (4, 3), strict=True)
    ]
    with TemporaryDirectory() as folder:
        write_image(Path(folder) / "image.png", [*sketches, replace(sketches[0], keys=())])


def write() -> None:
    """Write what is drawn."""
    FILE.write_text(lines_of({name: described(page) for name, page in PAGES.items()}), "utf-8")


if __name__ == "__main__":
    write()
