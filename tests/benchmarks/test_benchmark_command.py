"""The command ``python -m benchmarks``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

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


def test_results_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranks, "cases", lambda: [ranks.Case("dense", 1, 0.0, "huge", 1.0)])
    run("ranks", "--trials", "1", "--workers", "1", monkeypatch=monkeypatch, folder=tmp_path)
    report = json.loads((tmp_path / "out" / "ranks.json").read_text())
    assert report["rows"][0]["trials"][0]["found"] == 1
