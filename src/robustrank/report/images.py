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
from robustrank.result import Recovery

Values = np.ndarray[Any, Any]

# If there are more rows or columns than this, some are selected: the page stays small, and the
# whole matrix is never formed.
_MOST = 240
# A matrix with a larger aspect ratio than this is stretched.
_LONG = 3


def matrices(recovery: Recovery, truth: Truth | None) -> list[Picture]:
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
    return np.unique(np.linspace(0, length - 1, min(length, _MOST)).round().astype(int))


def _sampling(shape: tuple[int, int]) -> str:
    if max(shape) <= _MOST:
        return ""
    rows, columns = (min(length, _MOST) for length in shape)
    return f"{rows} rows and {columns} columns are shown, evenly spaced."


def _limit(values: Values) -> float:
    """The largest finite magnitude, or one if there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def _image(name: str, title: str, values: Values, limit: float, shape: tuple[int, int]) -> str:
    rows, columns = shape
    ratio = rows / columns
    size = (4.0, min(max(3.4 * ratio + 0.5, 2.2), 4.2))

    def paint(axes: Axes) -> None:
        # Scaled here because differences in matplotlib overflow near the largest float.
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
        colors.set_rasterized(True)  # one small image instead of 256 rectangles
