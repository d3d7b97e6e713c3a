"""Figures of a result on axes of matplotlib: what is drawn is what the result says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps, pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

import robustrank as rr
from robustrank.report.canvas import OUTLIER
from robustrank.result import GroupRow, GroupTable
from robustrank.simulate import plant_entries


def table_with_errors() -> pd.DataFrame:
    """Four columns with one factor: a wrong cell, a missing one, and a wrong row."""
    rng = np.random.default_rng(1)
    size = rng.standard_normal((200, 1))
    X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    X[7, 1], X[3, 2] = 400, np.nan
    X[11] = [5, -100, 2, -3000]
    return pd.DataFrame(X, index=[f"sample {i}" for i in range(200)], columns=[*"abcd"])


PLANTED = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, rng=1)
RECOVERY = rr.recover(PLANTED.A, PLANTED.y, 2, solver="median-tgd")
VANILLA = rr.recover(PLANTED.A, PLANTED.y, 2, solver=rr.solvers.VanillaGD(max_iterations=50))
ENTRIES = plant_entries(40, 30, 2, 800, outliers=0.1, rng=1)
COMPLETED = rr.complete(ENTRIES.incomplete)
CLEANED = rr.clean(table_with_errors())
DRAWN: dict[str, Callable[..., Axes]] = {name: getattr(rr.plot, name) for name in rr.plot.__all__}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    pyplot.close("all")  # of other tests in this process
    yield
    pyplot.close("all")


def result_for(name: str) -> rr.Result:
    if name in ("cells", "rows", "components"):
        return CLEANED
    if name == "groups":
        return replace(RECOVERY, groups=GroupTable((GroupRow("S1", 3, 1), GroupRow("S2", 2, 0))))
    return COMPLETED if name in ("matrix", "outliers", "ranks") else RECOVERY


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_those_given_or_those_of_a_new_figure(name: str) -> None:
    result = result_for(name)
    own = DRAWN[name](result)
    assert pyplot.get_fignums() == [1]
    assert own.figure.number == 1  # type: ignore[union-attr]
    _, (first, second) = pyplot.subplots(1, 2)
    assert DRAWN[name](result, ax=second) is second
    assert not first.has_data()
    assert second.has_data()
    second.figure.canvas.draw()


def test_matrix_has_a_pixel_for_each_entry_and_grays_out_what_is_undecided() -> None:
    undecided = replace(COMPLETED, undecided_rows=np.array([3, 7]))
    ax = rr.plot.matrix(undecided)
    pixels = np.asarray(ax.get_images()[0].get_array())
    assert pixels.shape == (40, 30, 4)
    opaque = np.full(40, 255)
    opaque[[3, 7]] = 56  # 22%
    assert np.array_equal(pixels[..., 3], np.repeat(opaque[:, None], 30, axis=1))
    assert legend_of(ax) == ["undecided"]
    largest = np.unravel_index(np.argmax(COMPLETED.matrix), (40, 30))
    assert np.allclose(pixels[largest], 255 * np.asarray(colormaps["viridis"](0.93)), atol=1)


def test_ticks_of_a_data_frame_are_its_labels() -> None:
    frame = pd.DataFrame(ENTRIES.incomplete, index=[f"row {i}" for i in range(40)])
    ax = rr.plot.matrix(rr.complete(frame))
    ax.figure.canvas.draw()
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert "row 8" in shown
    assert {text.split()[0] for text in shown if text} == {"row"}


def test_outliers_of_entries_are_marked() -> None:
    ax = rr.plot.outliers(COMPLETED)
    pixels = np.asarray(ax.get_images()[0].get_array())
    marked = np.all(pixels[..., :3] == np.round(255 * np.asarray(to_rgb(OUTLIER))), axis=-1)
    assert np.array_equal(marked, COMPLETED.outliers)
    assert np.array_equal(pixels[..., 3] > 0, np.isfinite(ENTRIES.incomplete))
    assert legend_of(ax) == ["outlier", "not observed"]


def test_outliers_of_measurements_are_counted_by_index() -> None:
    flags = np.zeros(400, bool)
    flags[100:120] = True
    ax = rr.plot.outliers(replace(RECOVERY, outliers=flags))
    bars = {bar.get_x(): bar.get_height() for bar in ax.patches}  # type: ignore[attr-defined]
    assert {start for start, height in bars.items() if height} == {100, 110}
    assert max(bars.values()) == 1


def test_residuals_are_counted_and_the_cutoff_is_marked() -> None:
    ax = rr.plot.residuals(RECOVERY)
    assert legend_of(ax) == ["380 inliers", "20 rejected"]
    assert sum(bar.get_height() for bar in ax.patches) == 400  # type: ignore[attr-defined]
    assert RECOVERY.cutoff is not None
    assert ax.lines[0].get_xdata()[0] == pytest.approx(np.log10(RECOVERY.cutoff))  # type: ignore[index]
    assert ax.get_ylabel() == "measurements"
    assert rr.plot.residuals(COMPLETED).get_ylabel() == "entries"


def test_singular_values_are_drawn() -> None:
    ax = rr.plot.singular_values(RECOVERY)
    assert np.allclose(ax.lines[0].get_ydata(), RECOVERY.singular_values())


def test_misfits_are_drawn_for_each_solver() -> None:
    ax = rr.plot.convergence(RECOVERY, VANILLA)
    misfits = RECOVERY.history.column("misfit")
    assert np.allclose(10.0 ** np.asarray(ax.lines[0].get_ydata()), misfits[misfits > 0])
    assert [label.split(",")[0] for label in legend_of(ax)] == ["median-TGD", "vanilla-GD"]
    with pytest.raises(ValueError, match="the result has no history; expected a result of recover"):
        rr.plot.convergence(COMPLETED)


def test_ranks_are_drawn_and_the_chosen_one_is_marked() -> None:
    result = rr.recover(PLANTED.A, PLANTED.y)
    ax = rr.plot.ranks(result)
    assert result.rank_table is not None
    assert np.asarray(ax.lines[0].get_xdata()).tolist() == [
        row.rank for row in result.rank_table.rows
    ]
    assert np.asarray(ax.lines[1].get_xdata()).tolist() == [result.rank]
    with pytest.raises(ValueError, match="no rank_table; expected one that was computed without"):
        rr.plot.ranks(RECOVERY)


def test_wrong_groups_are_drawn_in_another_color() -> None:
    sensors, y = np.arange(len(PLANTED.y)) % 8, np.asarray(PLANTED.y).copy()
    y[sensors == 5] = 0.0
    result = rr.recover(PLANTED.A, y, groups=sensors)
    ax = rr.plot.groups(result)
    assert ax.patches[-1].get_extents().height > 0
    assert ax.patches[-1].get_facecolor() != ax.patches[0].get_facecolor()
    assert legend_of(ax) == ["7 not wrong", "1 wrong altogether"]
    with pytest.raises(ValueError, match="no groups; expected one that was computed with groups="):
        rr.plot.groups(RECOVERY)


def pixels_of(ax: Axes) -> np.ndarray:
    return np.asarray(ax.get_images()[0].get_array())


def labels_of(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_cells_above_and_below_what_is_expected_differ_in_color() -> None:
    ax = rr.plot.cells(CLEANED)
    pixels, rows = pixels_of(ax), labels_of(ax)
    assert pixels.shape == (len(rows), 4, 4)
    red, blue = pixels[..., 0] > pixels[..., 2] + 50, pixels[..., 2] > pixels[..., 0] + 50
    strong, flags = pixels[..., 3] >= 127, np.asarray(CLEANED.outliers)
    shown = [int(name.split()[1]) for name in rows]
    assert np.array_equal(strong & (red | blue), flags[shown])
    assert red[rows.index("sample 7"), 1]
    assert flags[11].any()
    gray = pixels[rows.index("sample 3"), 2]
    assert abs(int(gray[0]) - int(gray[2])) < 50
    assert 90 < gray[3] < 127
    marked = ax.lines[0].get_ydata()
    assert [rows[int(k)] for k in np.asarray(marked)] == ["sample 11"]
    assert legend_of(ax)[-2:] == ["1 missing", "1 wrong as a whole row"]
    counts = [int(text.split()[0]) for text in legend_of(ax)[:-2]]
    assert sum(counts) == flags.sum()


def test_wrong_cells_below_what_is_expected_in_a_skewed_column_have_a_full_color() -> None:
    rng = np.random.default_rng(1)
    X = np.exp(rng.standard_normal((400, 1)) + 0.3 * rng.standard_normal((400, 4)))
    X[7:9], X[7, 1], X[8, 1] = 10, 0.05, 300  # by 20 deviations of the logarithm and by 10
    result = rr.clean(X)
    assert result.table is not None
    assert result.table.model.units.skewness.all()
    pixels = pixels_of(rr.plot.cells(result, [7, 8]))[:, 1]
    assert (pixels[:, 3] == 255).all()
    assert pixels[0, 2] > pixels[0, 0] + 50
    assert pixels[1, 0] > pixels[1, 2] + 50


def test_large_tables_are_drawn_where_cells_are_wrong() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 60))
    X += 0.3 * rng.standard_normal(X.shape)
    X[250, 55] += 30
    X[rng.random(300) < 0.1, 3] = np.nan
    ax = rr.plot.cells(rr.clean(X))
    columns = [label.get_text() for label in ax.get_xticklabels()]
    assert "250" in labels_of(ax)
    assert {"3", "55"} <= {*columns}
    assert pixels_of(ax).shape[0] <= 40
    assert pixels_of(ax).shape[1] <= 30


def test_chosen_rows_are_drawn_in_their_order() -> None:
    rng = np.random.default_rng(0)
    X = np.sin(np.arange(1000) / 50)[:, None] * [1, 2, -1] + 0.1 * rng.standard_normal((1000, 3))
    X[500:600, 1] += 5
    labels = [f"t{k}" for k in range(1000)]
    result = rr.clean(pd.DataFrame(X, columns=[*"abc"], index=labels))
    ax = rr.plot.cells(result, slice(400, 600))
    assert pixels_of(ax).shape == (200, 3, 4)
    opaque = pixels_of(ax)[:, 1, 3] > 100
    np.testing.assert_array_equal(opaque.nonzero()[0], np.arange(100, 200))
    of_blocks = pixels_of(rr.plot.cells(result, slice(None)))  # of five rows
    np.testing.assert_array_equal((of_blocks[:, 1, 3] > 100).nonzero()[0], np.arange(100, 120))
    assert len(ax.get_yticklabels()) <= 40
    assert ax.get_yticklabels()[0].get_text() == "t400"
    ax = rr.plot.cells(result, ["t550", "t3"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["t550", "t3"]
    with pytest.raises(KeyError, match="rows: 'x' is not a label"):
        rr.plot.cells(result, ["x"])
    with pytest.raises(ValueError, match=r"slice\(1000, 1010, None\) has none of the 1,000 rows"):
        rr.plot.cells(result, slice(1000, 1010))


def test_tables_without_wrong_cells_are_drawn_without_a_legend() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 1)) * [1, 2, 3] + 0.3 * rng.standard_normal((60, 3))
    ax = rr.plot.cells(rr.clean(X))
    assert ax.get_legend() is None
    assert not ax.lines
    assert pixels_of(ax)[..., 3].max() < 127


def test_rows_are_drawn_at_their_distances_and_unusual_ones_are_named() -> None:
    ax = rr.plot.rows(CLEANED)
    assert [line.get_marker() for line in ax.lines[:3]] == ["o", "o", "o"]
    assert sum(len(np.asarray(line.get_xdata())) for line in ax.lines[:3]) == 200
    wrong = ax.lines[2]
    table = CLEANED.rows.loc["sample 11"]
    for values, name in ((wrong.get_xdata(), "distance"), (wrong.get_ydata(), "residual")):
        (found,) = np.asarray(values, float)
        assert found in (pytest.approx(table[name]), pytest.approx(np.log10(table[name])))
    assert {"sample 11"} <= {text.get_text() for text in ax.texts}
    assert "1 wrong as a whole" in legend_of(ax)


def test_many_rows_are_drawn_where_they_are_unusual() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((9000, 1)) * [1, 2, 3, 4] + 0.3 * rng.standard_normal((9000, 4))
    X[4321] = [30, 50, -90, 7]
    ax = rr.plot.rows(rr.clean(X))
    drawn = sum(len(np.asarray(line.get_xdata())) for line in ax.lines[:3])
    assert 1500 <= drawn <= 2000
    assert "4321" in {text.get_text() for text in ax.texts}


def test_loadings_are_drawn_with_the_names_of_the_columns() -> None:
    ax = rr.plot.components(CLEANED)
    assert labels_of(ax) == [*"abcd"]
    assert CLEANED.table is not None
    loadings, variances = CLEANED.table.components()
    assert pixels_of(ax).shape == (4, len(loadings), 4)
    texts = [float(text.get_text().replace("−", "-")) for text in ax.texts]
    assert np.allclose(texts, loadings.T.ravel(), atol=0.006)
    share = variances[0] / np.trace(CLEANED.table.model.normal.covariance)
    assert ax.get_xticklabels()[0].get_text() == f"1\n{share:.0%}"


@pytest.mark.parametrize("name", ["cells", "rows", "components"])
def test_pictures_of_tables_need_a_table(name: str) -> None:
    with pytest.raises(ValueError, match=r"not that of a table; expected one of robustrank.clean"):
        DRAWN[name](RECOVERY)


def test_long_labels_are_drawn_without_what_they_have_in_common() -> None:
    frame = table_with_errors().iloc[:30]
    frame.columns = [f"Concentration of substance {name} in mg/l" for name in frame.columns]
    ax = rr.plot.components(rr.clean(frame))
    assert labels_of(ax) == ["…a…", "…b…", "…c…", "…d…"]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_matplotlib_is_imported_when_it_is_needed() -> None:
    code = """
import sys
import robustrank as rr
assert "matplotlib" not in sys.modules
planted = rr.simulate.plant(12, 10, 1, 200, rng=1)
result = rr.recover(planted.A, planted.y, 1)
sys.modules["matplotlib"] = None
rr.plot.matrix(result)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: robustrank.plot needs matplotlib; install it with: "
        "pip install 'robustrank[report]'"
    )
