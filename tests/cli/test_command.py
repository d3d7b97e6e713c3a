"""The command ``robustrank``: help, version, and output that cannot make a run fail."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from command_line import run, run_process, simulate_problem

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


def test_a_process_prints_the_same_and_ends_with_the_same_status(tmp_path: Path) -> None:
    """Most tests of the command call it in their own process."""
    simulate_problem(tmp_path)
    for command in (["--version"], ["recover", "p.npz", "--rank", "16"]):
        expected = run(*command, cwd=tmp_path)
        done = run_process(*command, cwd=tmp_path, capture_output=True)
        assert vars(done) | {"args": expected.args} == vars(expected)


@pytest.mark.parametrize(("limit", "status"), [("10000", 0), ("1", 1)])
def test_a_closed_pipe_does_not_change_the_exit_status(
    limit: str, status: int, tmp_path: Path
) -> None:
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    np.savez(tmp_path / "p.npz", A=planted.A, y=planted.y)
    limits = ["--solver", "gauss-newton", "--max-iterations", limit]
    reading, writing = os.pipe()
    os.close(reading)
    solve = ["recover", "p.npz", "--rank", "2", *limits]
    done = run_process(*solve, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (status, "")


def test_characters_that_the_terminal_cannot_show_are_replaced() -> None:
    encoding = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = run_process("simulate", "--help", capture_output=True, env=encoding, encoding="latin-1")
    assert done.returncode == 0
    assert "singular values ?_1/?_r" in done.stdout


needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full"
)


@needs_full_device
@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["--version"],
        ["recover", "p.npz", "--rank", "2", "--out", "result.npz"],
        ["simulate", "q.npz", "--shape", "20x15"],
        ["doctor"],
    ],
    ids=lambda command: command[0],
)
def test_full_device_as_standard_output_is_one_line_and_status_2(
    command: list[str], tmp_path: Path
) -> None:
    simulate_problem(tmp_path)
    device = io.FileIO("/dev/full", "w")
    device.name = "<stdout>"
    with io.TextIOWrapper(io.BufferedWriter(device)) as full:
        done = run(*command, cwd=tmp_path, stdout=full)
    assert done.returncode == 2
    message = "robustrank: error: cannot write to <stdout>: No space left on device\n"
    assert done.stderr == message
    if "result.npz" in command:
        assert rr.load(tmp_path / "result.npz").certified


@needs_full_device
def test_full_device_as_standard_error_does_not_change_the_exit_status(tmp_path: Path) -> None:
    simulate_problem(tmp_path)
    with open("/dev/full", "w") as full:
        solve = ["recover", "p.npz", "--rank", "2"]
        done = run_process(*solve, cwd=tmp_path, stdout=subprocess.PIPE, stderr=full)
        assert (done.returncode, "recovered" in done.stdout) == (0, True)
        done = run_process(*solve, "--shape", "1x1", cwd=tmp_path, stdout=full, stderr=full)
        assert done.returncode == 2


@contextmanager
def limited_file_size() -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**13, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("command", "written"),
    [
        (["recover", "p.npz", "--rank", "2", "--out", "result.npz"], "result.npz"),
        (["recover", "p.npz", "--rank", "2", "--report", "page.html"], "page.html"),
        (["simulate", "q.npz", "--shape", "20x15"], "q.npz"),
        (["simulate", "q.npz", "--shape", "20x15", "--sensing", "A.npy"], "A"),
        (["simulate", "q.npz", "--shape", "1x1", "--rank", "1", "--sensing", "A.npy"], "q.npz"),
    ],
)
def test_full_disk_is_one_line_and_leaves_nothing(
    command: list[str], written: str, tmp_path: Path
) -> None:
    size = ["--shape", "40x30", "--rank", 2, "-m", 600, "--seed", 3]
    assert run("simulate", "p.npz", *size, cwd=tmp_path).returncode == 0
    more = ["-m", "1000"] if "1x1" in command else []  # A fits within the limit, OUTPUT does not
    with limited_file_size():
        done = run(*command, *more, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("robustrank: error: cannot ")
    assert written in done.stderr
    assert "File too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["p.npz"]
