"""``robustrank complete``: every form of input and output, exit status, messages."""

from __future__ import annotations

import csv
import gzip
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command_line import COMMAND, on_terminal, run, wait_for

import robustrank as rr
from robustrank.cli.complete import complete
from robustrank.cli.data import read_start
from robustrank.simulate import plant_entries

PROBLEM = plant_entries(40, 30, 2, 800, outliers=0.1, outlier_model="huge", rng=1)
NAMED = ["--rows", "user", "--columns", "item", "--values", "rating"]


def names() -> tuple[list[str], list[str]]:
    return [f"user {i}" for i in range(40)], [f"item {j}" for j in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one problem in every form that ``complete`` reads."""
    path = tmp_path_factory.mktemp("complete")
    rows, columns = names()
    lines = [
        f"{rows[i]},2024,{columns[j]},{value!r}"
        for i, j, value in zip(*(part.tolist() for part in PROBLEM.triples), strict=True)
    ]
    text = "\n".join(["user,year,item,rating", *lines, "user 0,2024,item 0,NA", ""])
    (path / "long.csv").write_text(text)
    (path / "semicolons.csv").write_text("\ufeff" + text.replace(",", ";"))
    (path / "long.csv.gz").write_bytes(gzip.compress(text.encode()))
    X = PROBLEM.incomplete
    np.save(path / "matrix.npy", X)
    with open(path / "wide.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["", *columns])
        for name, row in zip(rows, X.tolist(), strict=True):
            writer.writerow([name, *("" if value != value else value for value in row)])
    np.savetxt(path / "plain.csv", X, delimiter=",")
    return path


FORMS: dict[str, list[Any]] = {
    "long": ["long.csv", *NAMED],
    "semicolons": ["semicolons.csv", *NAMED],
    "gzip": ["long.csv.gz", *NAMED],
    "wide": ["wide.csv"],
    "plain": ["plain.csv"],
    "npy": ["matrix.npy", "--rank", 2],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input(form: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "completed.csv"
    done = run("complete", *FORMS[form], "--out", out, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "recovered" in done.stdout
    assert str(out) in done.stdout
    with open(out, newline="") as stream:
        table = list(csv.reader(stream))
    if form in ("plain", "npy"):
        np.testing.assert_allclose(np.asarray(table, float), PROBLEM.matrix, atol=1e-9)
        return
    rows, columns = [row[0] for row in table[1:]], table[0][1:]
    expected = PROBLEM.matrix[
        np.ix_([names()[0].index(row) for row in rows], [names()[1].index(it) for it in columns])
    ]
    np.testing.assert_allclose(
        [[float(x) for x in row[1:]] for row in table[1:]], expected, atol=1e-9
    )


@pytest.mark.parametrize("form", ["long", "plain"])
def test_outliers_are_written_beside_the_matrix(form: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "completed.csv"
    assert run("complete", *FORMS[form], "--quiet", "--out", out, cwd=folder).returncode == 0
    with open(tmp_path / "completed.outliers.csv", newline="") as stream:
        header, *lines = csv.reader(stream)
    assert header == ["row", "column", "value", "fitted", "residual"]
    rows, columns, values = PROBLEM.triples
    expected = {}
    for i, j, value in zip(rows, columns, values, strict=True):
        if abs(value - PROBLEM.matrix[i, j]) > 1e-6:
            name = (names()[0][i], names()[1][j]) if form == "long" else (str(i), str(j))
            expected[name] = [value, PROBLEM.matrix[i, j], value - PROBLEM.matrix[i, j]]
    found = {(line[0], line[1]): [float(number) for number in line[2:]] for line in lines}
    assert len(found) == len(lines) == 80
    assert found.keys() == expected.keys()
    for name, numbers in found.items():
        np.testing.assert_allclose(numbers, expected[name], atol=1e-9)


def test_arrays_as_output(folder: Path, tmp_path: Path) -> None:
    for name in ("m.npy", "m.npz"):
        done = run("complete", "matrix.npy", "--out", tmp_path / name, "--quiet", cwd=folder)
        assert (done.returncode, done.stdout) == (0, "")
    matrix = np.load(tmp_path / "m.npy")
    assert np.load(tmp_path / "m.outliers.npy").sum() == 80
    with np.load(tmp_path / "m.npz") as archive:
        np.testing.assert_allclose(archive["left"] @ archive["right"].T, matrix)
        assert archive["outliers"].sum() == 80
        assert archive["undecided_rows"].tolist() == archive["undecided_columns"].tolist() == []
    np.testing.assert_array_equal(rr.load(tmp_path / "m.npz").matrix, matrix)
    with pytest.raises(ValueError, match="is a completed matrix; --resume needs a result of"):
        read_start(tmp_path / "m.npz", None)


def test_every_form_of_a_table_gives_the_same_result(tmp_path: Path) -> None:
    """Wide and long, in any order of the rows and columns; with noise, so that it matters."""
    X = plant_entries(30, 24, 2, 400, outliers=0.1, noise=0.2, rng=3).incomplete
    X[5], X[:, 9], X[3, 4] = np.nan, np.nan, np.inf
    rows, columns = names()
    wide = pd.DataFrame(X, index=rows[:30], columns=columns[:24])
    rng = np.random.default_rng(0)
    long = wide.reset_index(names="user").melt("user", var_name="item", value_name="rating")
    long = long.iloc[rng.permutation(len(long))]
    wide.to_csv(tmp_path / "wide.csv")
    wide.iloc[rng.permutation(30), rng.permutation(24)].to_csv(tmp_path / "shuffled.csv")
    long.to_csv(tmp_path / "long.csv", index=False)
    results = {}
    for form, options in {"wide": [], "shuffled": [], "long": NAMED}.items():
        out = tmp_path / f"{form}.npz"
        arguments = [tmp_path / f"{form}.csv", *options, "-q", "--out", out]
        assert CliRunner().invoke(complete, [*map(str, arguments)]).exit_code == 0
        results[form] = rr.load(out)
    assert (
        run("complete", "shuffled.csv", "-q", "--out", "matrix.csv", cwd=tmp_path).returncode == 0
    )
    matrix = pd.read_csv(tmp_path / "matrix.csv", index_col=0)
    assert list(matrix.index) == list(pd.read_csv(tmp_path / "shuffled.csv", index_col=0).index)
    expected = results["wide"]
    users, items = expected.row_labels[:, None], expected.column_labels
    assert list(expected.row_labels) == rows[:30]
    values = expected.predict(users, items)
    assert np.isnan(values[5]).all()
    np.testing.assert_allclose(matrix.loc[rows[:30], columns[:24]], values, rtol=1e-9)
    flagged = sparse_outliers(expected)
    assert len(flagged) > 10
    for result in results.values():
        assert result.status is expected.status is rr.Status.ESTIMATED
        assert repr(result.certificate) == repr(expected.certificate)
        np.testing.assert_array_equal(result.predict(users, items), values)
        assert sparse_outliers(result) == flagged
        assert set(result.undecided_rows) == set(expected.undecided_rows)
        assert set(result.undecided_columns) == set(expected.undecided_columns)
        np.testing.assert_allclose(
            result.standard_error(users, items)[0, :9],
            expected.standard_error(users, items)[0, :9],
            rtol=1e-9,
        )


def sparse_outliers(result: rr.Result) -> dict[tuple[str, str], float]:
    """The errors of the outliers by the names of their rows and columns."""
    found = result.sparse
    own, other = result.row_labels[found.row], result.column_labels[found.col]
    return dict(zip(zip(own, other, strict=True), found.data, strict=True))


def test_exit_status_without_a_certificate(tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(1).standard_normal((20, 15)))
    done = run("complete", "noise.npy", cwd=tmp_path)
    assert done.returncode == 1
    assert "inconclusive" in done.stdout


@pytest.mark.parametrize("form", ["long", "wide", "npy"])
def test_report_page_is_written_with_the_names_of_the_file(
    form: str, folder: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "completed.csv", tmp_path / "page.html"
    page.write_text("old")
    done = run("complete", *FORMS[form], "--out", out, "--report", page, cwd=folder)
    assert done.returncode == 0, done.stderr
    beside = tmp_path / "completed.outliers.csv"
    assert re.findall(r"wrote +(.*)", done.stdout) == [str(out), str(beside), str(page)]
    assert {path.name for path in tmp_path.iterdir()} == {out.name, beside.name, page.name}
    text = page.read_text()
    assert '<h2 id="verdict">Recovered</h2>' in text
    assert "<dt>Rejected</dt><dd>80<small>" in text
    listed = re.findall(r'<th scope="row">([^<]*)</th><td data-name="Column">([^<]*)', text)
    assert len(listed) == 8
    pattern = r"\d+ \d+" if form == "npy" else r"user \d+ item \d+"
    assert all(re.fullmatch(pattern, " ".join(names)) for names in listed)


def test_report_page_without_a_certificate(tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(1).standard_normal((20, 15)))
    done = run("complete", "noise.npy", "--report", "page.html", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Inconclusive" in (tmp_path / "page.html").read_text()


@pytest.mark.usefixtures("default_signals")
def test_matrix_and_page_are_written_after_an_interruption(tmp_path: Path) -> None:
    planted = plant_entries(1000, 800, 8, 160_000, outliers=0.2, noise=0.1, rng=1)
    np.save(tmp_path / "large.npy", planted.incomplete)
    files = ["--out", "factors.npz", "--report", "page.html"]
    command = [*COMMAND, "complete", "large.npy", *files]
    with on_terminal(command, tmp_path) as (process, terminal):
        wait_for(terminal, rb"search|rank \d")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 1
    page = (tmp_path / "page.html").read_text()
    assert "Unfinished" in page
    assert "the run was interrupted" in page.lower()
    with np.load(tmp_path / "factors.npz") as archive:
        assert archive["left"].shape[0] == 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["long.csv", "--rows", "user"], "pass all of --rows, --columns and --values"),
        (["long.csv", *NAMED[:-1], "stars"], "no column 'stars'; it has 4 columns: user, year"),
        (["matrix.npy", *NAMED], "choose columns of a table, such as a CSV file"),
        (["none.csv"], "none.csv does not exist"),
        (["long.csv", *NAMED, "--out", "x.txt"], "unknown extension"),
        (["bad.csv"], "line 2: 3 values; expected 2"),
        (["words.csv", *NAMED], "line 2, column 'rating': 'good' is not a number"),
        (["dates.csv"], "column 'day': '2020-01-31' is not a number; leave out columns"),
        (["dates.parquet"], "the column 'day' has values of type datetime64"),
        (["empty.csv"], "is empty"),
        (["long.csv", *NAMED, "--report", "page.txt"], "unknown extension; expected one of .html"),
        (["long.csv", *NAMED, "--report", "long.csv"], "long.csv is also an input file"),
        (
            ["long.csv", *NAMED, "--out", "same.csv", "--report", "./same.csv"],
            "same.csv is also another output file",
        ),
        (["long.csv", *NAMED, "--report", "none/page.html"], "none does not exist"),
    ],
)
def test_errors_are_one_line(arguments: list[Any], message: str, folder: Path) -> None:
    (folder / "bad.csv").write_text("1,2\n3,4,5\n")
    (folder / "words.csv").write_text("user,item,rating\na,b,good\n")
    (folder / "empty.csv").write_text("")
    (folder / "dates.csv").write_text("name,a,day\nA,1,2020-01-31\nB,2,2020-02-29\n")
    days = pd.DataFrame({"a": [1.0, 2.0], "day": pd.to_datetime(["2020-01-31", "2020-02-29"])})
    days.to_parquet(folder / "dates.parquet")
    done = run("complete", *arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("robustrank: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
