"""The problems of the baseline never change, and a run of them continues where it stopped."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiment_samples import ROOT

import robustrank as rr
from experiments.baseline import trial
from experiments.baseline.cli import BAD_INPUT, OK, main
from experiments.baseline.comparison import ABOUT, problems
from experiments.baseline.entry_oracle import EntryOracle
from experiments.baseline.problem import Draw, Problem, SkippedError, require
from experiments.baseline.run import rows_in, run
from experiments.baseline.sets import (
    DEVELOPMENT,
    SEALED,
    STUDIES,
    drawn,
    keys_of,
    seed_of,
    study_of,
)
from experiments.baseline.trial import run_problem
from experiments.rows import Row, encode, key_of

KEY = ("zoo/huge", 1, "development")
NOISY = ("coverage/entries normal", 4, "development")
TIMES = ("seconds", "cpu")


def test_sets_have_all_studies_and_no_problem_in_common() -> None:
    sets = [{*keys_of(name)} for name in (DEVELOPMENT, SEALED, "battery-one", "battery-two")]
    assert 2500 <= len(sets[0]) <= 3000
    assert all(len(keys) >= 20_000 for keys in sets[1:])
    for keys in sets:
        assert {study_of(cell) for cell, _, _ in keys} == {*STUDIES}
    assert len({seed_of(key) for keys in sets for key in keys}) == sum(map(len, sets))


@pytest.mark.parametrize("name", ["all", "battery", "battery-", "battery-a/b", ""])
def test_unknown_set_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not known; expected development, sealed, or battery"):
        keys_of(name)


def test_order_is_random_and_always_the_same() -> None:
    keys = keys_of("development")
    assert keys == keys_of("development")
    counts = Counter(study_of(cell) for cell, _, _ in keys[:300])
    assert counts["certificates"] > counts["entries"] > counts["batches"] > 0


def test_problems_never_change() -> None:
    assert seed_of(("zoo/huge", 3, "sealed")) == 6351833423566984536
    assert run_problem(KEY)["data"] == "5e0766af"


def test_every_family_is_drawn_the_same_twice(tmp_path: Path) -> None:
    for cell in sorted({cell for cell, _, _ in keys_of("development")}):
        if study_of(cell) in ("gpu", "larger") or cell == "operators/torch":
            continue
        draw = Draw(cell.partition("/")[2], 2, 5, tmp_path)
        try:
            first, second = (drawn(replace(draw), cell) for _ in range(2))
        except SkippedError:
            continue
        assert np.array_equal(first.values, second.values, equal_nan=True), cell
        assert np.array_equal(first.left, second.left), cell
        other = drawn(replace(draw, seed=6), cell)
        assert not np.array_equal(first.left, other.left), cell


def test_row_describes_the_result() -> None:
    row = run_problem(KEY)
    assert row["status"] == "RECOVERED"
    assert row["rank"] == row["true_rank"]
    assert row["error"] < 1e-9
    assert row["oracle"] < 1e-9
    assert row["outliers"][2:] == [0, 0]
    assert len(row["answer"]) == trial.PROJECTIONS + trial.SINGULAR_VALUES
    assert row["passes"] > 0
    again = run_problem(KEY)
    assert {**row, "seconds": 0, "cpu": 0} == {**again, "seconds": 0, "cpu": 0}


def test_row_of_noisy_entries_has_error_bars() -> None:
    row = run_problem(NOISY)
    assert row["status"] == "ESTIMATED"
    assert 0.5 < row["bars"] / row["error"] < 2
    assert 0.5 < row["inside"][0] < row["inside"][1] <= 1
    assert row["decided_error"] < 3 * row["oracle"]


def solved_by(solve: Any, monkeypatch: pytest.MonkeyPatch) -> Row:
    """The row of a problem that a function solves."""
    planted = rr.simulate.plant(6, 5, 1, 30, rng=1)
    problem = Problem(solve, planted.y, planted.left, planted.right, planted.outliers)
    monkeypatch.setattr(trial, "drawn", lambda *_: problem)
    return run_problem(KEY)


def test_exception_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> rr.Result:
        raise ZeroDivisionError("no   such\nnumber")

    row = solved_by(fail, monkeypatch)
    assert row["exception"] == "ZeroDivisionError: no such number"
    assert "status" not in row


def test_warnings_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn() -> rr.Result:
        np.log(np.zeros(1))
        planted = rr.simulate.plant(6, 5, 1, 30, rng=1)
        return rr.recover(planted.A, planted.y, 1)

    assert solved_by(warn, monkeypatch)["warnings"] == ["RuntimeWarning"]


@pytest.mark.posix
def test_problem_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> rr.Result:
        while True:
            pass

    monkeypatch.setattr(trial, "_CPU_LIMIT", 0.05)
    assert solved_by(endless, monkeypatch)["exception"].startswith("OutOfTimeError: stopped after")


def test_missing_library_skips_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "drawn", lambda *_: require("no_such_library"))
    assert run_problem(KEY)["skipped"] == "no_such_library is not installed"


def test_oracle_of_entries() -> None:
    planted = rr.simulate.plant_entries(30, 20, 2, 400, outliers=0.1, noise=0.05, rng=3)
    oracle = EntryOracle(planted, True)
    rows, columns = oracle.determinable
    assert rows.all()
    assert columns.all()
    error = oracle.error((rows, columns))
    assert error is not None
    assert 0.01 < error < 0.05
    result = rr.complete(planted.triples, 2, shape=planted.shape)
    assert oracle.error_of((result.left, result.right), (rows, columns)) < 1.5 * error
    assert EntryOracle(planted, False).error((rows, columns)) is None
    assert oracle.error_of((result.left, result.right), (~rows, columns)) == np.inf


def test_run_continues_and_packs(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl.gz"
    whole = tmp_path / "whole.jsonl.gz"
    options: dict[str, Any] = {"workers": 0, "studies": ("degenerate",), "most": 900}
    done, wanted = run("development", out, seconds=0, **options)
    assert done == 1 < wanted
    seen: list[tuple[int, int, float]] = []
    assert run("development", out, progress=lambda *now: seen.append(now), **options) == (
        wanted,
        wanted,
    )
    assert [now[:2] for now in seen] == [(k, wanted) for k in range(2, wanted + 1)]
    assert not (tmp_path / "rows.jsonl").exists()
    before = out.read_bytes()
    assert run("development", out, **options) == (wanted, wanted)
    assert out.read_bytes() == before
    run("development", whole, **options)
    continued, once = (_without_times(rows_in(path)) for path in (out, whole))
    assert continued == once
    sessions = [row for row in rows_in(out) if row["cell"] == ABOUT]
    assert len(sessions) == 2
    assert {"robustrank", "revision", "numpy", "blas", "cores", "date"} <= sessions[0].keys()


def _without_times(rows: list[Row]) -> list[Row]:
    plain = [{k: v for k, v in row.items() if k not in TIMES} for row in problems(rows)]
    return sorted(plain, key=key_of)


def test_rows_of_a_killed_run_are_kept(tmp_path: Path) -> None:
    out, beside = tmp_path / "rows.jsonl.gz", tmp_path / "rows.jsonl"
    options: dict[str, Any] = {"workers": 0, "studies": ("degenerate",), "most": 900}
    run("development", out, **options)
    rows = rows_in(out)
    out.unlink()
    beside.write_bytes(b"".join(map(encode, rows[:2])) + b'{"cut')
    done, wanted = run("development", out, **options)
    assert done == wanted
    assert _without_times(rows_in(out)) == _without_times(rows)


def test_command_runs_problems_in_a_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "rows.jsonl.gz")
    few = ["--workers", "1", "--problems", "300", "--study", "degenerate"]
    assert main(["run", *few, "--out", out]) == OK
    captured = capsys.readouterr()
    assert "problems are in" in captured.out
    assert "per second" in captured.err
    assert main(["run", "--out", str(tmp_path / "rows.csv")]) == BAD_INPUT
    assert "expected a name that ends in .jsonl.gz" in capsys.readouterr().err


def test_baseline_needs_no_optional_library() -> None:
    optional = (
        *("click", "rich", "numba", "matplotlib", "jinja2", "pandas", "h5py", "zarr", "torch"),
        *("sklearn", "dask", "distributed", "threadpoolctl", "pyarrow", "jax"),
    )
    program = f"""
import sys
sys.modules.update(dict.fromkeys({optional!r}))
sys.argv = ["experiments", "baseline", "run", "--help"]
from experiments.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "--limit-seconds" in done.stdout
