"""The report page about a cleaned table: its numbers and words are those of the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_examples import RECOVERY, Reader, tile

import robustrank as rr
from robustrank.report import render_report, write_report
from robustrank.report.formatting import number

HTML = [f"<script>{j}</script> & `r` $x$ {{{{ {j} }}}}" for j in range(12)]


def table(rows: int, columns: int, noise: float = 0.3, wrong: float = 0.01) -> pd.DataFrame:
    """Two factors, columns in different units, some wrong and missing cells."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, columns))
    X += noise * rng.standard_normal(X.shape)
    flags = rng.random(X.shape) < wrong
    X[flags] += rng.choice([-15, 15], flags.sum())
    X[rng.random(X.shape) < 0.03] = np.nan
    return pd.DataFrame(X * 10.0 ** rng.integers(-3, 5, columns))


def with_wrong_rows() -> pd.DataFrame:
    frame = table(150, 12)
    frame.columns = pd.Index(HTML)
    frame.iloc[[20, 70]] = frame.iloc[[20, 70]].to_numpy()[:, ::-1] * 3
    frame[HTML[5]] = np.nan
    return frame


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {
    "predictive": with_wrong_rows,
    "large": lambda: table(400, 60, wrong=0.05),
    "nothing wrong": lambda: table(80, 5, wrong=0),
    "constant column": lambda: table(80, 5).assign(constant=3.0),
    "recovered": lambda: table(60, 30, noise=0.0, wrong=0.05),
    "inconclusive": lambda: pd.DataFrame(np.random.default_rng(3).standard_normal((60, 5))),
    "small": lambda: pd.DataFrame([[1.0, np.nan], [np.inf, 3.0], [2.0, 4.0]]),
}
QUESTIONS = ["What was wrong?", "How accurate is it?", "What to do next"]


@cache
def cleaned(name: str) -> rr.Result:
    if name == "unfinished":
        return rr.clean(FRAMES["large"](), time_limit=1e-3)
    return rr.clean(FRAMES[name]())


@cache
def page(name: str) -> str:
    return render_report(cleaned(name))


