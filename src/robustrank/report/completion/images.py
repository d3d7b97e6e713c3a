"""The observed entries and the completed matrix as two images with the same colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.patches import Rectangle

from robustrank.report.canvas import GRID, OUTLIER, Key, Picture, draw
from robustrank.report.completion.arrays import CompletionArrays
from robustrank.report.formatting import number
from robustrank.report.images import MOST, add_scale, image_size, show_matrix

Values = np.ndarray[Any, Any]

# Without the brightest yellow, which is close to the color of outliers.
_COLORS = ListedColormap(colormaps["viridis"](np.linspace(0, 0.93, 256)))
# The opacity of values that are undecided, on the neutral color.
_UNDECIDED = 0.22
# The color scale ends at these quantiles of the values.
_QUANTILES = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class Pixels:
    """One entry of the matrix for each pixel: an observed one, if its block has any."""

    rows: Values
    columns: Values
    entries: Values  # the place of the observed entry among all, or -1

    @classmethod
    def of(cls, arrays: CompletionArrays) -> Pixels:
        """The first observed entry of each block, or the entry in its middle."""
        (n1, n2), (height, width) = arrays.shape, (min(n, MOST) for n in arrays.shape)
        own, other = arrays.entry_rows, arrays.entry_columns
        blocks = (own * height // n1) * width + other * width // n2
        first = np.full(height * width, -1)
        first[blocks[::-1]] = np.arange(len(blocks))[::-1]  # of several, the last is kept
        entries = first.reshape(height, width)
        rows = np.where(entries >= 0, own[entries], _middles(n1, height)[:, None])
        columns = np.where(entries >= 0, other[entries], _middles(n2, width))
        return cls(rows, columns, entries)


def _middles(length: int, blocks: int) -> Values:
    return (2 * np.arange(blocks) + 1) * length // (2 * blocks)


@dataclass(frozen=True)
class Scale:
    """Colors for the values between two limits."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Values) -> Scale:
        """The scale of most of the values; it has a positive length."""
        finite = values[np.isfinite(values)]
        low, high = 0.0, 0.0
        if finite.size:  # an interpolation between large values could overflow
            low, high = np.quantile(finite, _QUANTILES, method="nearest")
        if not low < high:
            margin = 0.5 * abs(low) or 1.0
            low, high = low - margin, high + margin
        return cls(float(low), float(high))

    def place(self, values: Any) -> Any:
        """Where values are on the scale: 0 at its low end, 1 at its high end."""
        size = max(abs(self.low), abs(self.high))  # without it, differences could overflow
        low, high = self.low / size, self.high / size
        return np.clip((values / size - low) / (high - low), 0, 1)

    def rgba(self, values: Values) -> Values:
        """The colors of values; values that are not finite are transparent."""
        with np.errstate(invalid="ignore"):
            colors: Values = _COLORS(np.nan_to_num(self.place(values)))
        colors[..., 3] = np.isfinite(values)
        return colors

    def labels(self) -> dict[float, str]:
        """Labels of the two ends and of zero, if it is well between them, or of the middle."""
        zero = float(self.place(0.0))
        between = 0.0 if 0.15 < zero < 0.85 else self.low / 2 + self.high / 2
        labeled = (self.low, between, self.high)
        return {float(self.place(value)): number(value) for value in labeled}


def matrices(arrays: CompletionArrays) -> list[Picture]:
    """The observed entries with outliers marked, and the completed matrix beside them."""
    pixels = Pixels.of(arrays)
    completed = np.stack(
        [arrays.predicted(*place) for place in zip(pixels.rows, pixels.columns, strict=True)]
    )
    is_observed = pixels.entries >= 0
    observed = np.where(is_observed, completed + arrays.residuals[pixels.entries], np.nan)
    rejected = is_observed & arrays.rejected[pixels.entries]
    undecided = arrays.rows.undecided[pixels.rows] | arrays.columns.undecided[pixels.columns]
    certain = completed if undecided.all() else completed[~undecided]
    scale = Scale.of(np.concatenate([certain.ravel(), observed[is_observed & ~rejected]]))
    return [
        _observed(arrays, scale, observed, rejected),
        _completed(arrays, scale, completed, undecided),
    ]


def _observed(
    arrays: CompletionArrays, scale: Scale, observed: Values, rejected: Values
) -> Picture:
    colors = scale.rgba(observed)
    colors[rejected] = (*to_rgb(OUTLIER), 1.0)
    keys = [Key("outlier", OUTLIER, "bar")] if arrays.rejected.any() else []
    if not np.isfinite(observed).all():
        keys.append(Key("not observed", GRID, "bar"))
    caption = f"The data; rows and columns are numbered from 0. {_blocks(arrays.shape)}".strip()
    title = "Observed entries"
    svg = _image("observed", title, colors, scale, arrays.shape)
    return Picture(title, caption, svg, tuple(keys))


def _completed(
    arrays: CompletionArrays, scale: Scale, completed: Values, undecided: Values
) -> Picture:
    colors = scale.rgba(completed)
    colors[undecided, 3] *= _UNDECIDED
    caption = "The completed matrix, with the colors of the observed entries."
    if arrays.nothing_decided:
        caption += " No part of it is certified, so all values are grayed out."
    elif undecided.any():
        caption += " Values in undecided rows and columns are grayed out: do not use them."
    keys = (Key("undecided", GRID, "bar"),) if undecided.any() else ()
    title = "Completed matrix"
    svg = _image("completed", title, colors, scale, arrays.shape)
    return Picture(title, caption, svg, keys)


def _blocks(shape: tuple[int, int]) -> str:
    if max(shape) <= MOST:
        return ""
    height, width = (-(-length // MOST) for length in shape)
    return (
        f"The matrix has more entries than the image has pixels: each pixel shows one entry of a "
        f"block of up to {height:,} × {width:,}, an observed one if the block has any."
    )


def _image(name: str, title: str, colors: Values, scale: Scale, shape: tuple[int, int]) -> str:
    rows, columns = shape

    def paint(axes: Axes) -> None:
        # The neutral color is not part of the pixels, so that it changes in dark mode.
        neutral = Rectangle((-0.5, -0.5), columns, rows, facecolor=GRID, linewidth=0, zorder=-1)
        axes.add_patch(neutral)
        show_matrix(axes, np.round(255 * colors).astype(np.uint8), shape)
        add_scale(axes, ScalarMappable(cmap=_COLORS), scale.labels())

    limits = f"{number(scale.low)} to {number(scale.high)}"
    return draw(
        name, f"{title}: {rows} by {columns}, colors from {limits}", image_size(shape), paint
    )
