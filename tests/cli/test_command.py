"""The command ``robustrank``: help, version, and output that cannot make a run fail."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import COMMAND, run

import robustrank as rr
from robustrank.simulate import plant


@pytest.mark.parametrize("command", [[], ["demo"], ["simulate"], ["recover"], ["doctor"]])
def test_help(command: list[str], tmp_path: Path) -> None:
    done = run(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    assert len(done.stdout.splitlines()) > 5


def test_without_arguments_the_help_is_printed(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: ")
    assert "robustrank demo" in done.stdout


def test_version(tmp_path: Path) -> None:
    assert rr.__version__ in run("--version", cwd=tmp_path).stdout


@pytest.mark.parametrize(("limit", "status"), [("10000", 0), ("1", 1)])
def test_a_closed_pipe_does_not_change_the_exit_status(
    limit: str, status: int, tmp_path: Path
) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    np.savez(tmp_path / "p.npz", A=planted.A, y=planted.y)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "recover", "p.npz", "--rank", "2", "--max-iterations", limit],
        cwd=tmp_path,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=100,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (status, "")


def test_characters_that_the_terminal_cannot_show_are_replaced() -> None:
    done = subprocess.run(
        [*COMMAND, "simulate", "--help"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        timeout=100,
    )
    assert done.returncode == 0
    assert b"in units of ?_r(M)" in done.stdout
