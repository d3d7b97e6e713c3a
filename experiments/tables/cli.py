"""``python -m experiments tables``: compare methods that fill and correct tables.

Tables of packages that are not installed are skipped; ``pip install
'robustrank[experiments-tables]'`` installs all of them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.baseline.run import Meter, sigterm_as_ctrl_c
from experiments.definition import Study
from experiments.runner import Completion, completion, load, run
from experiments.tables.bars import Results
from experiments.tables.draws import TableCell
from experiments.tables.methods import OURS, installed
from experiments.tables.page import page
from experiments.tables.pictures import PictureCell
from experiments.tables.sets import SETS, table
from experiments.tables.sources import MissingPackageError, images, loaded
from experiments.tables.studies import DRAWS, FAMILIES, PARTS, study
from experiments.tables.summary import compared
from robustrank.files import atomic_writer

OK, BAD_INPUT, INCOMPLETE = 0, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 2 for invalid input, 3 if not finished."""
    given = _parser().parse_args(arguments)
    try:
        return int(given.action(given))
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"tables: error: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("tables: interrupted; run the same command again to continue\n")
        return INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments tables", description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run", help="run the trials that are not in the folder yet")
    comparing = actions.add_parser("compare", help="print errors relative to the best peer")
    writing = actions.add_parser("page", help="write a page and a figure of the comparison")
    for one in (running, comparing, writing):
        one.add_argument("--set", default="development", choices=[*SETS], dest="which")
        one.add_argument("--part", action="append", choices=PARTS, help="default: tables, flags")
        one.add_argument(
            "--final", action="store_true", help="required for sealed and fresh tables"
        )
        one.add_argument("--draws", type=int, default=DRAWS, help="of each table and corruption")
        one.add_argument(
            "--out", type=Path, default=Path("results/tables"), help="folder of the rows"
        )
        one.add_argument("--sketch", type=Path, help="a Python file with another method")
    running.add_argument("--only", action="append", default=[], help="only this method")
    running.add_argument("--table", action="append", default=[], help="only this table")
    running.add_argument("--workers", type=int, default=1, help="processes")
    running.add_argument("--limit-seconds", type=float, default=math.inf, help="stop after them")
    running.set_defaults(action=_run)
    comparing.set_defaults(action=_compare)
    writing.add_argument("--page", type=Path, required=True, help="a Markdown file")
    writing.add_argument("--figure", type=Path, help="a PNG file; needs matplotlib")
    writing.add_argument("--method", default=OURS, help="the method that is judged")
    writing.set_defaults(action=_page)
    listing = actions.add_parser("list", help="list the tables and their shapes")
    listing.set_defaults(action=_list)
    return parser


def _studies(given: argparse.Namespace) -> list[Study[Any]]:
    if given.which != "development" and not given.final:
        raise ValueError(
            f"the {given.which} tables are for the final run only; --final confirms this"
        )
    if given.draws < 1:
        raise ValueError(f"--draws is {given.draws}; expected at least 1")
    parts = given.part or PARTS[:2]
    return [study(part, given.which, given.draws, given.sketch) for part in parts]


def _run(given: argparse.Namespace) -> int:
    finished = True
    with sigterm_as_ctrl_c():
        for one in _studies(given):
            chosen = _restricted(one, given)
            if chosen.cells and chosen.methods:
                now = run(
                    chosen,
                    given.out,
                    workers=given.workers,
                    seconds=given.limit_seconds,
                    progress=_shown(Meter(unit="trials")),
                )
                _print(f"{one.name}: {now.done:,} of {now.total:,} trials are in {given.out}")
                finished &= now.done == now.total
    return OK if finished else INCOMPLETE


def _shown(meter: Meter) -> Callable[[Completion], None]:
    began = time.monotonic()
    return lambda now: meter(now.done, now.total, time.monotonic() - began)


def _restricted(one: Study[Any], given: argparse.Namespace) -> Study[Any]:
    """The part of a study that is asked for and can run here; says what cannot."""
    names, notices = installed([method.name for method in one.methods])
    wanted = {*(given.only or names)} & {*names}
    cells = [c for c in one.cells if not given.table or getattr(c, "table", "") in given.table]
    reasons = {cell: _obstacle(cell) for cell in cells}
    for notice in dict.fromkeys([*notices, *filter(None, reasons.values())]):
        sys.stderr.write(f"tables: {notice}\n")
    return replace(
        one,
        methods=tuple(method for method in one.methods if method.name in wanted),
        cells=tuple(cell for cell in cells if not reasons[cell]),
    )


def _obstacle(cell: Any) -> str:
    """Why the data of a setting cannot be loaded; empty if it can."""
    try:
        if isinstance(cell, TableCell):
            table(cell.table)
        elif isinstance(cell, PictureCell):
            images(cell.name)
    except MissingPackageError as error:
        return f"{getattr(cell, 'table', cell.key)} is skipped: {error}"
    return ""


def _compare(given: argparse.Namespace) -> int:
    one = study("tables", given.which, given.draws, given.sketch)
    rows = load(one, given.out)
    now = completion(one, rows)
    _print(f"{now.done:,} of {now.total:,} trials")
    for family in FAMILIES:
        found = compared(one, rows, family)
        if found is None:
            continue
        if not found.peers:
            continue
        best = found.best_peer
        _print(f"\n{family}: {len(found.errors[best])} tables, at least {found.draws} draws")
        for name in sorted(found.errors, key=found.mean):
            ratios = found.ratios(name)
            worst = max(ratios, key=lambda table: ratios[table])
            failed = f", {found.failures[name]} failures" if found.failures[name] else ""
            _print(
                f"  {name:18s} error {found.mean(name):.3f}, / {best} {found.ratio(name):.3f}, "
                f"worst {ratios[worst]:.2f} ({worst}){failed}"
            )
    return OK


def _page(given: argparse.Namespace) -> int:
    given.part = [*PARTS]
    pairs = zip(PARTS, _studies(given), strict=True)
    results = {part: (one, load(one, given.out)) for part, one in pairs}
    with atomic_writer(given.page) as stream:
        lines = page(results, given.which, given.method)
        stream.write(("\n".join(lines) + "\n").encode())
    if given.figure is not None:
        _draw(given.figure, results)
    return OK


def _draw(path: Path, results: Results) -> None:
    from experiments.figures.table_errors import table_errors
    from robustrank.report.canvas import write_image

    found = [compared(*results["tables"], family) for family in FAMILIES]
    drawn = [table_errors(one) for one in found if one is not None and one.peers]
    if drawn:
        write_image(path, drawn)


def _list(_given: argparse.Namespace) -> int:
    for which, sources in SETS.items():
        for name, source in sources.items():
            try:
                shape = "{} × {}".format(*loaded(source).shape)
            except MissingPackageError as error:
                shape = f"skipped: {error}"
            _print(f"{which:12s} {name:18s} {shape:12s} {source.package}: {source.item}")
    return OK


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
