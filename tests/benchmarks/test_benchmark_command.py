"""The command ``python -m benchmarks``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import robustrank as rr
from benchmarks import __main__ as command
from benchmarks import ranks


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["python -m benchmarks", *arguments])
    command.main()


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0), (["speeds"], 2)])
def test_benchmarks_are_listed(
    arguments: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match=str(status)):
        run(*arguments, monkeypatch=monkeypatch, folder=tmp_path)
    printed = capsys.readouterr().out
    assert printed.startswith("usage: python -m benchmarks NAME")
    assert all(f"\n  {name} " in printed for name in command.BENCHMARKS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", command.BENCHMARKS)
def test_every_benchmark_has_help(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for library in {"gpu": ["torch"], "scale": ["h5py", "zarr", "distributed"]}.get(name, []):
        pytest.importorskip(library)
    with pytest.raises(SystemExit, match="0"):
        run(name, "--help", monkeypatch=monkeypatch, folder=tmp_path)
    assert f"usage: python -m benchmarks {name} " in capsys.readouterr().out


def test_calls_near_the_limit_are_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(ranks.limit_cases()) == 10
    case = ranks.LimitCase("entries", (30, 24), 1, outliers=0.0)
    monkeypatch.setattr(ranks, "limit_cases", lambda: [case])
    options = ("--setting", "limit", "--trials", "1", "--workers", "1")
    run("ranks", *options, monkeypatch=monkeypatch, folder=tmp_path)
    row = capsys.readouterr().out.splitlines()[1]
    assert row.startswith(f"{case} ")
    assert str(case).startswith("entries, 30 × 24, rank 1, no outliers, m = ")
    told, untold, wrong, median, worst = row.removeprefix(str(case)).split()
    assert (told, untold, wrong) == ("1", "1", "0")
    assert 0 < float(median) == float(worst)


@pytest.mark.parametrize(
    ("noise", "factor", "wrong"),
    [(0.0, 1.0, False), (0.0, 1.001, True), (0.02, 1.001, False), (0.02, 1.2, True)],
)
def test_wrong_claims_are_counted(noise: float, factor: float, wrong: bool) -> None:
    sample = ranks.LimitCase("dense", (12, 9), 1, noise=noise).sample(seed=1)
    result = sample.solve(1)
    assert result.status is (rr.Status.ESTIMATED if noise else rr.Status.RECOVERED)
    assert sample.is_wrong(replace(result, left=factor * result.left)) is wrong


def test_results_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranks, "cases", lambda: [ranks.Case("dense", 1, 0.0, "huge", 1.0)])
    run("ranks", "--trials", "1", "--workers", "1", monkeypatch=monkeypatch, folder=tmp_path)
    report = json.loads((tmp_path / "out" / "ranks.json").read_text())
    assert report["rows"][0]["trials"][0]["found"] == 1
