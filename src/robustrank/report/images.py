"""The recovered matrix as a picture, beside the truth and the error where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from robustrank.backend import to_numpy
from robustrank.metrics import Truth
from robustrank.report.canvas import Picture, draw
from robustrank.report.words import number
from robustrank.result import Recovery

Values = np.ndarray[Any, Any]

# More rows or columns than this are sampled: the page stays small and the matrix is never formed.
_MOST = 240
# A matrix longer than this many times its width is stretched to fill its frame.
_LONG = 3


def matrices(recovery: Recovery, truth: Truth | None) -> list[Picture]:
    """The recovered matrix; with a truth also the planted one and the difference."""
    found = _entries(recovery.left, recovery.right)
    if truth is None:
        image = _image("recovered", "Recovered matrix", found, _limit(found), recovery.shape)
        caption = f"Entry by entry; white is zero. {_sampling(recovery.shape)}"
        return [Picture("Recovered matrix", caption.strip(), image)]
    planted = _entries(truth.left, truth.right)
    with np.errstate(over="ignore", invalid="ignore"):
        error = found - planted
    scale = _limit(planted)
    answer = "The answer, in the colors of the truth."
    if _limit(found) > 1.01 * scale:
        answer += " Entries beyond them have the color of the end."
    shown = [
        ("recovered", "Recovered matrix", found, scale, answer),
        ("planted", "Planted matrix", planted, scale, "What should have been found."),
        ("error", "Difference", error, _limit(error), "Recovered minus planted. Mind its scale."),
    ]
    return [
        Picture(
            title,
            f"{caption} {_sampling(recovery.shape)}".strip(),
            _image(name, title, values, limit, recovery.shape),
        )
        for name, title, values, limit, caption in shown
    ]


def _entries(left: Any, right: Any) -> Values:
    """Entries of left · rightᵀ at evenly spaced rows and columns, from the thin factors."""
    U, V = to_numpy(left), to_numpy(right)
    with np.errstate(over="ignore", invalid="ignore"):
        entries: Values = U[_places(len(U))] @ V[_places(len(V))].T
    return entries.astype(float)


def _places(length: int) -> Values:
    return np.unique(np.linspace(0, length - 1, min(length, _MOST)).round().astype(int))


def _sampling(shape: tuple[int, int]) -> str:
    if max(shape) <= _MOST:
        return ""
    rows, columns = (min(length, _MOST) for length in shape)
    return f"Shown are {rows} rows and {columns} columns, evenly spaced."


def _limit(values: Values) -> float:
    """The largest finite magnitude, or one where there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def _image(name: str, title: str, values: Values, limit: float, shape: tuple[int, int]) -> str:
    rows, columns = shape
    ratio = rows / columns
    size = (4.0, min(max(3.4 * ratio + 0.5, 2.2), 4.2))

    def paint(axes: Axes) -> None:
        # Scaled here and not by matplotlib, whose differences overflow near the largest float.
        drawn = axes.imshow(
            np.clip(values / limit, -1, 1),
            cmap="RdBu_r",
            vmin=-1,
            vmax=1,
            interpolation="none",
            aspect="equal" if 1 / _LONG <= ratio <= _LONG else "auto",
            extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
        _add_scale(axes, drawn, limit)

    described = f"{title}: {rows} by {columns}, colors from {number(-limit)} to {number(limit)}"
    return draw(name, described, size, paint)


def _add_scale(axes: Axes, drawn: Any, limit: float) -> None:
    figure = axes.figure
    bar = figure.colorbar(
        drawn, ax=axes, ticks=[-1, 0, 1], location="bottom", shrink=0.8, aspect=24
    )
    bar.ax.set_xticklabels([number(-limit), "0", number(limit)])
    bar.outline.set_visible(False)
    for colors in bar.ax.collections:
        colors.set_rasterized(True)  # one small image in place of 256 rectangles
