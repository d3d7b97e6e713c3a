"""A command called in the process of the tests, with its output and exit status.

This saves the time of starting Python and importing NumPy.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def call(
    main: Callable[[], int | None],
    *arguments: object,
    cwd: Path,
    stdout: io.TextIOWrapper | None = None,
) -> subprocess.CompletedProcess[str]:
    """Call the main function of a command, and restore afterwards what it changes."""
    given = [str(argument) for argument in arguments]
    out = stdout or io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    error = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    status: Any
    with pytest.MonkeyPatch.context() as patch, _as_in_a_new_process():
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["command", *given])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", error)
        try:
            status = main() or 0
        except SystemExit as end:
            status = end.code
    return subprocess.CompletedProcess(given, status, *map(_text, (out, error)))


@contextmanager
def _as_in_a_new_process() -> Iterator[None]:
    """Python's default warnings, which are errors in tests; signals are restored afterwards."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for ignored in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", ignored)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _text(stream: io.TextIOWrapper) -> str:
    if not isinstance(stream.buffer, io.BytesIO):
        return ""
    stream.flush()
    return stream.buffer.getvalue().decode()
