"""Standard output that survives a reader who goes away and a terminal with few letters."""

from __future__ import annotations

import io
import os
import sys


def harden_output() -> None:
    """Make printing unable to fail a run that succeeded.

    A letter that the terminal lacks is replaced; and when the reader of our output is gone, as
    after ``| head``, the rest is dropped, so that the exit status still tells how the run went.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
        sys.stdout = _UntilClosed(sys.stdout)


class _UntilClosed:
    """A text stream that goes on into nothing once its reader has closed it."""

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
