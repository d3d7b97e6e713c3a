"""The figures of the report: every input is drawn, and every figure is described."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from report_examples import FULL, PLANTED, RECOVERY, Reader, with_residual

from robustrank.report import render_report
from robustrank.report.arrays import Arrays
from robustrank.report.counts import rejected_by_index
from robustrank.report.formatting import number
from robustrank.report.histogram import bins_for, residuals
from robustrank.result import Check, History


def test_every_figure_has_a_description() -> None:
    labels = Reader(FULL).labels
    assert len(labels) == FULL.count("<figcaption>") == 7
    assert FULL.count('role="img"') == 7
    joined = " ".join(labels)
    assert "380 inliers, 20 rejected" in joined
    assert number(float(RECOVERY.singular_values()[0])) in joined
    assert number(RECOVERY.history.checks[-1].misfit) in joined


@pytest.mark.parametrize(
    ("values", "cutoff"),
    [
        (np.zeros(50), 0.0),
        (np.r_[np.zeros(25), np.ones(25)], 0.0),
        (np.full(50, 3.0), 18.0),
        (np.r_[np.full(49, 1e-9), np.inf], 6e-9),
        (np.r_[np.full(48, 1e-9), -np.inf, np.nan], np.inf),
        (np.full(50, np.inf), np.nan),
        (np.full(50, 5e-324), 5e-324),
        (np.full(50, 1.7e308), 1.7e308),
        (np.geomspace(1e-300, 1e300, 50), 1e308),
        (np.ones(1), None),
    ],
)
def test_unusual_residuals_are_drawn(values: Any, cutoff: float | None) -> None:
    sketch = residuals(Arrays.of(with_residual(values, cutoff=cutoff)))
    picture = sketch.picture()
    figure = picture.svg
    Reader(figure)
    assert [key.label for key in picture.keys] == [f"{len(values):,} inliers", "0 rejected"]
    assert figure.count(">0</text>") == 1 + bool(np.any(values == 0))  # the other is the origin
    assert (">∞</text>" in figure) == bool(np.any(~np.isfinite(values)))
    shown = cutoff is not None and np.isfinite(cutoff)
    assert ("cutoff " in figure) == shown
    assert ("no cutoff" in picture.caption) == (cutoff is None)


@pytest.mark.parametrize(
    ("above", "sentence"),
    [
        (0, None),
        (1, "1 is above the cutoff but not rejected, because it is fitted exactly."),
        (3, "3 are above the cutoff but not rejected, because they are fitted exactly."),
    ],
)
def test_caption_counts_exact_fits_above_the_cutoff(above: int, sentence: str | None) -> None:
    values = np.r_[np.full(50 - above, 1e-16), np.full(above, 1e-14)]
    caption = residuals(Arrays.of(with_residual(values, cutoff=1e-15))).caption
    assert caption.endswith(sentence or "some classifications are borderline.")


@pytest.mark.parametrize("cutoff", [None, 0.0, 1e-20, 2.0, np.inf])
def test_bins_contain_every_measurement(cutoff: float | None) -> None:
    magnitudes = np.r_[0.0, 0.0, np.geomspace(1e-12, 1e5, 95), 1e5, np.inf, np.nan]
    centers, counts = bins_for(magnitudes, cutoff).count(magnitudes)
    assert counts.sum() == len(magnitudes) == 100
    assert counts[0] == counts[-1] == 2
    assert np.all(np.diff(centers) > 0)


def test_unusual_histories_are_drawn() -> None:
    def history(*misfits: float) -> History:
        return History(tuple(Check(i, x, 0.1, 9, 0.0, i) for i, x in enumerate(misfits)))

    unusual = [history(), history(0.0), history(1.0), history(1.0, np.inf), history(np.nan, 1e200)]
    recoveries = [replace(RECOVERY, history=h, iterations=10**i) for i, h in enumerate(unusual)]
    read = Reader(render_report(recoveries[0], compare_with=recoveries[1:] * 2))
    for end in ("no value", "0", "1", "∞", "10²⁰⁰"):
        assert f"ends at {end}" in read.text.replace("1.0\xa0×\xa0", "")


@pytest.mark.parametrize("shape", [(5000, 4000), (5000, 1), (1, 5000), (1, 1), (3, 900)])
def test_any_shape_gives_a_small_page(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((shape[0], 1)), rng.standard_normal((shape[1], 1))
    truth = SimpleNamespace(left=left + 0.1, right=right, outliers=PLANTED.outliers)
    page = render_report(replace(RECOVERY, left=left, right=right), truth=truth)
    assert len(page.encode()) < 1_000_000
    assert f"{shape[0]:,} × {shape[1]:,} matrix of rank 1" in Reader(page).text
    assert ("one entry of a block" in page) == (max(shape) > 240)


@pytest.mark.parametrize("factor", [0.0, 1e-160, 1e150, 1e200, np.inf, np.nan])
def test_factors_of_any_magnitude_are_drawn(factor: float) -> None:
    left, right = np.ones((20, 2)) * factor, np.ones((15, 2)) * factor
    page = render_report(replace(RECOVERY, left=left, right=right))
    assert ("none is finite" in page) == (not np.isfinite(factor * factor))
    Reader(page)


@pytest.mark.parametrize("count", [1, 7, 40, 400, 1001])
def test_bars_of_rejected_measurements_contain_each_once(count: int) -> None:
    flags = np.arange(count) % 3 == 0
    sketch = rejected_by_index(Arrays.of(with_residual(np.ones(count), outliers=flags)))
    axes = Figure().add_subplot()
    sketch.paint(axes)
    bars = axes.patches
    assert len(bars) == min(count, 40)
    widths = [bar.get_width() for bar in bars]  # type: ignore[attr-defined]
    heights = [bar.get_height() for bar in bars]  # type: ignore[attr-defined]
    assert sum(widths) == count
    assert np.dot(widths, heights) == pytest.approx(flags.sum())
