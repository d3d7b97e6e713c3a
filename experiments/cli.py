"""``python -m experiments``: run studies, draw their figures, and compare claims with the rows."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console
from rich.table import Table as Grid

from experiments.definition import Place, Study
from experiments.registry import NAMES, study
from experiments.rows import Table
from experiments.runner import Completion, completion, load, run
from robustrank.cli.progress import Meter, meter
from robustrank.cli.streams import harden_output
from robustrank.report import require_report_libraries

if TYPE_CHECKING:
    from experiments.claims import Tables  # importing it takes a second

OK, INCOMPLETE, BAD_INPUT = 0, 1, 2
_ALL, _STATUS = "all", "status"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--quick", is_flag=True, help="Small problems: seconds to minutes per study.")
@click.option("--only", metavar="METHOD", help='Only methods whose name contains this: "default".')
@click.option("--trials", type=click.IntRange(min=1), help="Trials of each setting.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="Folder for rows, figures and the page.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--device", help='"cuda": draw and solve the problems on the GPU, with PyTorch.')
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop each study after this time.")
@click.option("--report", is_flag=True, help="Write an HTML page with all claims and figures.")
@click.option("--table", is_flag=True, help="Print the success rates as a Markdown table.")
@click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")
def command(names: tuple[str, ...], **given: Any) -> int:
    """Run the studies with these NAMEs, draw their figures, and judge the claims about them.

    \b
    fig1a fig1b fig2 fig3a fig3b fig3c    the paper's figures
    zoo kappa sizes                       kinds of outliers, condition number, size
    solvers                               success rate of each solver
    certificates                          whether a wrong result is ever certified
    entries robust-pca entry-certificates the same two questions for completion
    coverage                              whether intervals contain the truth
    noise groups                          unequal noise, sensors that are wrong altogether
    planning planning-entries             measurements needed, for robustrank.plan
    all                                   all studies
    status                                only show how many trials are finished

    Every finished trial is saved in the folder --out immediately. To continue after an
    interruption, run the same command again. Files from several machines can be put into the same
    folder.

    \b
    python -m experiments fig1a --quick
    python -m experiments all --quick --report
    python -m experiments fig1a --device cuda --only default
    """  # noqa: D301
    require_report_libraries()
    folder: Path = given["out"]
    wanted = [*NAMES] if {_ALL, _STATUS} & {*names} else [*names]
    studies = {name: study(name, quick=given["quick"], trials=given["trials"]) for name in wanted}
    chosen = {name: _restrict(one, given["only"]) for name, one in studies.items()}
    if _STATUS not in names:
        try:
            for one in chosen.values():
                _run(one, given)
        except KeyboardInterrupt:
            _say(f"interrupted; finished trials are in {folder}")
            return INCOMPLETE
    tables = {name: (one, load(one, folder)) for name, one in studies.items()}
    if _STATUS in names:
        _show_status(tables)
    else:
        _draw(tables, folder)
        _show_claims(tables)
    if given["table"]:
        _show_rates(tables)
    if given["report"]:
        _write_page(tables, folder, quick=given["quick"])
    finished = all(_is_finished(one, tables[name][1]) for name, one in chosen.items())
    return OK if finished or _STATUS in names else INCOMPLETE


def main() -> int:
    """Run the command and return its exit status; an error is one line on stderr."""
    harden_output()
    for name in ("SIGTERM", "SIGHUP"):  # treated like Ctrl-C
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        outcome = command.main(prog_name="python -m experiments", standalone_mode=False)
        return outcome if isinstance(outcome, int) else OK
    except click.UsageError as error:
        return _fail(f"{error.format_message()} (see: python -m experiments --help)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INCOMPLETE
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        return _fail(str(error) or "out of memory; use fewer workers")


def _say(message: str) -> None:
    click.echo(f"experiments: {' '.join(message.split())}", err=True)


def _fail(message: str) -> int:
    _say(f"error: {message}")
    return BAD_INPUT


def _interrupt(_signum: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _restrict(one: Study[Any], only: str | None) -> Study[Any]:
    if only is None:
        return one
    methods = tuple(method for method in one.methods if only in method.name)
    if not methods:
        known = ", ".join(repr(method.name) for method in one.methods)
        raise ValueError(f"--only {only} matches no method of {one.name}; it has {known}")
    return replace(one, methods=methods)


def _run(one: Study[Any], given: dict[str, Any]) -> None:
    place = Place() if given["device"] is None else Place("torch", given["device"])
    with meter(one.name, given["quiet"]) as show:
        run(
            one,
            given["out"],
            place=place,
            workers=given["workers"],
            seconds=math.inf if given["seconds"] is None else given["seconds"],
            progress=_on(show),
            on_damage=lambda damage: _say(f"warning: {damage}"),
        )


def _on(show: Meter) -> Callable[[Completion], None]:
    return lambda now: show(now.done / now.total, str(now))


def _is_finished(one: Study[Any], table: Table) -> bool:
    now = completion(one, table)
    return now.done == now.total


def _show_status(tables: Tables) -> None:
    grid = Grid(box=None, pad_edge=False)
    for column in ("study", "settings", "trials", ""):
        grid.add_column(column, justify="left" if column in ("study", "") else "right")
    for one, table in tables.values():
        now = completion(one, table)
        damage = f"{len(table.damage)} damaged lines" if table.damage else ""
        grid.add_row(
            one.name, f"{now.cells_done:,}/{now.cells:,}", f"{now.done:,}/{now.total:,}", damage
        )
    Console().print(grid, highlight=False)


def _draw(tables: Tables, folder: Path) -> None:
    from experiments.figures import sketches
    from robustrank.report.canvas import write_image

    for one, table in tables.values():
        drawn = sketches(one, table)
        if drawn:
            path = folder / f"{one.name}.png"
            write_image(path, drawn)
            click.echo(f"wrote {path}")


def _show_claims(tables: Tables) -> None:
    from experiments.claims import judge_claims

    for claim in judge_claims(tables):
        click.echo(f"{claim.study}: {claim.statement}")
        click.echo(f"  {claim.verdict.value}: {claim.observed}")


def _show_rates(tables: Tables) -> None:
    from experiments.rate_tables import has_success_rates, markdown

    for one, table in tables.values():
        if has_success_rates(one):
            click.echo(f"\n{one.title}\n\n" + "\n".join(markdown(one, table)))


def _write_page(tables: Tables, folder: Path, *, quick: bool) -> None:
    from experiments.page import write_page

    path = folder / ("report-quick.html" if quick else "report.html")
    write_page(path, tables)
    click.echo(f"wrote {path}")
