"""``robustrank clean``: every form of input and output, exit status, messages, interruption."""

from __future__ import annotations

import csv
import gzip
import re
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import COMMAND, on_terminal, run, wait_for

import robustrank as rr

LONG = ["--long", "sample", "feature", "value"]


def given() -> pd.DataFrame:
    """Six features of 150 samples with one factor, three of them with text or whole numbers."""
    rng = np.random.default_rng(1)
    size = rng.standard_normal((150, 1))
    X = size * [1, 20, 0.3] + rng.standard_normal((150, 3)) * [0.3, 5, 0.1]
    frame = pd.DataFrame(X.round(3), columns=["mass", "length", "width"])
    frame["length"] = frame["length"].round(1)
    frame.insert(0, "sample", [f"s{i:03}" for i in range(150)])
    frame.insert(2, "species", rng.choice(["rat", "mouse"], 150))
    frame["batch"] = rng.integers(0, 5, 150)
    frame["count"] = np.round(50 * size[:, 0] + 500).astype(int)
    frame.loc[7, "length"], frame.loc[3, "width"], frame.loc[9, "count"] = 400.0, np.nan, 9000
    return frame


FRAME = given()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one table in every form that ``clean`` reads."""
    path = tmp_path_factory.mktemp("clean")
    FRAME.to_csv(path / "table.csv", index=False)
    FRAME.to_csv(path / "commas.csv", index=False, sep=";", decimal=",")
    (path / "table.csv.gz").write_bytes(gzip.compress((path / "table.csv").read_bytes()))
    FRAME.set_index("sample").to_parquet(path / "table.parquet")
    numbers = FRAME.drop(columns=["species", "batch"])
    long = numbers.melt("sample", var_name="feature", value_name="value")
    long.sample(frac=1, random_state=0).to_csv(path / "long.csv", index=False)
    in_order = numbers.set_index("sample").sort_index(axis=1)
    in_order.to_csv(path / "wide.csv")
    np.save(path / "table.npy", in_order.to_numpy())
    return path


def table_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    with open(path, newline="") as stream:
        return list(csv.reader(stream, delimiter=delimiter))


def changes(before: Path, after: Path, delimiter: str = ",") -> dict[tuple[str, str], str]:
    """The cells that differ, by the name of the sample and of the column."""
    header, *old = table_of(before, delimiter)
    new_header, *new = table_of(after, delimiter)
    assert new_header == header
    return {
        (line[0], name): cell
        for line, other in zip(old, new, strict=True)
        for name, was, cell in zip(header, line, other, strict=True)
        if was != cell
    }


def test_tables_without_a_center(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.lognormal(size=(40, 1)) * rng.normal(1, 0.1, (40, 5)) * [1, 3, 9, 27, 81]
    table[3, 2] = np.nan
    np.save(tmp_path / "table.npy", table)
    run("clean", "table.npy", "--no-center", "--out", "out.npy", cwd=tmp_path)
    expected = rr.clean(table, center=False).frame
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    assert expected[3, 2] != rr.clean(table).frame[3, 2]


@pytest.mark.parametrize(
    ("form", "delimiter", "point"), [("table.csv", ",", "."), ("commas.csv", ";", ",")]
)
def test_only_missing_and_wrong_cells_of_the_file_change(
    form: str, delimiter: str, point: str, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "clean.csv"
    done = run("clean", form, "--ignore", "batch", "--out", out, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("species") == done.stdout.count("batch") == 1
    assert "as they are: species, batch" in done.stdout
    changed = changes(folder / form, out, delimiter)
    assert changed.keys() == {("s007", "length"), ("s003", "width"), ("s009", "count")}
    assert re.fullmatch(r"\d+", changed["s009", "count"])
    assert point in changed["s007", "length"]
    expected = rr.clean(FRAME.set_index("sample"), ignore=["batch"]).frame
    for (sample, column), text in changed.items():
        assert float(text.replace(",", ".")) == pytest.approx(expected.loc[sample, column])


@pytest.mark.parametrize(
    "form", ["table.parquet", "plain.parquet", "commas.csv", "wide.csv", "long.csv", "table.npy"]
)
def test_parquet_files_have_the_same_cells(form: str, folder: Path, tmp_path: Path) -> None:
    FRAME.astype({"mass": "float32", "count": "Int16"}).to_parquet(folder / "plain.parquet")
    options = {"long.csv": LONG, "table.npy": [], "wide.csv": []}.get(form, ["--ignore", "batch"])
    for name in ("clean.parquet", "clean.csv"):
        done = run("clean", form, *options, "-q", "--out", tmp_path / name, cwd=folder)
        assert done.returncode == 0, done.stderr
    cleaned = pd.read_parquet(tmp_path / "clean.parquet")
    assert cleaned.notna().all().all()
    if form.endswith(".parquet"):
        given = pd.read_parquet(folder / form)
        assert cleaned.dtypes.equals(given.dtypes)
        assert cleaned.index.equals(given.index)
        assert cleaned.index.names == given.index.names
        different = (cleaned != given).fillna(True).stack()
        assert different.sum() == 3
    delimiter, decimal = (";", ",") if form == "commas.csv" else (",", ".")
    table = pd.read_csv(tmp_path / "clean.csv", sep=delimiter, decimal=decimal)
    if form == "commas.csv":
        assert cleaned["count"].dtype == "Int64"
        assert cleaned["mass"].dtype == "float64"
    named = cleaned.select_dtypes("number").columns
    if form != "table.npy":
        numbers, expected = (one[named].to_numpy(float) for one in (cleaned, table))
        np.testing.assert_allclose(numbers, expected, rtol=1e-6)


def test_decimals_of_a_parquet_file_stay_decimals(folder: Path, tmp_path: Path) -> None:
    decimals = [None if np.isnan(one) else Decimal(f"{one:.3f}") for one in FRAME["width"]]
    FRAME.assign(width=decimals).to_parquet(folder / "decimals.parquet")
    done = run("clean", "decimals.parquet", "-q", "--out", tmp_path / "a.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    cleaned = pd.read_parquet(tmp_path / "a.parquet")
    assert FRAME["width"].isna().any()
    assert {type(one) for one in cleaned["width"]} == {Decimal}


@pytest.mark.parametrize("form", ["table.csv.gz", "table.parquet"])
def test_other_forms_of_files_give_the_same_cells(form: str, folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("expected.csv", "found.csv")]
    for name, path in zip(("table.csv", form), files, strict=True):
        done = run("clean", name, "--ignore", "batch", "-q", "--cells", path, cwd=folder)
        assert (done.returncode, done.stdout) == (0, "")
    pd.testing.assert_frame_equal(*map(pd.read_csv, files))


def test_wide_and_long_tables_and_arrays_give_the_same_answer(folder: Path, tmp_path: Path) -> None:
    results = {}
    for form, options in {"wide.csv": [], "long.csv": LONG, "table.npy": []}.items():
        out, cells = tmp_path / f"{form}.npz", tmp_path / f"{form}.cells.csv"
        done = run("clean", form, *options, "-q", "--out", out, "--cells", cells, cwd=folder)
        assert done.returncode == 0, done.stderr
        results[form] = rr.load(out), pd.read_csv(cells)
    wide, expected = results["wide.csv"]
    assert list(wide.column_labels) == ["count", "length", "mass", "width"]
    assert expected[["row", "column"]].to_numpy().tolist() == [
        ["s003", "width"],
        ["s007", "length"],
        ["s009", "count"],
    ]
    pd.testing.assert_frame_equal(results["long.csv"][1], expected)
    numbers = results["table.npy"][1]
    assert numbers[["row", "column"]].to_numpy().tolist() == [[3, 3], [7, 1], [9, 0]]
    pd.testing.assert_frame_equal(numbers[["expected"]], expected[["expected"]])
    for result, _ in results.values():
        np.testing.assert_array_equal(np.asarray(result.frame), np.asarray(wide.frame))
        assert result.certificate == wide.certificate


def test_cells_and_rows_are_those_of_the_result(folder: Path, tmp_path: Path) -> None:
    names = {"--out": "clean.npy", "--cells": "cells.csv", "--rows": "r.csv"}
    files = [part for name, file in names.items() for part in (name, tmp_path / file)]
    done = run("clean", "wide.csv", *files, cwd=folder)
    assert re.findall(r"wrote +(.*)", done.stdout) == [*map(str, files[1::2])]
    result = rr.clean(pd.read_csv(folder / "wide.csv", index_col="sample"))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "cells.csv"), result.cells)
    rows = pd.read_csv(tmp_path / "r.csv", index_col="row")
    pd.testing.assert_frame_equal(rows, result.rows, check_names=False)
    assert result.table is not None
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), result.table.filled())


@pytest.mark.parametrize(
    ("lines", "options", "rows"),
    [
        ("id,a,b\nx,1,2\ny,2,4\nz,3,", [], ["z"]),
        (",a,b\n5,1,2\n6,2,4\n7,3,", [], ["7"]),
        ("a,b\n1,2\n2,4\n3,", [], ["line 4"]),
        ("# a comment\na,b\n1,2\n2,4\n3,", [], ["line 5"]),
        ("1,2\n2,4\n3,", [], ["line 3"]),
        ("id,a,b\nx,1,2\nx,2,4\nz,3,", [], ["line 4"]),  # names that occur twice are text
        ("a,n,b\n1,17,2\n2,12,4\n3,19,", ["--index", "n"], ["19"]),
        ("a,n,b\n1,17,2\n2,12,4\n3,19,", ["--index", "2"], ["19"]),
    ],
)
def test_rows_have_names_or_lines(
    lines: str, options: list[str], rows: list[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"{lines}\n")
    run("clean", "t.csv", *options, "-q", "--cells", "cells.csv", cwd=tmp_path)
    assert [line[0] for line in table_of(tmp_path / "cells.csv")[1:]] == rows


@pytest.mark.parametrize(
    ("column", "filled"),
    [
        (["1", "2", "", "1", "2"], r"\d"),
        (["True", "false", "", "false", "True"], "True|false"),
        (["yes", "no", "", "no", "yes"], ""),  # text is not filled
    ],
)
def test_filled_cells_are_written_like_the_others(
    column: list[str], filled: str, tmp_path: Path
) -> None:
    lines = [f"{k / 7:.3f},{cell}" for k, cell in enumerate(column)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *lines, ""]))
    run("clean", "t.csv", "-q", "--out", "clean.csv", cwd=tmp_path)
    texts = [line[1] for line in table_of(tmp_path / "clean.csv")[1:]]
    assert texts[:2] + texts[3:] == column[:2] + column[3:]
    assert re.fullmatch(filled, texts[2])


def test_exit_status_of_a_table_that_is_not_predicted(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).standard_normal((40, 4))
    np.save(tmp_path / "noise.npy", noise)
    done = run("clean", "noise.npy", "--out", "clean.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "inconclusive" in done.stdout
    assert len(table_of(tmp_path / "clean.csv")) == 40


def test_exit_status_of_a_table_of_low_rank(tmp_path: Path) -> None:
    planted = rr.simulate.plant_entries(40, 30, 2, 1100, outliers=0.03, rng=1)
    np.save(tmp_path / "exact.npy", planted.incomplete)
    done = run("clean", "exact.npy", "--out", "clean.npy", "--report", "page.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "recovered" in done.stdout
    np.testing.assert_allclose(np.load(tmp_path / "clean.npy"), planted.matrix, atol=1e-8)
    assert '<h2 id="verdict">Recovered</h2>' in (tmp_path / "page.html").read_text()


@pytest.mark.usefixtures("default_signals")
def test_tables_and_page_are_written_after_an_interruption(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 5)) @ rng.standard_normal((5, 300))
    X += 0.5 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    np.save(tmp_path / "large.npy", X)
    names = ["--out", "clean.npy", "--cells", "cells.csv", "--rows", "rows.csv"]
    command = [*COMMAND, "clean", "large.npy", *names, "--report", "page.html"]
    with on_terminal(command, tmp_path) as (process, terminal):
        wait_for(terminal, rb"normal model")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 1
    cleaned = np.load(tmp_path / "clean.npy")
    assert np.isfinite(cleaned).all()
    assert len(table_of(tmp_path / "rows.csv")) == 3001
    assert len(table_of(tmp_path / "cells.csv")) > np.isnan(X).sum()
    page = (tmp_path / "page.html").read_text()
    assert "Unfinished" in page
    assert "the run was interrupted" in page.lower()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["typo.csv"], "typo.csv, line 3, column 'b': '3..1' is not a number, but most cells"),
        (["typo.csv"], "leave the column as it is with --ignore b"),
        (["table.csv", "--index", "species"], "is also that of line "),
        (["table.csv", "--ignore", "weight"], "no column 'weight'; it has 7 columns: sample, mass"),
        (["table.npy", "--ignore", "mass"], "--index and --ignore choose columns of a table"),
        (["table.npy", *LONG], "--long names columns of a table, such as a CSV file, not of"),
        (["long.csv", *LONG, "--index", "sample"], "but long.csv has one cell in each line"),
        (["long.csv", *LONG[:-1], "size"], "no column 'size'; it has 3 columns: sample, feature"),
        (["twice.csv", *LONG], "twice.csv has 2 values of row 'x' and column 'a'; expected one"),
        (["names.csv"], "the table has 3 rows and 0 columns of numbers; expected at least two"),
        (["short.csv"], "line 3: 1 values; expected 2"),
        (["headless.csv"], "first line, which should name the columns, has the number 5.1"),
        (["none.csv"], "none.csv does not exist"),
        (["empty.csv"], "is empty"),
        (["table.csv", "--out", "table.csv"], "table.csv is also an input file"),
        (["table.csv", "--cells", "./table.csv"], "table.csv is also an input file"),
        (["table.csv", "--out", "a.csv", "--rows", "a.csv"], "is also another output file"),
        (["table.csv", "--out", "a.txt"], "expected one of .npz, .npy, .csv, .parquet"),
        (
            ["same.csv", "--out", "a.parquet"],
            "2 columns are named 'a', but the columns of",
        ),
        (["table.csv", "--cells", "a.npy"], "unknown extension; expected one of .csv"),
        (["table.csv", "--rows", "sample"], "unknown extension; expected one of .csv"),
        (["table.csv", "--report", "a.txt"], "unknown extension; expected one of .html"),
        (["table.csv", "--out", "none/a.csv"], "none does not exist"),
    ],
)
def test_errors_are_one_line(arguments: list[Any], message: str, folder: Path) -> None:
    (folder / "typo.csv").write_text("a,b\n1,2\n2,3..1\n3,4\n")
    (folder / "twice.csv").write_text("sample,feature,value\nx,a,1\ny,a,2\nx,a,3\n")
    (folder / "names.csv").write_text("a,b\nx,y\ny,z\nz,x\n")
    (folder / "short.csv").write_text("a,b\n1,2\n3\n")
    (folder / "headless.csv").write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    (folder / "empty.csv").write_text("")
    (folder / "same.csv").write_text("a,a\n1,2\n")  # refused before the table is cleaned
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run("clean", *arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("robustrank: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
