"""``robustrank reproduce``: the paper's experiments, and the default solver beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid

from experiments import NAMES, Experiment, Place, Table, experiment, load, run, standing
from experiments.claims import claims
from experiments.runner import Standing
from robustrank.cli.progress import Meter, meter
from robustrank.report import require_matplotlib

_ALL, _STATUS = "all", "status"


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--quick", is_flag=True, help="Smaller problems: about two minutes a figure.")
@click.option("--only", metavar="METHOD", help='Only methods whose name contains this: "default".')
@click.option("--trials", type=click.IntRange(min=1), help="Trials of each setting.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="Folder for rows, figures and the page.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default all cores.")
@click.option("--device", help='"cuda": plant and solve on the card, with PyTorch.')
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop each after this long.")
@click.option("--report", is_flag=True, help="Write a page about all of it.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def reproduce(names: tuple[str, ...], **given: Any) -> int:
    """Run experiments by NAME, draw their figures, and say what stands.

    \b
    fig1a fig1b fig2 fig3a fig3b fig3c    the paper's figures
    zoo kappa sizes                       beyond the paper
    all                                   every one of them
    status                                only say how far each is

    Every finished trial is kept in the folder --out at once: stop it whenever you like and run it
    again, here or elsewhere; files of several machines may lie side by side there.

    \b
    robustrank reproduce fig1a --quick
    robustrank reproduce all --quick --report
    robustrank reproduce fig1a --device cuda --only default
    """  # noqa: D301
    require_matplotlib()
    wanted = [*NAMES] if {_ALL, _STATUS} & {*names} else [*names]
    experiments = {
        name: experiment(name, quick=given["quick"], trials=given["trials"]) for name in wanted
    }
    chosen = [_restricted(one, given["only"]) for one in experiments.values()]
    if _STATUS not in names:
        try:
            for one in chosen:
                _run(one, given)
        except KeyboardInterrupt:
            click.echo(f"robustrank: interrupted; what was finished is in {given['out']}", err=True)
            return 1
    folder: Path = given["out"]
    tables = {name: (one, load(one, folder)) for name, one in experiments.items()}
    if _STATUS in names:
        _tell_standing(tables.values())
    else:
        _draw(tables, folder)
        _tell_claims(tables)
    if given["report"]:
        _write_page(tables, folder, quick=given["quick"])
    read = [table for _, table in tables.values()]
    done = all(_is_done(one, table) for one, table in zip(chosen, read, strict=True))
    return 0 if done or _STATUS in names else 1


def _restricted(one: Experiment, only: str | None) -> Experiment:
    if only is None:
        return one
    methods = tuple(method for method in one.methods if only in method.name)
    if not methods:
        known = ", ".join(repr(method.name) for method in one.methods)
        raise ValueError(f"--only {only} fits no method of {one.name}; it has {known}")
    return replace(one, methods=methods)


def _run(one: Experiment, given: dict[str, Any]) -> None:
    place = Place() if given["device"] is None else Place("torch", given["device"])
    with meter(one.name, given["quiet"]) as show:
        run(
            one,
            given["out"],
            place=place,
            workers=given["workers"],
            seconds=math.inf if given["seconds"] is None else given["seconds"],
            progress=_on(show),
            report=lambda damage: click.echo(f"robustrank: warning: {damage}", err=True),
        )


def _on(show: Meter) -> Any:
    def progress(now: Standing) -> None:
        show(now.done / now.total, str(now))

    return progress


def _is_done(one: Experiment, table: Table) -> bool:
    now = standing(one, table)
    return now.done == now.total


def _tell_standing(tables: Iterable[tuple[Experiment, Table]]) -> None:
    grid = Grid(box=None, pad_edge=False)
    for column in ("experiment", "settings", "trials", ""):
        grid.add_column(column, justify="left" if column in ("experiment", "") else "right")
    for one, table in tables:
        now = standing(one, table)
        damage = f"{len(table.damage)} lines damaged" if table.damage else ""
        grid.add_row(
            one.name, f"{now.cells_done:,}/{now.cells:,}", f"{now.done:,}/{now.total:,}", damage
        )
    Console().print(grid, highlight=False)


def _draw(tables: dict[str, tuple[Experiment, Table]], folder: Path) -> None:
    from experiments.figures import sketches
    from robustrank.report.canvas import write_image

    for one, table in tables.values():
        drawn = sketches(one, table)
        if drawn:
            path = folder / f"{one.name}.png"
            write_image(path, drawn)
            click.echo(f"wrote {path}")


def _tell_claims(tables: dict[str, tuple[Experiment, Table]]) -> None:
    for claim in claims(tables):
        click.echo(f"{claim.figure}: {claim.statement}")
        click.echo(f"  {claim.verdict.value}: {claim.seen}")


def _write_page(tables: dict[str, tuple[Experiment, Table]], folder: Path, *, quick: bool) -> None:
    from experiments.page import write_reproduction

    path = folder / ("report-quick.html" if quick else "report.html")
    write_reproduction(path, tables)
    click.echo(f"wrote {path}")
