"""The report page about a completed matrix: its numbers and words are those of the result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_examples import PLANTED, Reader, tile

import robustrank as rr
from robustrank.report import render_report, write_report
from robustrank.report.arrays import Arrays
from robustrank.report.counts import CountBins
from robustrank.report.formatting import number, ratio
from robustrank.report.images import Pixels, Scale
from robustrank.report.verdict import verdict
from robustrank.result import SampledObservations, title_of
from robustrank.simulate import PlantedEntries, plant_entries

EXACT = plant_entries(40, 30, 2, 800, outliers=0.1, outlier_model="huge", rng=1)
NOISY = plant_entries(40, 30, 2, 900, outliers=0.1, noise=0.05, rng=1)
SCARCE = plant_entries(60, 45, 2, 700, outliers=0.05, sampling="power-law", rng=2)
HTML = [f"<script>{i}</script> & `r` $x$ {{{{ {i} }}}}" for i in range(40)]


def completed(planted: PlantedEntries, **options: Any) -> rr.Result:
    return rr.complete(planted.triples, shape=planted.shape, **options)


def labeled() -> rr.Result:
    """Labels that contain HTML; the rows 3 and 7 are undecided."""
    X = EXACT.incomplete
    X[3] = X[7, 2:] = np.nan
    return rr.complete(pd.DataFrame(X, index=HTML, columns=[f"<i>{j}</i>" for j in range(30)]))


def one_row() -> rr.Result:
    """Twelve entries in one row, which decide nothing."""
    certificate = replace(completed(EXACT).certificate, measurements=12, independent=12)
    places = np.zeros(12, int), np.arange(12)
    return rr.Result(
        left=np.ones((1, 1)),
        right=np.arange(1.0, 13.0)[:, None],
        outliers=np.zeros((1, 12), bool),
        certificate=certificate.with_objections("no row or column is decided"),
        observations=SampledObservations(*places, np.zeros(12)),
        noise=0.0,
        typical_size=1.0,
        undecided_rows=np.arange(1),
        undecided_columns=np.arange(12),
    )


MADE: dict[str, Callable[[], rr.Result]] = {
    "exact": lambda: completed(EXACT),
    "noisy": lambda: completed(NOISY),
    "undecided": lambda: completed(SCARCE),
    "labels": labeled,
    "no outliers": lambda: completed(plant_entries(30, 20, 1, 400, rng=1)),
    "complete matrix": lambda: rr.robust_pca(
        plant_entries(30, 20, 1, 600, outliers=0.1, rng=1).incomplete
    ),
    "unexplained": lambda: rr.complete(np.random.default_rng(1).standard_normal((20, 15))),
    "one row": one_row,
    "zero": lambda: rr.robust_pca(np.eye(20)),
    "stopped": lambda: completed(EXACT, time_limit=1e-3),
}


class Kept(dict[str, Any]):
    """Values that are made when they are first needed, not when the tests are collected."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Any:
        self[name] = self._make(name)
        return self[name]


RESULTS = Kept(lambda name: MADE[name]())
PAGES = Kept(lambda name: render_report(RESULTS[name]))


@pytest.mark.parametrize("name", MADE)
def test_numbers_are_those_of_the_result(name: str) -> None:
    result, page = RESULTS[name], PAGES[name]
    rows, columns = result.shape
    entries, rejected = result.certificate.measurements, int(np.sum(np.asarray(result.outliers)))
    assert tile(page, "Matrix")[0] == f"{rows} × {columns}"
    assert tile(page, "Rank")[0] == str(result.rank)
    percent = f"{100 * entries / (rows * columns):.1f}%"
    assert tile(page, "Observed entries") == (str(entries), f"{percent} of {rows * columns:,}")
    percent = f"{100 * rejected / entries:.1f}%"
    assert tile(page, "Rejected") == (str(rejected), f"{percent} of {entries} entries")
    assert tile(page, "Seconds")[0] == number(result.seconds)
    assert tile(page, "Noise level σ")[0] == number(result.noise)
    assert tile(page, "Undecided rows")[0] == str(len(result.undecided_rows))
    assert tile(page, "Undecided columns")[0] == str(len(result.undecided_columns))


