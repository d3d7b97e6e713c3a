"""Matrices as images: the observed entries, the recovered matrix, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.axis
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from robustrank.backend import to_numpy
from robustrank.metrics import Truth
from robustrank.report.arrays import Arrays, Axis, product_at
from robustrank.report.canvas import GRID, OUTLIER, Key, Sketch, count_ticks
from robustrank.report.formatting import number

Values = np.ndarray[Any, Any]

# Blocks of a matrix with more rows or columns than this share a pixel: the page stays small, and
# the whole matrix is never formed.
_MOST = 240
# A matrix with a larger aspect ratio than this is stretched.
_LONG = 3
# Without the brightest yellow, which is close to the color of outliers.
_VALUES = ListedColormap(colormaps["viridis"](np.linspace(0, 0.93, 256)))
_DIFFERENCES = colormaps["RdBu_r"]
# The opacity of values that are undecided, on the neutral color.
_UNDECIDED = 0.22
# The color scale ends at these quantiles of the values.
_QUANTILES = (0.01, 0.99)
_LONGEST = 14  # characters of a label beside an image


@dataclass(frozen=True)
class Scale:
    """Colors for the values between two limits."""

    low: float
    high: float
    colors: Colormap

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
        return cls(float(low), float(high), _VALUES)

    @classmethod
    def of_differences(cls, values: Values) -> Scale:
        """A scale of all values in which zero is white."""
        largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
        return cls(-largest, largest, _DIFFERENCES)

    def place(self, values: Any) -> Any:
        """Where values are on the scale: 0 at its low end, 1 at its high end."""
        size = max(abs(self.low), abs(self.high))  # without it, differences could overflow
        low, high = self.low / size, self.high / size
        return np.clip((values / size - low) / (high - low), 0, 1)

    def rgba(self, values: Values) -> Values:
        """The colors of values; values that are not finite are transparent."""
        with np.errstate(invalid="ignore"):
            colors: Values = np.asarray(self.colors(np.nan_to_num(self.place(values))))
        colors[..., 3] = np.isfinite(values)
        return colors

    def labels(self) -> dict[float, str]:
        """Labels of the two ends and of zero, if it is well between them, or of the middle."""
        zero = float(self.place(0.0))
        between = 0.0 if 0.15 < zero < 0.85 else self.low / 2 + self.high / 2
        labeled = (self.low, between, self.high)
        return {float(self.place(value)): number(value) for value in labeled}


@dataclass(frozen=True, eq=False)
class Pixels:
    """One entry of the matrix for each pixel: an observed one, if its block has any."""

    rows: Values
    columns: Values
    entries: Values  # the place of the observed entry among all, or -1

    @classmethod
    def of(cls, arrays: Arrays) -> Pixels:
        """The first observed entry of each block, or the entry in its middle."""
        (n1, n2), (height, width) = arrays.shape, (min(n, _MOST) for n in arrays.shape)
        rows, columns = np.meshgrid(_middles(n1, height), _middles(n2, width), indexing="ij")
        first = np.full(height * width, -1)
        if arrays.places is not None:
            own, other = arrays.places
            blocks = (own * height // n1) * width + other * width // n2
            first[blocks[::-1]] = np.arange(len(blocks))[::-1]  # of several, the last is kept
            seen, flat = first >= 0, (rows.reshape(-1), columns.reshape(-1))
            flat[0][seen], flat[1][seen] = own[first[seen]], other[first[seen]]
        return cls(rows, columns, first.reshape(height, width))

    def of_product(self, left: Any, right: Any) -> Values:
        """The values of left · rightᵀ, one row of pixels after the other."""
        U, V = to_numpy(left).astype(float), to_numpy(right).astype(float)
        lines = zip(self.rows, self.columns, strict=True)
        return np.stack([product_at(U, V, *line) for line in lines])


def _middles(length: int, blocks: int) -> Values:
    return (2 * np.arange(blocks) + 1) * length // (2 * blocks)


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a result, which have the same pixels and the same colors."""

    arrays: Arrays
    pixels: Pixels
    recovered: Values
    observed: Values  # NaN where no entry is observed
    rejected: Values  # boolean: the observed entry is an outlier
    undecided: Values  # boolean
    true: Values | None
    scale: Scale

    @classmethod
    def of(cls, arrays: Arrays, truth: Truth | None = None) -> Images:
        """What is needed for the images of a result, with the scale of the true matrix if known."""
        pixels = Pixels.of(arrays)
        recovered = pixels.of_product(arrays.left, arrays.right)
        observed, rejected = np.full(recovered.shape, np.nan), np.zeros(recovered.shape, bool)
        seen = pixels.entries >= 0
        observed[seen] = recovered[seen] + arrays.residuals[pixels.entries[seen]]
        rejected[seen] = arrays.rejected[pixels.entries[seen]]
        undecided = arrays.rows.undecided[pixels.rows] | arrays.columns.undecided[pixels.columns]
        certain = recovered if undecided.all() else recovered[~undecided]
        true = None if truth is None else pixels.of_product(truth.left, truth.right)
        shown = np.concatenate([certain.ravel(), observed[seen & ~rejected]])
        scale = Scale.of(shown if true is None else true)
        return cls(arrays, pixels, recovered, observed, rejected, undecided, true, scale)

    def all(self) -> list[Sketch]:
        """The observed entries, the matrix, and what it is compared with, as far as known."""
        sketches = [] if self.arrays.places is None else [self.of_observed()]
        sketches.append(self.of_recovered())
        if self.true is not None:
            sketches.append(self._image("true", "True matrix", self.true, "The ground truth."))
            caption = "Recovered minus true; own color scale."
            sketches.append(self._difference("error", self.recovered, self.true, caption))
        other = self.arrays.result.alternative
        if other is not None:
            second = self.pixels.of_product(other.left, other.right)
            caption = f"It is {other}."
            sketches.append(self._image("second", "Second matrix", second, caption))
            caption = "Second minus recovered; own color scale."
            sketches.append(self._difference("other", second, self.recovered, caption))
        return sketches

    def of_observed(self) -> Sketch:
        """The observed entries, with outliers marked."""
        keys = [Key("outlier", OUTLIER, "bar")] if self.arrays.rejected.any() else []
        if not np.isfinite(self.observed).all():
            keys.append(Key("not observed", GRID, "bar"))
        colors = self.scale.rgba(self.observed)
        colors[self.rejected] = (*to_rgb(OUTLIER), 1.0)
        caption = f"The data, with its outliers marked. {self._blocks()}".strip()
        return self._sketch("observed", "Observed entries", colors, self.scale, caption, keys)

    def of_recovered(self) -> Sketch:
        """The recovered matrix; what is undecided is grayed out."""
        colors = self.scale.rgba(self.recovered)
        colors[self.undecided, 3] *= _UNDECIDED
        caption = "Entries outside of the color scale have its end colors."
        if self.arrays.nothing_decided:
            caption += " No part of the matrix is certified, so all values are grayed out."
        elif self.undecided.any():
            caption += " Values in undecided rows and columns are grayed out: do not use them."
        if self.arrays.places is None:
            caption += f" {self._blocks()}".rstrip()
        keys = [Key("undecided", GRID, "bar")] if self.undecided.any() else []
        return self._sketch("recovered", "Recovered matrix", colors, self.scale, caption, keys)

    def _image(self, name: str, title: str, values: Values, caption: str) -> Sketch:
        return self._sketch(name, title, self.scale.rgba(values), self.scale, caption)

    def _difference(self, name: str, one: Values, other: Values, caption: str) -> Sketch:
        with np.errstate(over="ignore", invalid="ignore"):
            values = one - other
        scale = Scale.of_differences(values)
        return self._sketch(name, "Difference", scale.rgba(values), scale, caption)

    def _blocks(self) -> str:
        """What a pixel stands for, if there are fewer pixels than entries."""
        if max(self.arrays.shape) <= _MOST:
            return ""
        height, width = (-(-length // _MOST) for length in self.arrays.shape)
        observed = "" if self.arrays.places is None else ", an observed one if the block has any"
        return (
            "The matrix has more entries than the image has pixels: each pixel shows one entry of "
            f"a block of up to {height:,} × {width:,}{observed}."
        )

    def _sketch(
        self,
        name: str,
        title: str,
        colors: Values,
        scale: Scale,
        caption: str,
        keys: list[Key] | None = None,
    ) -> Sketch:
        rows, columns = self.arrays.shape

        def paint(axes: Axes) -> None:
            # The neutral color is not part of the pixels, so that it changes in dark mode.
            neutral = Rectangle((-0.5, -0.5), columns, rows, facecolor=GRID, linewidth=0, zorder=-1)
            axes.add_patch(neutral)
            axes.imshow(
                np.round(255 * colors).astype(np.uint8),
                interpolation="none",
                aspect="equal" if 1 / _LONG <= rows / columns <= _LONG else "auto",
                extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
            )
            _name_ticks(axes.yaxis, self.arrays.rows)
            _name_ticks(axes.xaxis, self.arrays.columns)
            if self.arrays.columns.labels is not None:
                axes.tick_params(axis="x", labelrotation=90)
            _add_scale(axes, scale)

        limits = f"{number(scale.low)} to {number(scale.high)}"
        described = f"{title}: {rows} by {columns}, colors from {limits}"
        size = (4.0, min(max(3.4 * rows / columns + 0.5, 2.2), 4.2))
        return Sketch(title, caption, name, described, size, paint, tuple(keys or ()))


def _name_ticks(axis: matplotlib.axis.Axis, names: Axis) -> None:
    """Numbers from 0, or labels if there are any."""
    count_ticks(axis)
    if names.labels is not None:
        inside = range(names.size)
        axis.set_major_formatter(
            FuncFormatter(lambda at, _: names.name(int(at), _LONGEST) if int(at) in inside else "")
        )


def _add_scale(axes: Axes, scale: Scale) -> None:
    """A color scale below the axes."""
    labels = scale.labels()
    drawn = ScalarMappable(cmap=scale.colors)
    bar = axes.figure.colorbar(
        drawn, ax=axes, ticks=[*labels], location="bottom", shrink=0.8, aspect=24
    )
    bar.ax.set_xticklabels([*labels.values()])
    bar.outline.set_visible(False)
    for colors in bar.ax.collections:
        colors.set_rasterized(True)  # one small image instead of 256 rectangles
