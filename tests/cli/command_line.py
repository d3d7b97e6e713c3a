"""The command ``robustrank`` as a user runs it: its output and exit status, in a given folder.

``run`` calls the command in this process. A few tests start another one with ``run_process``: those
of signals, pipes and standard streams.
"""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from in_process import call

from robustrank.cli import main

COMMAND = [sys.executable, "-m", "robustrank"]


def run(
    *arguments: object, cwd: Path, stdout: io.TextIOWrapper | None = None
) -> subprocess.CompletedProcess[str]:
    """Call the command in this process."""
    return call(main, *arguments, cwd=cwd, stdout=stdout)


def run_process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own and wait for it."""
    return subprocess.run([*COMMAND, *map(str, arguments)], text=True, timeout=100, **options)


def simulate_problem(folder: Path) -> None:
    """Write ``p.npz``, a small problem of rank 2 with 20 outliers in 400 measurements."""
    size = ["--shape", "20x15", "--rank", 2, "-m", 400, "--seed", 3]
    done = run("simulate", "p.npz", *size, cwd=folder)
    assert done.returncode == 0, done.stderr


@contextmanager
def on_terminal(command: list[str], cwd: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process whose stderr is a pseudo-terminal, so that it draws a progress bar."""
    terminal, inner = pytest.importorskip("pty").openpty()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stderr=inner,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(inner)
    try:
        yield process, terminal
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(terminal)


def wait_for(terminal: int, pattern: bytes, seconds: float = 60) -> None:
    """Read the terminal until a regular expression matches."""
    seen = b""
    end = time.monotonic() + seconds
    while not re.search(pattern, seen):
        assert time.monotonic() < end, seen
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            seen += os.read(terminal, 4096)
