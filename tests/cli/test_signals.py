"""Signals: the result so far is saved, and signals that the parent ignores stay ignored."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from command_line import COMMAND, on_terminal, run, wait_for

import robustrank as rr
from robustrank.simulate import plant

RUNNING = rb"iteration [1-9]"  # in the progress bar
ENDLESS = ["--tolerance", "0", "--max-iterations", "1000000000"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("signals")
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    np.savez(path / "p.npz", A=planted.A, y=planted.y)
    np.save(path / "A.npy", planted.A)
    return path


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_result_so_far_is_saved(sent: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.npz"
    arguments = ["recover", "p.npz", "--rank", "2", "-o", str(out), *ENDLESS]
    with on_terminal([*COMMAND, *arguments], folder) as (process, terminal):
        wait_for(terminal, RUNNING)
        process.send_signal(getattr(signal, sent))
        assert process.wait(timeout=60) == 1
    recovery = rr.load(out)
    assert recovery.stopped is rr.StopReason.INTERRUPTED
    assert recovery.iterations > 0


@pytest.mark.usefixtures("default_signals")
def test_a_run_that_reads_in_blocks_writes_its_page_and_is_resumed(
    folder: Path, tmp_path: Path
) -> None:
    state, page = tmp_path / "state.npz", tmp_path / "report.html"
    paths = ["p.npz", "--sensing", "A.npy", "--out", str(state), "--resume", str(state)]
    arguments = ["recover", *paths, "--rank", "2"]
    endless = [*ENDLESS, "--report", str(page)]
    with on_terminal([*COMMAND, *arguments, *endless], folder) as (process, terminal):
        wait_for(terminal, b"reading the data")
        wait_for(terminal, RUNNING)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 1
    assert page.exists()
    assert rr.load(state).stopped is rr.StopReason.INTERRUPTED
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "p.npz") as archive:
        from_scratch = rr.recover(archive["A"], archive["y"], 2)
    assert rr.load(state).iterations < from_scratch.iterations


@pytest.mark.parametrize("ignored", ["INT", "HUP"])
def test_a_signal_that_the_parent_ignores_stays_ignored(
    ignored: str, folder: Path, tmp_path: Path
) -> None:
    """As with ``nohup robustrank recover … &``."""
    out = tmp_path / "result.npz"
    arguments = ["recover", "p.npz", "--rank", "2", "-o", str(out), *ENDLESS, "--time-limit", "2"]
    shell = ["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh"]
    with on_terminal([*shell, *COMMAND, *arguments], folder) as (process, terminal):
        wait_for(terminal, RUNNING)
        process.send_signal(getattr(signal, f"SIG{ignored}"))
        assert process.wait(timeout=60) == 0
    recovery = rr.load(out)
    assert recovery.status is rr.Status.RECOVERED
    assert recovery.seconds > 1.7  # a tenth of the time is left for the certificate