def test_the_table_of_results_has_every_kind() -> None:
    """The tests below mean something only if the results are what their names say."""
    statuses = [RESULTS[name].status.name for name in ("exact", "noisy", "unexplained")]
    assert statuses == ["RECOVERED", "ESTIMATED", "INCONCLUSIVE"]
    assert len(RESULTS["undecided"].undecided_rows) > 3
    assert len(RESULTS["labels"].undecided_rows) == 2
    assert not RESULTS["no outliers"].outliers.any()
    assert RESULTS["complete matrix"].outliers.sum() == 60
    assert RESULTS["stopped"].stopped is rr.StopReason.TIME_LIMIT


@pytest.mark.parametrize("name", MADE)
def test_page_is_well_formed_and_self_contained(name: str) -> None:
    page = PAGES[name]
    read = Reader(page)
    assert "http" not in page
    assert "<script" not in page
    assert all(link.startswith(("#", "data:image/png")) for link in read.links)
    assert len(set(read.ids)) == len(read.ids)
    inside = [link[1:] for link in read.links if link.startswith("#")]
    assert set(inside + re.findall(r"url\(#([^)]*)\)", page)) <= set(read.ids)
    rows, columns, _ = RESULTS[name].entries
    uneven = [len(set(np.bincount(places).tolist())) > 1 for places in (rows, columns)]
    figures = 4 + sum(uneven) + (RESULTS[name].rank_table is not None)
    assert page.count('role="img"') == page.count("<figcaption>") == len(read.labels) == figures


@pytest.mark.parametrize("name", MADE)
def test_verdict_says_what_happened_and_what_to_do(name: str) -> None:
    result, page = RESULTS[name], PAGES[name]
    shown, text = verdict(result), Reader(page).text
    assert f'class="verdict {shown.tone}"' in page
    assert f'<h2 id="verdict">{shown.heading}</h2>' in page
    assert "Next step:" in text
    assert "Misfit" not in text  # a completion has no history of misfits
    assert "Convergence" not in text
    for objection in result.certificate.objections:
        assert objection[1:].replace("measurement", "entry").replace("entrys", "entries") in text


def test_completion_that_was_stopped_says_why() -> None:
    text = Reader(PAGES["stopped"]).text
    assert "Unfinished" in text
    assert "The run ended early: the time limit was reached." in text
    assert "too few trusted entries in 40 rows and 30 columns" in text


def test_predictions_of_entries_that_were_left_out() -> None:
    certificate = RESULTS["noisy"].certificate
    page = PAGES["noisy"]
    trivial = certificate.trivial_error
    assert tile(page, "Held-out error")[0] == number(trivial * certificate.held_out_error)
    assert tile(page, "Expected error")[0] == number(trivial * certificate.expected_error)
    assert tile(page, "Trivial error")[0] == number(trivial)
    assert tile(page, "Error of the matrix")[0] == ratio(certificate.matrix_error)
    worse = replace(RESULTS["noisy"], certificate=replace(certificate, matrix_error=1.4))
    assert tile(render_report(worse), "Error of the matrix")[0] == "140.0%"
    assert "Held-out error" not in PAGES["exact"]


@pytest.mark.parametrize("name", ["exact", "noisy", "undecided"])
def test_largest_outliers_are_listed_with_observed_and_predicted_values(name: str) -> None:
    planted = {"exact": EXACT, "noisy": NOISY, "undecided": SCARCE}[name]
    result = RESULTS[name]
    rows, columns, values = planted.triples
    unknown = np.isin(rows, result.undecided_rows) | np.isin(columns, result.undecided_columns)
    predicted = result.predict(rows, columns)
    known = np.flatnonzero(result.outliers & ~unknown)
    worst = known[np.argsort(-np.abs(values - predicted)[known])[:8]]
    expected = [
        [str(rows[k]), str(columns[k]), number(values[k]), number(predicted[k])] for k in worst
    ]
    assert table_cells(PAGES[name], "Largest outliers") == expected
    elsewhere = int(np.count_nonzero(result.outliers & unknown))
    assert ("in undecided rows or columns and not listed" in PAGES[name]) == (elsewhere > 0)


