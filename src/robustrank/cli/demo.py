"""``robustrank demo``: the whole workflow on a planted problem."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from robustrank.api import recover
from robustrank.cli.data import MatrixShape
from robustrank.cli.progress import meter, solver_callback
from robustrank.files import check_writable
from robustrank.metrics import evaluate
from robustrank.report import require_report_libraries, write_report
from robustrank.result import Result
from robustrank.simulate import Planted, plant
from robustrank.solvers import MedianTGD, VanillaGD


@click.command()
@click.option("--seed", type=int, default=2026, show_default=True, help="Random seed.")
@click.option(
    "--shape", type=MatrixShape(), default="60x50", show_default=True, help="Shape of the matrix."
)
@click.option("--rank", type=int, default=3, show_default=True, help="Rank of the matrix.")
@click.option(
    "-m",
    "--measurements",
    type=int,
    default=900,
    show_default=True,
    help="Number of measurements.",
)
@click.option("--outliers", type=float, default=0.05, show_default=True, help="Outlier fraction.")
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    default="robustrank-demo.html",
    show_default=True,
    help="Where to write the report page.",
)
def demo(
    seed: int, shape: tuple[int, int], rank: int, measurements: int, outliers: float, report: Path
) -> int:
    """Recover a planted matrix from measurements with outliers, and write a report page.

    Planted means simulated with a known solution. The default solver is compared with the paper's
    method and with gradient descent that does not reject outliers.
    """
    require_report_libraries()
    check_writable(report)
    console = Console()
    n1, n2 = shape
    console.print(
        f"A {n1} × {n2} matrix of rank {rank}, measured {measurements:,} times; "
        f"{round(outliers * measurements):,} measurements are replaced by large random numbers.",
        highlight=False,
    )
    planted = plant(n1, n2, rank, measurements, outliers=outliers, rng=seed)
    robust = _solve(planted, "auto", "robustrank")
    paper = _solve(planted, MedianTGD(), "the paper's method")
    # The number of iterations of the paper's method: enough to see that more would not help.
    naive = _solve(planted, VanillaGD(max_iterations=paper.iterations), "gradient descent")
    console.print(_table(planted, [robust, paper, naive]))
    title = "robustrank demo: a planted problem"
    write_report(report, robust, truth=planted, compare_with=[paper, naive], title=title)
    console.print(f"{robust.status}\nReport: {report}", highlight=False, soft_wrap=True)
    return 0 if robust.certified else 1


def _solve(planted: Planted, solver: str | MedianTGD | VanillaGD, title: str) -> Result:
    with meter(title) as show:
        callback = solver_callback(show)
        return recover(planted.A, planted.y, planted.rank, solver=solver, callback=callback)


def _table(planted: Planted, recoveries: list[Result]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for recovery in recoveries:
        table.add_column(recovery.solver, justify="right")
    rows = zip(*(_cells(planted, recovery) for recovery in recoveries), strict=True)
    for cells in rows:
        table.add_row(cells[0][0], *(text for _, text in cells))
    return table


def _cells(planted: Planted, recovery: Result) -> list[tuple[str, str]]:
    evaluation = evaluate(recovery, planted)
    score = evaluation.outliers
    return [
        ("status", recovery.status.value),
        ("relative error", f"{evaluation.error:.1e}"),
        ("outliers found", f"{score.found:,}"),
        ("outliers missed", f"{score.missed:,}"),
        ("false positives", f"{score.false_positives:,}"),
        ("iterations", f"{recovery.iterations:,}"),
        ("passes over the data", f"{recovery.passes:,.0f}"),
        ("time", f"{recovery.seconds:.1f} s"),
    ]
