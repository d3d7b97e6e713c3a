"""``python -m experiments.planning_table``: derive the table of ``robustrank.plan`` from the rows.

Figure 1a and the solver study are left out, so that the tests can compare the table with them.
"""

from __future__ import annotations

from pathlib import Path

import click

import robustrank.planning
from experiments.registry import study
from experiments.runner import load
from experiments.success_curves import fit_curves, points
from robustrank.files import PathLike, atomic_writer
from robustrank.planning.curves import TABLE, Curve, as_json

SOURCES = ("planning", "fig1b", "sizes", "zoo", "planning-entries", "entries")
_SOURCE = f"derived by experiments/planning_table.py from the rows of {', '.join(SOURCES)}"


def derive(folder: PathLike) -> list[Curve]:
    """The curves that the rows in a folder give."""
    studies = [study(name) for name in SOURCES]
    return fit_curves([point for one in studies for point in points(one, load(one, folder))])


@click.command()
@click.option("--rows", default="results", show_default=True, help="Folder with the rows.")
def main(rows: str) -> None:
    """Write the table into the package."""
    path = Path(robustrank.planning.__file__).parent / TABLE
    curves = derive(rows)
    with atomic_writer(path) as stream:
        stream.write(as_json(curves, _SOURCE).encode())
    click.echo(f"wrote {len(curves)} curves to {path}")


if __name__ == "__main__":
    main()