def table_cells(page: str, heading: str) -> list[list[str]]:
    found = re.search(rf"<h2>{heading}</h2>\s*<table>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert found is not None
    lines = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    return [
        [Reader(cell).text for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
        for line in lines
    ]


@pytest.mark.parametrize("name", ["no outliers", "one row", "stopped"])
def test_no_table_without_outliers_in_the_decided_part(name: str) -> None:
    assert "Largest outliers" not in PAGES[name]


def names_listed(page: str) -> list[str]:
    return [
        Reader(item).text.strip()
        for item in re.findall(r"<li>((?:(?!<li).)*?<small>.*?)</li>", page)
    ]


def test_undecided_rows_and_columns_are_listed_with_their_inliers() -> None:
    result = RESULTS["undecided"]
    expected = []
    for axis, undecided in enumerate((result.undecided_rows, result.undecided_columns)):
        for index in undecided:
            own = SCARCE.triples[axis] == index
            inliers = np.count_nonzero(own & ~result.outliers)
            count = f"{inliers} of {np.count_nonzero(own)}" if own.any() else "no entries"
            expected.append(f"{index} {count}")
    assert names_listed(PAGES["undecided"]) == expected
    assert "do not use the values there" in PAGES["undecided"]
    for name in ("exact", "stopped", "one row"):
        assert "Undecided rows and columns" not in PAGES[name]


def test_twenty_names_are_listed_and_the_others_are_counted() -> None:
    result = replace(RESULTS["exact"], undecided_rows=np.arange(33))
    page = render_report(result)
    assert [name.split()[0] for name in names_listed(page)] == [str(i) for i in range(20)]
    assert "and 13 more" in page


def test_labels_are_shown_and_escaped() -> None:
    page, text = PAGES["labels"], Reader(PAGES["labels"]).text
    assert "&lt;script&gt;3&lt;/script&gt; &amp; `r` $x$ {{ 3 }}" in page
    assert [name.rsplit(" ", 2)[0] for name in names_listed(page)] == [
        f"{HTML[3]}",
        f"{HTML[7]} 2",
    ]
    assert "<i>" not in page
    assert "<i>" in text


def test_given_labels_replace_numbers_and_are_counted() -> None:
    result = RESULTS["undecided"]
    page = render_report(
        result,
        row_labels=[("user", i) for i in range(60)],
        column_labels=["x" * 500] * 45,
    )
    first = result.undecided_rows[0]
    assert f"<li>user, {first} <small>" in page
    assert "x" * 13 + "…" + "x" * 26 in page
    assert "x" * 40 not in page
    with pytest.raises(ValueError, match=r"row_labels has 3 labels; .* 60 rows"):
        render_report(result, row_labels=["a", "b", "c"])


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_product([range(8), list("abcde")]),
        pd.date_range("2020", periods=40, tz="Europe/Zurich"),
        pd.RangeIndex(100, 140),
        pd.IntervalIndex.from_breaks(range(41)),
    ],
    ids=lambda index: type(index).__name__,
)
def test_undecided_rows_are_found_by_any_label(index: Any) -> None:
    undecided = np.asarray(index[[3, 7]])
    result = replace(RESULTS["exact"], row_labels=index, undecided_rows=undecided)
    arrays = Arrays.of(result)
    assert np.flatnonzero(arrays.rows.undecided).tolist() == [3, 7]


