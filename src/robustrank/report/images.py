"""The recovered matrix as an image, with the true matrix and the difference if known."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from robustrank.backend import to_numpy
from robustrank.metrics import Truth
from robustrank.report.canvas import Picture, draw
from robustrank.report.formatting import number
from robustrank.result import Result

Values = np.ndarray[Any, Any]

# If there are more rows or columns than this, some are selected: the page stays small, and the
# whole matrix is never formed.
MOST = 240
# A matrix with a larger aspect ratio than this is stretched.
_LONG = 3


def matrices(recovery: Result, truth: Truth | None) -> list[Picture]:
    """The recovered matrix; with a truth also the true matrix and the difference."""
    found = _entries(recovery.left, recovery.right)
    if truth is None:
        image = _image("recovered", "Recovered matrix", found, _limit(found), recovery.shape)
        caption = f"The entries of the matrix; white is zero. {_sampling(recovery.shape)}"
        return [Picture("Recovered matrix", caption.strip(), image)]
    true = _entries(truth.left, truth.right)
    with np.errstate(over="ignore", invalid="ignore"):
        error = found - true
    scale, error_scale = _limit(true), _limit(error)
    caption = "On the color scale of the true matrix."
    if _limit(found) > 1.01 * scale:
        caption += " Entries outside of this scale have its end colors."
    shown = [
        ("recovered", "Recovered matrix", found, scale, caption),
        ("true", "True matrix", true, scale, "The ground truth; white is zero."),
        ("error", "Difference", error, error_scale, "Recovered minus true; own color scale."),
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
    return np.unique(np.linspace(0, length - 1, min(length, MOST)).round().astype(int))


def _sampling(shape: tuple[int, int]) -> str:
    if max(shape) <= MOST:
        return ""
    rows, columns = (min(length, MOST) for length in shape)
    return f"{rows} rows and {columns} columns are shown, evenly spaced."


def _limit(values: Values) -> float:
    """The largest finite magnitude, or one if there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def _image(name: str, title: str, values: Values, limit: float, shape: tuple[int, int]) -> str:
    def paint(axes: Axes) -> None:
        # Scaled here because differences in matplotlib overflow near the largest float.
        scaled = np.clip(values / limit, -1, 1)
        drawn = show_matrix(axes, scaled, shape, cmap="RdBu_r", vmin=-1, vmax=1)
        add_scale(axes, drawn, {-1: number(-limit), 0: "0", 1: number(limit)})

    rows, columns = shape
    described = f"{title}: {rows} by {columns}, colors from {number(-limit)} to {number(limit)}"
    return draw(name, described, image_size(shape), paint)


def image_size(shape: tuple[int, int]) -> tuple[float, float]:
    """The size in inches of an image of a matrix with a color scale below it."""
    rows, columns = shape
    return (4.0, min(max(3.4 * rows / columns + 0.5, 2.2), 4.2))


def show_matrix(axes: Axes, pixels: Values, shape: tuple[int, int], **colors: Any) -> Any:
    """Draw pixels (values, or RGBA colors) as a matrix whose axes count rows and columns."""
    rows, columns = shape
    drawn = axes.imshow(
        pixels,
        interpolation="none",
        aspect="equal" if 1 / _LONG <= rows / columns <= _LONG else "auto",
        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
        **colors,
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    return drawn


def add_scale(axes: Axes, drawn: Any, labels: dict[float, str]) -> None:
    """A color scale below the axes, with labels at some of its values."""
    bar = axes.figure.colorbar(
        drawn, ax=axes, ticks=[*labels], location="bottom", shrink=0.8, aspect=24
    )
    bar.ax.set_xticklabels([*labels.values()])
    bar.outline.set_visible(False)
    for colors in bar.ax.collections:
        colors.set_rasterized(True)  # one small image instead of 256 rectangles
