"""Halving and doubling the numbers of the core: all are found, and what they change is recorded."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.baseline.run import rows_in
from experiments.baseline.sets import DEVELOPMENT, STUDIES, keys_of, study_of
from experiments.rows import Row, key_of, pack
from experiments.sensitivity import run as running
from experiments.sensitivity.cli import BAD_INPUT, INCOMPLETE, OK, main
from experiments.sensitivity.effect import (
    CLIFF,
    MILD,
    NO_EFFECT,
    Effect,
    effect_from,
    effect_of,
    usual_time,
)
from experiments.sensitivity.kinds import KINDS, NOT_TUNED, TUNED, count_of, kind_of
from experiments.sensitivity.literals import (
    CHANGES,
    DOUBLED,
    HALVED,
    PACKAGE,
    Literal,
    core_literals,
)
from experiments.sensitivity.numbers import page_of_numbers
from experiments.sensitivity.problems import problem_keys
from experiments.sensitivity.table import table
from experiments.sensitivity.worker import TOO_SLOW, Outcome, Variant, outcomes

OUTSIDE = {
    *("cli", "report", "estimators", "inputs", "outofcore", "backend", "operators", "simulate"),
    *("planning", "physics", "metrics", "theory", "paper", "files", "cluster", "plot"),
    *("__init__", "__main__"),
}
CLAIMED = ("zoo/one-sided", 0, DEVELOPMENT)


def literal(name: str) -> Literal:
    return next(one for one in core_literals() if one.key.endswith(f":{name}"))


def row(**fields: Any) -> Row:
    """The row of a certified problem, with some fields replaced."""
    plain = {"status": "RECOVERED", "rank": 2, "answer": [1.0], "error": 1e-12, "cpu": 0.1}
    return {"cell": CLAIMED[0], "trial": 0, "method": DEVELOPMENT} | plain | fields


def effect(failure: str = "", **fields: Any) -> Effect:
    return effect_of(Outcome([row(**fields)], failure), {CLAIMED: row()})


def sensitivity_row(one: Literal, change: str, found: Effect) -> Row:
    return running._row(Variant(one, change), found)


def test_every_number_of_the_core_is_found() -> None:
    values = [
        node.value
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in OUTSIDE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]
    expected = sorted(v for v in values if abs(v) not in (0, 1, 2, 0.5))  # type: ignore[arg-type, type-var]
    found = core_literals()
    assert sorted(one.value for one in found) == expected
    assert len({one.key for one in found}) == len(found)
    assert all(one.name for one in found)


def test_every_number_has_a_kind() -> None:
    """What is not listed is tuned; nothing is listed that is not there."""
    literals = core_literals()
    assert {*NOT_TUNED} <= {one.key for one in literals}
    assert sum(count_of(kind, literals) for kind in KINDS) == len(literals)
    assert kind_of(literal("_DECAY")) == TUNED


def test_numbers_are_few() -> None:
    places = ("tables/", "api/clean.py", "api/streaming.py", "result/result.py:Result.draw")
    of_tables = [one for one in core_literals() if one.key.startswith(places)]
    others = [one for one in core_literals() if one not in of_tables]
    assert len(others) <= 200
    assert count_of(TUNED, others) <= 120
    assert len(of_tables) <= 75  # with batches of rows, tables through the origin, and factors
    assert count_of(TUNED, of_tables) <= 30


def test_literals_of_one_folder() -> None:
    found = core_literals("certificate/evidence")
    assert {one.file for one in found} == {"certificate/evidence.py"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A, B = 3, 4.5", ["A", "B"]),
        ("A: int = 3", ["A"]),
        (
            "class C:\n    a: float = 3.0\n    def f(self, x=4):\n        y = 5",
            ["C.a", "C.f", "C.f"],
        ),
        ("A = (3, 4)\nprint(5 if A else 6)", ["A", "A", "", ""]),
    ],
)
def test_literals_have_the_name_of_what_they_stand_in(
    text: str, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "new.py").write_text(text)
    assert [one.name for one in core_literals(package=tmp_path)] == names


@pytest.mark.parametrize(
    ("value", "change", "changed"),
    [(3, HALVED, 1), (3, DOUBLED, 6), (1e-7, HALVED, 5e-8), (0.75, DOUBLED, 1.5)],
)
def test_changed_values(value: float, change: str, changed: float) -> None:
    result = Literal("run.py", 0, 1, "A", value, "", "").changed(change)
    assert result == changed
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("file", "module"),
    [("run.py", "robustrank.run"), ("api/__init__.py", "robustrank.api")],
)
def test_modules(file: str, module: str) -> None:
    assert Literal(file, 0, 1, "A", 3, "", "").module == module


def test_problems_are_of_all_studies_that_need_no_other_library() -> None:
    keys = problem_keys()
    assert len({*keys}) == len(keys) == pytest.approx(100, abs=5)
    assert {*keys} <= {*keys_of(DEVELOPMENT)}
    assert {study_of(cell) for cell, _, _ in keys} == {*STUDIES} - {"gpu"}
    assert problem_keys(7) == keys[:7]


@pytest.mark.parametrize(
    ("fields", "verdict", "text"),
    [
        ({}, NO_EFFECT, "same rows"),
        ({"answer": [1.0 + 1e-8]}, NO_EFFECT, "time × 1.00"),
        ({"answer": [1.1]}, MILD, "1 answers, time × 1.00"),
        ({"cpu": 0.2}, NO_EFFECT, "same rows"),
        ({"cpu": 0.2, "answer": [1.0 + 1e-8]}, MILD, "time × 2.00"),
        ({"status": "INCONCLUSIVE"}, CLIFF, "1 lost, 1 statuses, time × 1.00"),
        ({"error": 1.0}, CLIFF, "1 wrong, time × 1.00"),
        ({"exception": "ValueError: no"}, CLIFF, "1 lost, 1 exceptions, 1 statuses, time × 1.00"),
        ({"failure": TOO_SLOW}, CLIFF, f"{TOO_SLOW} after 1 problems, same rows"),
    ],
)
def test_verdicts(fields: dict[str, Any], verdict: str, text: str) -> None:
    found = effect(**fields)
    assert (found.verdict, str(found)) == (verdict, text)
    assert effect_from(found.row()) == found


def test_times_are_relative_to_those_of_variants_that_change_nothing() -> None:
    """On a machine that became busier, all variants take longer."""
    one = literal("_ITERATING")
    unchanged = [sensitivity_row(one, change, effect(cpu=0.2)) for change in CHANGES]
    other = Literal("a.py", 0, 1, "A", 3, "A = 3", "a")
    changed = sensitivity_row(other, HALVED, effect(cpu=0.2, answer=[1.0 + 1e-8]))
    assert usual_time(unchanged) == 2.0
    assert effect_from(changed).verdict == MILD
    assert effect_from(changed, 2.0).verdict == NO_EFFECT
    assert "time × 1.00" in [*table([*unchanged, changed])][-2]


def test_a_number_that_was_changed_since_the_study_is_marked() -> None:
    one = literal("_ITERATING")
    rows = [sensitivity_row(one, change, effect()) for change in CHANGES]
    assert "| no effect | same rows | same rows |" in [*page_of_numbers([one], rows)][-1]
    assert "| not run |" in [*page_of_numbers([replace(one, value=0.7)], rows)][-1]


def test_few_lost_claims_are_no_cliff() -> None:
    reference = {(CLAIMED[0], t, DEVELOPMENT): row(trial=t) for t in range(20)}
    rows = [
        one | ({"status": "INCONCLUSIVE"} if one["trial"] == 0 else {})
        for one in reference.values()
    ]
    assert effect_of(Outcome(rows), reference).verdict == MILD


def test_variants_run_in_processes_of_their_own() -> None:
    """A higher limit of the noise gains a claim; a quantile beyond one is an exception."""
    key = ("certificates/uniform", 21, DEVELOPMENT)
    variants = [
        None,
        Variant(literal("NOISE_LIMIT"), DOUBLED),
        Variant(literal("_possible_noise#2"), DOUBLED),
    ]
    found = dict(outcomes(variants, [key], workers=2, seconds_each=60))
    reference = {key: found[0].rows[0]}
    effects = [effect_of(found[number], reference) for number in range(3)]
    assert [one.gained for one in effects] == [0, 1, 0]
    assert [one.exceptions for one in effects] == [0, 0, 1]
    assert effects[0].rows == 0
    assert "ValueError" in effects[2].examples[0]
    assert (effects[2].verdict, found[2].failure) == (CLIFF, "")


def test_a_package_that_cannot_be_imported_is_a_failure() -> None:
    absent = Literal("run.py", 99, 1, "A", 3, "", "")
    [(_, outcome)] = outcomes([Variant(absent, HALVED)], [CLAIMED], workers=1, seconds_each=60)
    assert outcome.failure.startswith("IndexError")
    assert effect_of(outcome, {CLAIMED: row()}).verdict == CLIFF


def test_a_slow_variant_is_stopped() -> None:
    [(number, outcome)] = outcomes([None], problem_keys(), workers=1, seconds_each=0.01)
    assert (number, outcome.failure) == (0, TOO_SLOW)


def test_show_prints_a_row_for_each_literal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    literals = core_literals()
    rows = [sensitivity_row(one, change, effect()) for one in literals for change in CHANGES]
    path = tmp_path / "rows.jsonl.gz"
    pack(path, [row(), *rows])
    assert main(["show", str(path)]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| ") for line in lines) == len(literals) + 2
    assert f"{len(literals)} literals: cliff 0, mild 0, no effect {len(literals)}" in lines[1]


def test_table_begins_with_cliffs_and_escapes_bars() -> None:
    quiet = Literal("a.py", 0, 1, "A", 3, "A = 3", "a")
    loud = literal("MessagePassing.target_error_at_full_rank")
    rows = [
        sensitivity_row(quiet, HALVED, effect()),
        sensitivity_row(loud, HALVED, effect(error=1.0)),
    ]
    first, second = [*table(rows)][-2:]
    assert "cliff" in first
    assert r"float \| None" in first
    assert "not run" in second


def test_command_resumes_and_refuses_other_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl.gz"
    command = ["run", "--out", str(path), "--only", "run.py", "--workers", "2"]
    assert main([*command, "--problems", "2", "--limit-seconds", "0"]) == INCOMPLETE
    before = path.read_bytes()
    assert main([*command, "--problems", "2"]) == OK
    assert path.read_bytes() != before
    found = {key_of(one) for one in rows_in(path)}
    assert {("run.py:_ITERATING", 0, change) for change in CHANGES} <= found
    assert main([*command, "--problems", "3"]) == BAD_INPUT
    assert "use another file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--out", "rows.csv"], "ends in .jsonl.gz"),
        (["run", "--out", "rows.jsonl.gz", "--only", "nothing"], "begins with 'nothing'"),
        (["show", "absent.jsonl.gz"], "does not exist"),
    ],
)
def test_bad_input(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == BAD_INPUT
    assert message in capsys.readouterr().err


def test_the_page_of_numbers_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """After a change: python -m experiments sensitivity numbers > docs/numbers.md."""
    assert main(["numbers"]) == OK
    page = Path(__file__).parents[2] / "docs" / "numbers.md"
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")
