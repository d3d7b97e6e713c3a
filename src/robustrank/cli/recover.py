"""``robustrank recover``: solve a problem stored in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from robustrank import api
from robustrank.api import SOLVERS, Interrupted
from robustrank.cli.data import (
    MatrixShape,
    MeasuredData,
    check_outputs,
    read_data,
    write_recovery,
)
from robustrank.cli.progress import meter, solver_callback
from robustrank.metrics import evaluate
from robustrank.report import require_report_libraries, write_report
from robustrank.result import Recovery
from robustrank.solvers import Portfolio

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("data", type=_FILE, required=False)
@click.option("--rank", type=int, required=True, help="Rank of the matrix, or an upper bound.")
@click.option("--sensing", type=_FILE, help="Sensing data A as .npy, of any size; read in blocks.")
@click.option("--measurements", type=_FILE, help="Measurements y as .npy or .csv.")
@click.option("--shape", type=MatrixShape(), help="Shape of the matrix; needed if A is (m, n1·n2).")
@click.option("--symmetric", is_flag=True, help="The matrix is known to be symmetric.")
@click.option("--psd", is_flag=True, help="The matrix is symmetric positive semidefinite.")
@click.option("--solver", type=click.Choice(list(SOLVERS)), default="auto", show_default=True)
@click.option("--max-iterations", type=int, help="Maximum number of iterations of each solver.")
@click.option(
    "--tolerance",
    type=float,
    help="Stop when the relative change of the factors per step is smaller; 0 disables this.",
)
@click.option("--time-limit", type=float, help="Stop after this many seconds.")
@click.option("--device", help='"cuda" or "cuda:1": move the data there first (needs PyTorch).')
@click.option("--seed", type=int, help="Random seed.")
@click.option(
    "-o", "--out", type=_FILE, help="Output file: .npz (everything), .npy or .csv (matrix)."
)
@click.option("--report", type=_FILE, help="Write a report page to this .html file.")
@click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor summary.")
def recover(out: Path | None, report: Path | None, **given: Any) -> int:
    """Recover a low-rank matrix from DATA, an .npz file with the arrays A and y.

    A is (m, n1, n2) or (m, n1·n2) and y is (m,). Outliers in y may have any size.

    \b
    robustrank recover problem.npz --rank 5 --out result.npz --report report.html
    robustrank recover --sensing A.npy --measurements y.csv --rank 5 --out matrix.csv

    Ctrl-C stops the run; the result so far is still written.
    """  # noqa: D301
    check_outputs(out, report, inputs=[given[name] for name in ("data", "sensing", "measurements")])
    if report is not None:
        require_report_libraries()
    data = read_data(given["data"], given["sensing"], given["measurements"])
    try:
        recovery = _solve(data, given)
    except Interrupted as interruption:
        recovery = interruption.recovery
    if out is not None:
        write_recovery(out, recovery)
    if report is not None:
        write_report(report, recovery, truth=data.truth)
    if not given["quiet"]:
        _print_summary(recovery, data, [path for path in (out, report) if path is not None])
    return 0 if recovery.certified else 1


def _solve(data: MeasuredData, given: dict[str, Any]) -> Recovery:
    solver = _limited(SOLVERS[given["solver"]](), given)
    with meter(given["solver"], given["quiet"]) as show:
        return api.recover(
            data.A,
            data.y,
            given["rank"],
            shape=given["shape"],
            solver=solver,
            callback=solver_callback(show),
            time_limit=given["time_limit"],
            device=given["device"],
            rng=given["seed"],
            symmetric=given["symmetric"],
            psd=given["psd"],
        )


def _limited(solver: Any, given: dict[str, Any]) -> Any:
    """The solver, or every solver of a portfolio, with the limits given on the command line."""
    if isinstance(solver, Portfolio):
        return replace(solver, solvers=tuple(_limited(one, given) for one in solver.solvers))
    limits = {name: given[name] for name in ("max_iterations", "tolerance")}
    return replace(solver, **{name: limit for name, limit in limits.items() if limit is not None})


def _print_summary(recovery: Recovery, data: MeasuredData, written: list[Path]) -> None:
    click.echo(repr(recovery))
    if data.truth is not None:
        evaluation = evaluate(recovery, data.truth)
        score = evaluation.outliers
        click.echo(
            f"  ground truth     error {evaluation.error:.2e}; outliers: {score.found:,} found, "
            f"{score.missed:,} missed, {score.false_positives:,} false positives"
        )
    for path in written:
        click.echo(f"  wrote            {path}")
