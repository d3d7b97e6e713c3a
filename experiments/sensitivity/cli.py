"""``python -m experiments sensitivity``: halve and double every number in the core, one at a time.

It needs NumPy and SciPy only, and changes no file of the package.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.baseline.run import Meter, rows_in, sigterm_as_ctrl_c
from experiments.sensitivity.literals import core_literals
from experiments.sensitivity.numbers import page_of_numbers
from experiments.sensitivity.run import SECONDS_EACH, run
from experiments.sensitivity.table import table

STUDIED = Path(__file__).parents[2] / "results" / "sensitivity" / "numbers.jsonl.gz"
OK, BAD_INPUT, INCOMPLETE = 0, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    It is 2 for invalid input, and 3 if a run is not finished; the same command continues it.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.action(given))
    except (ValueError, OSError) as error:
        _say(f"sensitivity: error: {error}")
        return BAD_INPUT
    except KeyboardInterrupt:
        _say("sensitivity: interrupted; run the same command again to continue")
        return INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments sensitivity", description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run", help="run the variants that are not in the file yet")
    running.add_argument("--out", type=Path, required=True, help="a file NAME.jsonl.gz")
    running.add_argument("--workers", type=int, help="processes; default: one for each core")
    running.add_argument("--limit-seconds", type=float, default=math.inf, help="stop after them")
    running.add_argument(
        "--seconds-each", type=float, default=SECONDS_EACH, help="stop a variant after them"
    )
    running.add_argument("--only", default="", help="files of the core that begin with this path")
    running.add_argument("--problems", type=int, help="only the first ones of the list")
    running.set_defaults(action=_run)
    showing = actions.add_parser("show", help="print a file as a Markdown table")
    showing.add_argument("file", type=Path)
    showing.set_defaults(action=_show)
    listing = actions.add_parser("numbers", help="print all numbers of the core as a page")
    listing.set_defaults(action=_numbers)
    return parser


def _run(given: argparse.Namespace) -> int:
    with sigterm_as_ctrl_c():
        done, wanted = run(
            given.out,
            workers=given.workers or os.cpu_count() or 1,
            seconds=given.limit_seconds,
            seconds_each=given.seconds_each,
            only=given.only,
            most=given.problems,
            progress=Meter(unit="variants"),
            say=_say,
        )
    _print(f"{done:,} of {wanted:,} variants are in {given.out}")
    return OK if done == wanted else INCOMPLETE


def _show(given: argparse.Namespace) -> int:
    if not given.file.exists():
        raise FileNotFoundError(f"{given.file} does not exist")
    for line in table(rows_in(given.file)):
        _print(line)
    return OK


def _numbers(_: argparse.Namespace) -> int:
    for line in page_of_numbers(core_literals(), rows_in(STUDIED)):
        _print(line)
    return OK


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