def listed(text: str, heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    part = text[text.index(f"<h2>{heading}</h2>") :].split("</section>")[0]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", part)
    return [[Reader(f"<p>{cell}</p>").text.strip() for cell in split(row)] for row in rows]


def split(row: str) -> list[str]:
    return [re.sub(r"</t[hd]>", "", cell) for cell in re.split(r"<td[^>]*>", row)]


@pytest.mark.parametrize("name", [*FRAMES, "unfinished"])
def test_numbers_are_those_of_the_result_and_sections_in_order(name: str) -> None:
    result, text = cleaned(name), page(name)
    reader = Reader(text)
    rows, columns = result.shape
    missing = int(np.isnan(FRAMES[name.replace("unfinished", "large")]().to_numpy()).sum())
    assert tile(text, "Table")[0] == f"{rows} × {columns}"
    assert tile(text, "Missing cells")[0] == f"{missing:,}"
    assert tile(text, "Wrong cells")[0] == f"{int(result.outliers.to_numpy().sum()):,}"
    assert tile(text, "Wrong rows")[0] == f"{int(result.row_outliers.sum()):,}"
    places = [reader.text.index(question) for question in QUESTIONS]
    assert places == sorted(places)
    assert result.advice.replace("`", "") in reader.text[places[-1] :]
    assert not reader.links or all(link.startswith(("#", "data:")) for link in reader.links)
    assert len(reader.ids) == len(set(reader.ids))


@pytest.mark.parametrize(
    ("name", "heading", "tone"),
    [
        ("predictive", "Predictive: left-out cells are predicted", "good"),
        ("recovered", "Recovered", "good"),
        ("inconclusive", "Inconclusive", "bad"),
        ("unfinished", "Unfinished", "fair"),
    ],
)
def test_page_begins_with_whether_the_result_can_be_used(
    name: str, heading: str, tone: str
) -> None:
    assert f'<section class="verdict {tone}"' in page(name)
    assert f'<h2 id="verdict">{heading}</h2>' in page(name)


def test_skill_is_that_of_the_certificate() -> None:
    certificate = cleaned("predictive").certificate
    value, note = tile(page("predictive"), "Skill")
    assert value == f"{certificate.skill:.0%}"
    assert note.endswith(f"at least {certificate.least_skill:.0%}")
    assert f"width:{100 * certificate.skill:.2f}%" in page("predictive")
    assert tile(page("predictive"), "Within intervals")[0] == f"{certificate.held_out_share:.0%}"


def test_wrong_cells_are_listed_with_what_is_expected() -> None:
    result = cleaned("predictive")
    cells = result.cells.dropna().set_index(["row", "column"])
    found = listed(page("predictive"), "Wrong cells")
    assert len(found) == min(12, len(cells)) > 5
    short = {column: Reader(f"<p>{column}</p>").text for column in result.column_labels}
    for row, column, value, expected, probability in found:
        of_row = cells.loc[int(row)]
        (name,) = (one for one in of_row.index if number(of_row.loc[one, "value"]) == value)
        line = of_row.loc[name]
        assert expected == f"{number(line['expected'])} ± {number(line['standard_error'])}"
        assert probability in (">99%", f"{line['probability']:.0%}")
        assert column
        assert name in short
    wrong = [bool(result.row_outliers[int(row)]) for row, *_ in found]
    assert wrong == sorted(wrong)


def test_wrong_rows_are_listed_and_named_in_the_next_steps() -> None:
    found = listed(page("predictive"), "Wrong rows")
    assert {row for row, *_ in found} == {"20", "70"}
    assert "wrong as a whole: 20, 70." in Reader(page("predictive")).text
    assert "Columns without any value stay empty" in Reader(page("predictive")).text


def test_errors_are_compared_with_the_median() -> None:
    columns = cleaned("large").columns
    found = listed(page("large"), "Errors by column")
    assert len(found) == 15
    for name, error, of_median, _removed in found:
        line = columns.loc[int(name)]
        assert (error, of_median) == (number(line["error"]), number(line["error_of_median"]))
    ratios = [
        columns.loc[int(row[0])].pipe(lambda c: c["error"] / c["error_of_median"]) for row in found
    ]
    assert ratios == sorted(ratios, reverse=True)


def test_certified_tables_state_the_error_of_the_matrix() -> None:
    assert "Errors by column" not in page("recovered")
    assert tile(page("recovered"), "Error")[0] == "0"


@pytest.mark.parametrize("name", ["nothing wrong", "large", "predictive"])
def test_captions_are_true(name: str) -> None:
    text = Reader(page(name)).text
    assert ("No cell is wrong by itself." in text) == (name == "nothing wrong")
    assert ("of 400 rows and 30 of 60 columns" in text) == (name == "large")
    assert bool(re.search(r"\d+ wrong cells are not shown", text)) == (name == "large")
    assert ("Wrong cells are red" in text) == (name != "nothing wrong")


def test_labels_may_be_given_and_must_fit(tmp_path: Any) -> None:
    names = [f"station {i}" for i in range(60)]
    write_report(tmp_path / "page.html", cleaned("recovered"), row_labels=names, title="Rivers")
    text = (tmp_path / "page.html").read_text()
    assert "<h1>Rivers</h1>" in text
    assert {row.split()[0] for row, *_ in listed(text, "Wrong cells")} == {"station"}
    with pytest.raises(
        ValueError, match="row_labels has 3 labels; expected one for each of the 60"
    ):
        render_report(cleaned("recovered"), row_labels=names[:3])


def test_a_page_about_a_table_has_no_truth_and_no_comparison() -> None:
    with pytest.raises(ValueError, match="are not for results of clean; omit them"):
        render_report(cleaned("small"), compare_with=[RECOVERY])