@pytest.mark.parametrize("form", ["triples", "matrix"])
def test_truth_is_compared_in_the_decided_part(form: str) -> None:
    """The entries of a matrix have another order than those of the planted problem."""
    result = completed(SCARCE) if form == "triples" else rr.complete(SCARCE.incomplete)
    result = replace(result, left=1.0125 * result.left)  # an error that is more than rounding
    page = render_report(result, truth=SCARCE)
    rows = np.setdiff1d(np.arange(60), result.undecided_rows)
    columns = np.setdiff1d(np.arange(45), result.undecided_columns)
    assert len(rows) < 60
    part = np.ix_(rows, columns)
    true, found = SCARCE.matrix[part], (result.left @ result.right.T)[part]
    error = float(np.linalg.norm(found - true) / np.linalg.norm(true))
    shown, note = tile(page, "Relative error")
    assert error == pytest.approx(0.0125)
    assert shown == number(error)
    assert note.endswith("in the decided part")
    flags = np.zeros(SCARCE.shape, bool)
    flags[SCARCE.rows[SCARCE.outliers], SCARCE.columns[SCARCE.outliers]] = True
    outliers = result.outliers
    if form == "triples":
        outliers = np.zeros(SCARCE.shape, bool)
        outliers[SCARCE.rows[result.outliers], SCARCE.columns[result.outliers]] = True
    score = rr.metrics.score_outliers(outliers, flags)
    assert tile(page, "Outliers found") == (str(score.found), f"of {SCARCE.outliers.sum()}")
    assert tile(page, "Outliers missed")[0] == str(score.missed)
    assert tile(page, "False positives")[0] == str(score.false_positives)
    in_matrix = SimpleNamespace(left=SCARCE.left, right=SCARCE.right, outliers=flags)
    assert render_report(result, truth=in_matrix) == page
    for title in ("True matrix", "Difference"):
        assert f"<h2>{title}</h2>" in page


def test_error_of_a_matrix_that_is_zero_or_undecided_is_undefined() -> None:
    zero = SimpleNamespace(
        left=np.zeros((20, 1)), right=np.zeros((20, 1)), outliers=np.eye(20, dtype=bool)
    )
    assert tile(render_report(RESULTS["zero"], truth=zero), "Relative error")[0] == "undefined"
    assert tile(render_report(RESULTS["zero"], truth=zero), "Outliers found") == ("20", "of 20")
    stopped = render_report(RESULTS["stopped"], truth=EXACT)
    assert tile(stopped, "Relative error")[0] == "undefined"


def test_completions_are_compared() -> None:
    lower = completed(EXACT, rank=1)
    page = render_report(RESULTS["exact"], compare_with=[lower], truth=EXACT)
    table = page[page.index("Comparison of results") :].split("</table>")[0]
    cells = re.findall(r'data-name="Rank">(\d+)<', table)
    assert cells == ["2", "1"]
    assert "✓ Recovered" in table
    assert "✗ Inconclusive" in table
    assert "Misfit" not in table
    assert "Passes" not in table


def test_other_problems_and_other_objects_raise() -> None:
    with pytest.raises(
        ValueError, match=r"truth has 400 entries of a 20 × 15 .* expected the same"
    ):
        render_report(RESULTS["exact"], truth=PLANTED)
    with pytest.raises(ValueError, match=r"compare_with\[0\] has 900 entries of a 40 × 30 matrix"):
        render_report(RESULTS["exact"], compare_with=[RESULTS["noisy"]])
    with pytest.raises(TypeError, match="result is a ndarray; expected a Result, as recover"):
        render_report(np.ones(3))  # type: ignore[arg-type]


def test_file_has_the_rendered_page_with_its_title(tmp_path: Path) -> None:
    write_report(tmp_path / "page.html", RESULTS["exact"], title="Ratings & <more>")
    text = (tmp_path / "page.html").read_text()
    assert text == render_report(RESULTS["exact"], title="Ratings & <more>")
    assert "<h1>Ratings &amp; &lt;more&gt;</h1>" in text
    assert f"{title_of(RESULTS['exact'])}, from 800 observed entries" in text
    assert title_of(RESULTS["exact"]).startswith("A 40 × 30 matrix of rank 2 by ")


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("form", ["triples", "matrix"])
def test_page_does_not_depend_on_the_library_or_the_form(library: str, form: str) -> None:
    convert = np.asarray if library == "numpy" else pytest.importorskip("torch").asarray
    order = np.lexsort((EXACT.columns, EXACT.rows))
    parts = tuple(convert(part[order]) for part in EXACT.triples)
    given = parts if form == "triples" else convert(EXACT.incomplete)
    page = render_report(replace(rr.complete(given), seconds=1.0))
    assert tile(page, "Rejected")[0] == "80"
    assert table_cells(page, "Largest outliers") == table_cells(PAGES["exact"], "Largest outliers")


