"""The command ``python -m experiments`` and ``make reproduce``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from experiment_samples import ROOT
from in_process import call

from experiments import PAPER, run, study
from experiments.cli import main
from experiments.rows import encode


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return call(main, *arguments, cwd=cwd)


def test_module_is_the_command(tmp_path: Path) -> None:
    """In a process, as users start it; the other tests call it in their own process."""
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "fig9"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (2, command("fig9", cwd=tmp_path).stderr)


def test_command_runs_draws_and_judges(tmp_path: Path) -> None:
    done = command("fig3a", "--quick", "--trials", "1", "--report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote results/fig3a-quick.png" in done.stdout
    assert "wrote results/report-quick.html" in done.stdout
    assert "fig3a: Without outliers both methods converge at comparable rates." in done.stdout
    assert "  reproduced: decades per iteration" in done.stdout
    kept = tmp_path / "results" / "fig3a-quick.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {row["method"] for row in rows} == {"median-TGD", "vanilla-GD", "default"}
    before = kept.read_bytes()
    again = command("fig3a", "--quick", "--trials", "1", "-q", "--workers", "1", cwd=tmp_path)
    assert again.returncode == 0
    assert kept.read_bytes() == before


def test_only_and_seconds_limit_a_run(tmp_path: Path) -> None:
    limits = ("--workers", "1", "--seconds", "0")
    done = command("kappa", "--quick", "--only", "default", *limits, "--out", "here", cwd=tmp_path)
    assert done.returncode == 1
    assert len((tmp_path / "here" / "kappa-quick.jsonl").read_text().splitlines()) == 1
    status = command("status", "--quick", "--out", "here", cwd=tmp_path)
    assert status.returncode == 0
    assert [line.split() for line in status.stdout.splitlines() if "kappa" in line] == [
        ["kappa-quick", "0/3", "1/30"]
    ]


def test_command_reports_damaged_lines(tmp_path: Path) -> None:
    row = {"cell": "x", "trial": 0, "method": "default", "error": 1.0}
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "kappa-quick.jsonl").write_bytes(encode(row)[:-7])
    done = command("kappa", "--quick", "--seconds", "0", "--workers", "1", cwd=tmp_path)
    assert "kappa-quick.jsonl, line 1: cut short; ignored" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig9"], "study 'fig9' is not known; expected one of fig1a"),
        (
            ["kappa", "--only", "best"],
            "--only best matches no method of kappa; it has 'median-TGD'",
        ),
        (["kappa", "--trials", "0"], "trials"),
        (["kappa", "--seconds", "-1"], "seconds"),
        (["fig3a", "fig1b", "--only", "vanilla", "--quick"], "matches no method of fig1b-quick"),
        ([], "NAME"),
    ],
)
def test_invalid_arguments_give_one_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_command_and_function_give_the_same_rows(tmp_path: Path) -> None:
    one = replace(study("fig3b", quick=True, trials=1), methods=(PAPER,))
    run(one, tmp_path, workers=1)
    options = ("--quick", "--trials", "1", "--only", PAPER.name, "--workers", "1", "-q")
    assert command("fig3b", *options, cwd=tmp_path).returncode == 0
    by_function, by_command = (
        json.loads((folder / "fig3b-quick.jsonl").read_text())
        for folder in (tmp_path, tmp_path / "results")
    )
    assert by_function["error"] == pytest.approx(by_command["error"], rel=1e-3)
    assert by_function["seed"] == by_command["seed"]


def test_table_option_prints_success_rates(tmp_path: Path) -> None:
    limits = ("--workers", "1", "--seconds", "0", "-q")
    done = command("solvers", "--quick", "--only", "default", "--table", *limits, cwd=tmp_path)
    assert "| setting | target | default | oracle | median-TGD |" in done.stdout
    assert "| huge 20% | 100% | 1/1 (21%–100%), " in done.stdout
    assert "| flip 10% | – | – | – | – |" in done.stdout


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ([], "all --report --quick"),
        (["FIG=fig1a", "FULL=1"], "fig1a --report"),
        (["FIG=zoo kappa", "DEVICE=cuda", "ONLY=default"], "--quick --device cuda --only default"),
    ],
)
def test_make_reproduce_passes_its_variables(variables: list[str], arguments: str) -> None:
    """Only prints the command; ``-o`` keeps make from installing anything."""
    made = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", ".venv/.ready", "reproduce", *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    words = made.stdout.replace("\\\n", " ").split()
    assert words[1:3] == ["-m", "experiments"]
    assert " ".join(words).endswith(arguments)
