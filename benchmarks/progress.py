"""Lines of a benchmark: results on standard output, what is being done on standard error.

On a terminal the next line replaces the one that says what is being done.
"""

from __future__ import annotations

import sys


def doing(what: object) -> None:
    """Say what is being measured."""
    if sys.stderr.isatty():
        print(f"\r\033[K  {what} …", end="", file=sys.stderr, flush=True)
    else:
        print(f"  {what} …", file=sys.stderr, flush=True)


def result(line: object) -> None:
    """Print a line of the table."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(line, flush=True)
