"""Output of a benchmark: results on standard output, what is being done on standard error, JSON.

On a terminal the next line replaces the one that says what is being done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from robustrank.files import atomic_writer


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


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write all that was measured."""
    with atomic_writer(path) as stream:
        stream.write(json.dumps(report, indent=1, ensure_ascii=False).encode() + b"\n")
    result(f"wrote {path}")
