"""Output that survives a closed pipe, a full disk and a terminal with a limited encoding."""

from __future__ import annotations

import io
import os
import sys


def harden_output() -> None:
    """Keep printing from making a successful run fail.

    Characters that the terminal cannot show are replaced. When the reader closes the pipe, as after
    ``| head``, the rest of the output is dropped, so that the exit status still describes the run.
    If standard output cannot be written for another reason, such as a full disk, an OSError says
    so once. Messages that standard error cannot take are dropped.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
        sys.stdout = _DroppedAfterError(sys.stdout, ignored=BrokenPipeError)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _DroppedAfterError(sys.stderr, ignored=OSError)


class _DroppedAfterError:
    """A text stream whose output is discarded once it cannot be written."""

    def __init__(self, stream: io.TextIOWrapper, ignored: type[OSError]) -> None:
        self._stream = stream
        self._ignored = ignored

    def write(self, text: str) -> int:
        if text == "":  # how click tells a text stream from a binary one; it ignores errors
            return 0
        try:
            written = self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if not isinstance(error, self._ignored):
                reason = error.strerror or error
                raise OSError(f"cannot write to {self._stream.name}: {reason}") from error
            return len(text)
        return written

    def flush(self) -> None:
        """Nothing to do: every write is flushed."""

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