def test_pixels_show_observed_entries_where_a_block_has_any() -> None:
    """A block of 5 × 2 has one entry; the other pixels are in the middle of their blocks."""
    shape = (1200, 480)
    result = replace(
        RESULTS["exact"],
        left=np.ones((1200, 1)),
        right=np.ones((480, 1)),
        observations=SampledObservations(np.array([7, 1199]), np.array([3, 479]), np.zeros(2)),
        outliers=np.array([False, True]),
    )
    arrays = Arrays.of(result)
    pixels = Pixels.of(arrays)
    assert arrays.shape == shape
    assert np.argwhere(pixels.entries >= 0).tolist() == [[1, 1], [239, 239]]
    assert (pixels.rows[1, 1], pixels.columns[1, 1]) == (7, 3)
    assert (pixels.rows[0, 0], pixels.columns[0, 0]) == (2, 1)
    assert np.array_equal(pixels.rows // 5, np.repeat(np.arange(240)[:, None], 240, axis=1))
    page = render_report(result)
    assert "one entry of a block of up to 5 × 2" in page
    assert "one entry of a block" not in PAGES["exact"]


@pytest.mark.parametrize(
    "values",
    [np.zeros(9), np.full(9, 3.0), np.r_[-1e308, 1e308], np.r_[np.nan, np.inf], np.ones(0)],
)
def test_any_values_have_colors(values: Any) -> None:
    scale = Scale.of(values)
    assert scale.low < scale.high
    colors = scale.rgba(values)
    assert np.isfinite(colors).all()
    assert np.array_equal(colors[:, 3] == 1, np.isfinite(values))
    assert len(scale.labels()) == 3


@pytest.mark.parametrize("name", ["undecided", "stopped", "exact"])
def test_legend_and_caption_name_the_undecided_part(name: str) -> None:
    picture = PAGES[name][PAGES[name].index("Recovered matrix</h2>") :].split("</figure>")[0]
    assert ("<span>undecided</span>" in picture) == (name != "exact")
    assert ("do not use them" in picture) == (name == "undecided")
    assert ("No part of the matrix is certified" in picture) == (name == "stopped")


@pytest.mark.parametrize(
    ("counts", "starts"),
    [
        ([3, 3, 3], [3, 4]),
        ([0, 2], [0, 1, 2, 3]),
        ([0, 1, 1, 2, 3, 100], [0, 1, 2, 4, 8, 16, 32, 64, 128]),
        ([50, 90, 129], list(range(50, 131, 2))),
    ],
)
def test_bars_of_entry_counts(counts: list[int], starts: list[int]) -> None:
    bins = CountBins.of(np.asarray(counts))
    assert bins.starts.tolist() == starts
    assert bins.count(np.asarray(counts)).sum() == len(counts)
    assert len(bins.centers) == len(starts) - 1


def test_row_counts_are_described() -> None:
    result = RESULTS["undecided"]
    counts = np.bincount(SCARCE.rows, minlength=60)
    undecided = len(result.undecided_rows)
    expected = (
        f"number of observed entries per row, from {counts.min()} to {counts.max()}: "
        f"{60 - undecided} decided, {undecided} undecided"
    )
    assert any(expected in label for label in Reader(PAGES["undecided"]).labels)


def test_infinite_and_large_residuals_are_drawn() -> None:
    rows, columns, residuals = RESULTS["exact"].entries
    strange = residuals.copy()
    strange[:4] = np.inf, -np.inf, np.nan, 1e300
    Reader(
        render_report(
            replace(RESULTS["exact"], observations=SampledObservations(rows, columns, strange))
        )
    )


def test_a_million_entries_take_less_than_three_seconds() -> None:
    rng = np.random.default_rng(0)
    n1, n2, entries = 20_000, 3_000, 1_000_000
    result = replace(
        RESULTS["exact"],
        left=rng.standard_normal((n1, 5)),
        right=rng.standard_normal((n2, 5)),
        observations=SampledObservations(
            rng.integers(0, n1, entries),
            rng.integers(0, n2, entries),
            rng.standard_normal(entries),
        ),
        outliers=rng.random(entries) < 0.1,
        undecided_rows=np.arange(0, n1, 40),
    )
    began = time.process_time()
    page = render_report(result)
    assert time.process_time() - began < 3
    assert len(page) < 1_000_000
