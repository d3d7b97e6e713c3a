"""``robustrank plan``: a table, a chart, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from command_line import run

import robustrank as rr
from robustrank.cli.plan import plan


def test_plan_prints_a_table_and_a_chart(tmp_path: Path) -> None:
    done = run("plan", "60x48", "--rank", 3, "--outliers", 0.2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = rr.plan((60, 48), 3, 0.2)
    assert found.title() in done.stdout
    lines = done.stdout.splitlines()
    marked = {
        "information limit": found.information_limit,
        "default 95%": found.measurements_95,
        "paper's method 50%": found.paper_measurements_50,
        "paper's method 95%": found.paper_measurements_95,
    }
    for mark, count in marked.items():
        assert [line for line in lines if line.strip().startswith(f"{count:,} ") and mark in line]
    assert "███" in done.stdout


def test_plan_outside_of_the_trials_says_so_without_a_chart() -> None:
    done = CliRunner().invoke(plan, ["60x48", "--rank", "3", "--noise", "0.2"])
    assert done.exit_code == 0
    assert "unknown: the trials have noise of at most 8%" in done.stdout
    assert "█" not in done.stdout


def test_plan_as_json() -> None:
    options = ["--rank", "2", "--family", "entries", "--model", "scale", "--json"]
    done = CliRunner().invoke(plan, ["60x50", *options])
    expected = rr.plan((60, 50), 2, family="entries", outlier_model="scale")
    assert json.loads(done.stdout) == expected.as_dict()


def test_invalid_plan_is_one_line(tmp_path: Path) -> None:
    done = run("plan", "60x48", "--rank", 49, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "robustrank: error: rank=49; expected 1 ≤ rank ≤ min(n1, n2) = 48\n"
