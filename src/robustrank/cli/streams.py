"""Standard output that survives a closed pipe and a terminal with a limited encoding."""

from __future__ import annotations

import io
import os
import sys


def harden_output() -> None:
    """Keep printing from making a successful run fail.

    Characters that the terminal cannot show are replaced. When the reader closes the pipe, as after
    ``| head``, the rest of the output is dropped, so that the exit status still describes the run.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
        sys.stdout = _UntilClosed(sys.stdout)


class _UntilClosed:
    """A text stream whose output is discarded once the reader has closed it."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            written = self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            return len(text)
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
