"""``python -m experiments baseline``: run a set of problems, and compare two versions.

It needs NumPy and SciPy only; problems that need another library are skipped without it.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.baseline.comparison import compare, described
from experiments.baseline.power import families
from experiments.baseline.run import Meter, rows_in, run, sigterm_as_ctrl_c
from experiments.baseline.sets import DEVELOPMENT, STUDIES
from experiments.rows import Row
from robustrank.files import atomic_writer

OK, WORSE, BAD_INPUT, INCOMPLETE = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    It is 1 if a right claim was lost or a wrong one gained, 2 for invalid input, and 3 if a run is
    not finished; the same command continues it.
    """
    given = _parser().parse_args(arguments)
    try:
        return int(given.action(given))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"baseline: error: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("baseline: interrupted; run the same command again to continue\n")
        return INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments baseline", description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run", help="run the problems that are not in the file yet")
    running.add_argument(
        "--set", default=DEVELOPMENT, help="development, sealed, or battery-NAME for fresh problems"
    )
    running.add_argument("--out", type=Path, required=True, help="a file NAME.jsonl.gz")
    running.add_argument("--workers", type=int, help="processes; default: one for each core")
    running.add_argument("--limit-seconds", type=float, default=math.inf, help="stop after them")
    running.add_argument("--problems", type=int, help="only the first ones of the random order")
    running.add_argument("--study", action="append", default=[], choices=STUDIES)
    running.add_argument("--revision", default="", help="recorded instead of that of git")
    running.set_defaults(action=_run)
    comparing = actions.add_parser("compare", help="compare two files problem by problem")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.set_defaults(action=_compare)
    showing = actions.add_parser("show", help="describe one file")
    showing.add_argument("file", type=Path)
    showing.set_defaults(action=_show)
    power = actions.add_parser("power", help="write a page and a figure of power by family")
    power.add_argument("file", type=Path)
    power.add_argument("--page", type=Path, required=True, help="a Markdown file")
    power.add_argument("--figure", type=Path, required=True, help="a PNG file; needs matplotlib")
    power.set_defaults(action=_power)
    return parser


def _run(given: argparse.Namespace) -> int:
    with sigterm_as_ctrl_c():
        done, wanted = run(
            given.set,
            given.out,
            workers=given.workers or os.cpu_count() or 1,
            seconds=given.limit_seconds,
            studies=tuple(given.study),
            most=given.problems,
            revision=given.revision,
            progress=Meter(),
        )
    _print(f"{done:,} of {wanted:,} problems are in {given.out}")
    return OK if done == wanted else INCOMPLETE


def _compare(given: argparse.Namespace) -> int:
    comparison = compare(_rows(given.old), _rows(given.new))
    if not comparison.pairs:
        raise ValueError(f"{given.old} and {given.new} have no problem in common")
    for line in comparison.lines():
        _print(line)
    return WORSE if comparison.failed else OK


def _show(given: argparse.Namespace) -> int:
    for line in described(_rows(given.file)):
        _print(line)
    return OK


def _power(given: argparse.Namespace) -> int:
    from experiments.baseline.power_page import page
    from experiments.figures.power import power
    from robustrank.report.canvas import write_image

    rows = _rows(given.file)
    with atomic_writer(given.page) as stream:
        stream.write(("\n".join(page(rows)) + "\n").encode())
    write_image(given.figure, power(families(rows)))
    return OK


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return rows_in(path)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
