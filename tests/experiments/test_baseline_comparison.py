"""Comparing two versions: every kind of change is found, and only losses fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.baseline.cli import BAD_INPUT, OK, WORSE, main
from experiments.baseline.comparison import ABOUT, Change, Comparison, compare, described
from experiments.baseline.judgement import Judged
from experiments.rows import Row, pack

Fields = dict[str, Any]
WRONG: Fields = {"error": 0.5}
UNCERTIFIED: Fields = {"status": "INCONCLUSIVE", "error": 0.5}
LATER: Fields = {"status": "TIME_LIMIT", "error": 0.5}
FAILURE: Fields = {"exception": "ValueError: no"}


def row(trial: int = 0, **fields: Any) -> Row:
    """The row of a certified right result, with some fields replaced."""
    plain = {
        "data": "1",
        "status": "RECOVERED",
        "rank": 2,
        "outliers": [3, "a", 0, 0],
        "answer": [1.0, 2.0],
        "error": 1e-12,
        "oracle": 1e-13,
        "cpu": 0.5,
    }
    return {"cell": "zoo/huge", "trial": trial, "method": "development"} | plain | fields


def compared(old: Fields, new: Fields) -> Comparison:
    return compare([row(**old)], [row(**new)])


def test_same_rows_have_no_change() -> None:
    comparison = compared({}, {"cpu": 0.7, "error": 2e-12})
    assert [pair.change for pair in comparison.pairs] == [None]
    assert not comparison.failed
    text = "\n".join(comparison.lines())
    assert "1 problems are compared" in text
    assert "no claim is worse" in text


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ({}, WRONG, Change.WRONG_GAINED),
        (UNCERTIFIED, WRONG, Change.WRONG_GAINED),
        ({}, UNCERTIFIED, Change.RIGHT_LOST),
        ({}, FAILURE, Change.RIGHT_LOST),
        (UNCERTIFIED, FAILURE, Change.EXCEPTION_GAINED),
        (FAILURE, UNCERTIFIED, Change.EXCEPTION_LOST),
        (WRONG, UNCERTIFIED, Change.WRONG_LOST),
        (WRONG, {}, Change.WRONG_LOST),
        (UNCERTIFIED, {}, Change.RIGHT_GAINED),
        (FAILURE, {"exception": "ValueError: other"}, Change.MESSAGE),
        (UNCERTIFIED, LATER, Change.STATUS),
        ({}, {"status": "ESTIMATED"}, Change.STATUS),
        ({}, {"rank": 3}, Change.RANK),
    ],
)
def test_each_kind_of_change(old: Fields, new: Fields, change: Change) -> None:
    comparison = compared(old, new)
    assert [pair.change for pair in comparison.pairs] == [change]
    assert comparison.failed == (change in (Change.WRONG_GAINED, Change.RIGHT_LOST))
    lines = [*comparison.lines()]
    title = lines.index(f"{change.value}: 1")
    assert lines[title + 1].startswith("  development zoo/huge #0: ")
    assert " -> " in lines[title + 1]
    assert ("!!!" in change.value) == comparison.failed


@pytest.mark.parametrize(
    ("old", "new"), [("ESTIMATED", "ESTIMATED"), ("INCONCLUSIVE", "INCONCLUSIVE")]
)
def test_renamed_statuses_are_equal(old: str, new: str) -> None:
    assert compared({"status": old}, {"status": new}).pairs[0].change is None
    assert Judged(row(status=old)).certified == (new == "ESTIMATED")


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"error": 2e-6}, True),
        ({"error": 2e-6, "decided_error": 2e-6}, False),
        ({"error": 1.0, "decided_error": 2e-5}, True),
        ({"error": 1.0, "decided_error": 1e-9}, False),
        ({"error": 5e-4, "single": True}, False),
        ({"error": None}, True),
        ({"status": "ESTIMATED", "error": 0.029, "oracle": 0.01}, False),
        ({"status": "ESTIMATED", "error": 0.031, "oracle": 0.01}, True),
        ({"status": "ESTIMATED", "error": 5e-5, "oracle": None}, False),
        ({"status": "ESTIMATED", "error": 0.01, "oracle": None}, True),
        ({"status": "ESTIMATED", "decided_error": 0.02, "decided_oracle": 0.01}, False),
        ({"status": "ESTIMATED", "decided_error": 0.04, "decided_oracle": 0.01}, True),
        (UNCERTIFIED, False),
        (WRONG | FAILURE, False),
    ],
)
def test_wrong_claims(fields: Fields, wrong: bool) -> None:
    assert Judged(row(**fields)).wrong == wrong


def test_solved_does_not_depend_on_the_claim() -> None:
    assert Judged(row(status="INCONCLUSIVE")).solved
    assert not Judged(row(status="INCONCLUSIVE", error=0.5)).solved
    assert not Judged(row(**FAILURE)).solved


def test_answers_that_differ_by_more_than_rounding() -> None:
    assert not compared({}, {"answer": [1.0, 2.0 + 1e-7]}).pairs[0].differs
    comparison = compared({}, {"answer": [1.0, 2.1]})
    assert comparison.pairs[0].difference == pytest.approx(0.1)
    assert "certified answers that differ by more than rounding: 1; largest:" in comparison.lines()
    assert not compared({}, UNCERTIFIED | {"answer": [5.0, 2.0]}).pairs[0].differs
    other_outliers = compared({}, {"outliers": [3, "b", 1, 1]})
    assert "right results with other outliers: 1" in other_outliers.lines()


def test_problems_that_cannot_be_compared() -> None:
    skipped = {"cell": "gpu/x", "trial": 0, "method": "development", "skipped": "no device"}
    old = [row(0), row(1), row(2), skipped]
    new = [row(1), row(2, data="other"), row(3), row(4), {**skipped, **row()} | skipped]
    comparison = compare(old, new)
    assert [pair.key[1] for pair in comparison.pairs] == [1]
    assert (comparison.skipped, comparison.only_old, comparison.only_new) == (1, 1, 2)
    assert comparison.changed_data == [("zoo/huge", 2, "development")]
    lines = [*comparison.lines()]
    assert "!!! 1 problems have other data and are not compared:" in lines
    assert "not in both files: 1 old, 2 new" in lines


def test_table_and_slowest() -> None:
    old = [row(k, cpu=0.1 * (k + 1)) for k in range(20)]
    new = [row(k, cpu=0.2 * (k + 1)) for k in range(20)]
    new[0] |= UNCERTIFIED
    lines = [*compare(old, new).lines()]
    table = next(k for k, line in enumerate(lines) if line.startswith("study"))
    cells = [cell.strip() for cell in lines[table + 1].split("  ") if cell]
    assert cells == ["zoo", "20", "20 -> 19", "0", "20 -> 19", "0", "1", "2.00", "2.00"]
    assert lines[table + 2].startswith("all ")
    slowest = lines.index("slowest problems, CPU seconds:")
    assert lines[slowest + 1].split() == ["2.00", "->", "4.00", "development", "zoo/huge", "#19"]
    assert len(lines[slowest + 1 : -2]) == 10


def test_description_of_one_version() -> None:
    about = {"cell": ABOUT, "trial": 0, "method": "development", "robustrank": "0.2.0"}
    skipped = row(9) | {"skipped": "zarr is not installed"}
    rows = [about, row(0), row(1, **WRONG), row(2, **FAILURE), skipped]
    rows.append(row(3, warnings=["RuntimeWarning"]))
    text = "\n".join(described(rows))
    assert "robustrank 0.2.0" in text
    assert "skipped: 1 (zarr is not installed)" in text
    assert "wrong claims: 1\n  development zoo/huge #1: RECOVERED WRONG rank 2 error 0.5" in text
    assert "input: 1\n  development zoo/huge #2: ValueError: no" in text
    assert "warnings: 1\n  development zoo/huge #3" in text


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / f"{name}.jsonl.gz" for name in ("old", "worse", "other")]
    for path, rows in zip(paths, ([row()], [row(**WRONG)], [row(5)]), strict=True):
        pack(path, rows)
    old, worse, other = map(str, paths)
    assert main(["compare", old, old]) == OK
    assert main(["compare", old, worse]) == WORSE
    assert "!!! A WRONG CLAIM IS NEW: 1" in capsys.readouterr().out
    assert main(["show", worse]) == OK
    assert main(["compare", old, other]) == BAD_INPUT
    assert "have no problem in common" in capsys.readouterr().err
    assert main(["compare", old, str(tmp_path / "missing")]) == BAD_INPUT
    assert "missing does not exist" in capsys.readouterr().err
