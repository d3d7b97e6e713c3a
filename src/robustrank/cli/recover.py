"""``robustrank recover``: solve a problem stored in files."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from robustrank import api, cluster
from robustrank.api import SOLVERS, Interrupted, SensingDataLost
from robustrank.backend import memory_bytes
from robustrank.cli import options
from robustrank.cli.columns import Choice
from robustrank.cli.data import (
    MatrixShape,
    MeasuredData,
    check_outputs,
    read_data,
    read_start,
    write_recovery,
)
from robustrank.cli.progress import Meter, meter, solver_callback
from robustrank.cli.writing import without_interruption
from robustrank.files import resolved
from robustrank.metrics import evaluate
from robustrank.operators import Operator
from robustrank.report import require_report_libraries, write_report
from robustrank.result import Result
from robustrank.solvers import Portfolio


@click.command()
@click.argument("data", type=options.FILE, required=False)
@click.option(
    "--rank",
    type=int,
    help="An upper bound on the rank of the matrix. Optional: by default it is estimated.",
)
@click.option(
    "--sensing",
    type=options.FILE,
    multiple=True,
    help="Sensing data A. An .npy file, a .zarr folder or HDF5 (file.h5:/A) may have any size; it "
    "is read in blocks. Or file.mat:A, file.npz:A, also if A is sparse, or a table whose rows are "
    "the A_i. Give the option several times for files that follow one another.",
)
@click.option(
    "--measurements",
    type=options.FILE,
    help="Measurements y: .npy, file.npz:y, file.mat:y, file.h5:/y, or a table; see --column.",
)
@click.option(
    "--column",
    help="The column of a table that has the measurements, by name or by number from 1. Not "
    "needed if there is only one.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="The column of a table that names the sensor, or another group, of each measurement: what "
    "is wrong with each is printed. It is not part of A.",
)
@click.option(
    "--ignore",
    metavar="COLUMN",
    multiple=True,
    help="A column of a table that is not part of A, such as the time. May be given several times.",
)
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
@options.time_limit
@click.option(
    "--memory-limit",
    help="Memory that the process may use if A is read in blocks, such as 2GB; with less, more "
    "passes over the data or temporary files are needed. Default: half of what is available.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="The number of processes on this machine that compute; they read A themselves.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compute on the dask cluster with this scheduler, such as tcp://10.0.0.1:8786.",
)
@click.option("--device", help='"cuda" or "cuda:1": move the data there first (needs PyTorch).')
@options.seed
@click.option(
    "-o",
    "--out",
    type=options.FILE,
    help="Output file: .npz (everything), .npy or .csv (matrix; the outliers are written beside "
    "it, to NAME.outliers.npy or NAME.outliers.csv).",
)
@click.option(
    "--resume",
    type=options.FILE,
    help="Continue from this result (.npz), which was saved with --out. It may be the same file "
    "as --out; if that does not exist yet, the run starts from the beginning.",
)
@options.report
@options.quiet
def recover(out: Path | None, report: Path | None, **given: Any) -> int:
    """Recover a low-rank matrix from DATA, a file with the arrays A and y.

    A is (m, n1, n2) or (m, n1·n2) and y is (m,). Outliers in y may have any size. The rank need not
    be known: --rank is an upper bound on it, and optional.

    DATA is an .npz, .mat or HDF5 file; or a table in which the column --column is y and the others
    are the entries of the A_i, row after row, with --shape. Tables are CSV files (also with
    semicolons, decimal commas, comments, or compressed by gzip), Parquet, Feather or Arrow.

    \b
    robustrank recover problem.npz --out result.npz --report report.html
    robustrank recover --sensing A.npy --measurements y.csv --rank 5 --out matrix.csv
    robustrank recover --sensing data.h5:/A --measurements sensors.csv --column reading
    robustrank recover sensors.csv --column reading --shape 20x15 --out matrix.csv
    robustrank recover log.csv --column reading --group sensor --ignore time --shape 8x6
    robustrank recover --sensing A.npy --measurements y.npy --rank 5 --out s.npz --resume s.npz

    Ctrl-C stops the run; the result so far is still written. The last command continues from it
    when it is repeated.
    """  # noqa: D301
    inputs = [given["data"], *given["sensing"], given["measurements"]]
    check_outputs(out, report, inputs=inputs)  # --resume may be the same file as --out
    if given["scheduler"] is not None and given["workers"] is not None:
        raise ValueError("pass --scheduler or --workers, not both")
    if given["memory_limit"] is not None:
        memory_bytes(given["memory_limit"])  # raises if it is malformed
    if report is not None:
        require_report_libraries()
    start = read_start(given["resume"], out)
    data = read_data(
        given["data"],
        given["sensing"],
        given["measurements"],
        given["memory_limit"],
        Choice(given["column"], given["group"], given["ignore"]),
    )
    _check_shape(data, given)
    try:
        outcome = _solve(data, start, out, given)
    except TimeoutError as error:  # during the validation of the data
        click.echo(f"robustrank: {error}", err=True)
        return 1
    recovery = outcome.recovery
    if report is not None:
        write_report(report, recovery, truth=data.truth)
    if not given["quiet"]:
        _print_summary(outcome, data, [*outcome.written, *([] if report is None else [report])])
    if outcome.loss:
        click.echo(f"robustrank: {outcome.loss}", err=True)
    return 0 if recovery.certified else 1


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A result, why the data was lost if it was, and a sentence about the workers, if any."""

    recovery: Result
    loss: str = ""
    workers: str = ""
    written: tuple[Path, ...] = ()
    kept: str = ""  # why nothing was written


def _solve(
    data: MeasuredData, start: Result | None, out: Path | None, given: dict[str, Any]
) -> _Outcome:
    on_cluster = given["workers"] is not None or given["scheduler"] is not None
    if on_cluster and isinstance(data.A, np.ndarray) and not isinstance(data.A, np.memmap):
        raise ValueError(
            f"A is stored in {(given['sensing'] or [given['data']])[0]}, which the workers cannot "
            "read in parts; save A as an .npy file and pass it with --sensing"
        )
    with meter(given["solver"], given["quiet"]) as show:
        if on_cluster:
            show(0.0, "connecting to the workers")
        with _client(given) as client:
            outcome = _recover(data, start, client, show, given)
            if out is not None:  # before the cluster is closed, which takes time and may fail
                outcome = _written(outcome, out, start, data, given)
            if client is None or outcome.loss:
                return outcome
            return replace(outcome, workers=cluster.memory_report(client))


def _written(
    outcome: _Outcome, out: Path, start: Result | None, data: MeasuredData, given: dict[str, Any]
) -> _Outcome:
    """The outcome after it was written, unless it is worse than what it would replace."""
    recovery = outcome.recovery
    if start is not None and resolved(given["resume"]) == resolved(out):
        advantage = _advantage(start, recovery)
        if advantage:
            return replace(outcome, kept=f"{out} is unchanged: the result in it {advantage}")
    with without_interruption():
        return replace(outcome, written=tuple(write_recovery(out, recovery, data)))


def _advantage(known: Result, found: Result) -> str:
    """In what respect a known result is better than one that was found; empty if it is not."""
    if found.certified:
        return ""
    if known.certified:
        return "is certified, and this one is not"
    worse = found.certificate.misfit > known.certificate.misfit
    return "has a smaller misfit" if worse else ""


def _check_shape(data: MeasuredData, given: dict[str, Any]) -> None:
    """Raise in terms of the command if A does not have a column for each entry of the matrix."""
    size: tuple[int, ...] = getattr(data.A, "shape", ())
    if isinstance(data.A, Operator) or len(size) != 2:
        return
    if given["shape"] is None:
        raise ValueError(
            f"A has {size[1]} columns; pass the shape of the matrix with --shape, such as --shape "
            f"{size[1]}x1"
        )
    n1, n2 = given["shape"]
    if n1 * n2 != size[1]:
        raise ValueError(
            f"A has {size[1]} columns, but --shape {n1}x{n2} needs {n1 * n2}; columns of a table "
            "that are not part of A can be left out with --ignore"
        )


def _recover(
    data: MeasuredData, start: Result | None, client: Any, show: Meter, given: dict[str, Any]
) -> _Outcome:
    show(0.0, "reading the data")
    try:
        found = api.recover(
            data.A,
            data.y,
            given["rank"],
            shape=given["shape"],
            solver=_limited(SOLVERS[given["solver"]](), given),
            callback=solver_callback(show),
            time_limit=given["time_limit"],
            device=given["device"],
            rng=given["seed"],
            symmetric=given["symmetric"],
            psd=given["psd"],
            memory_limit=given["memory_limit"],
            client=client,
            start=start,
            groups=data.groups,
        )
    except Interrupted as interruption:
        found = interruption.result
    except SensingDataLost as lost:
        return _Outcome(lost.result, loss=str(lost))
    return _Outcome(found)


@contextlib.contextmanager
def _client(given: dict[str, Any]) -> Iterator[Any]:
    """The client of the cluster to compute on, or None."""
    if given["workers"] is not None:
        limit = given["memory_limit"]
        each = None if limit is None else memory_bytes(limit) // given["workers"]
        with cluster.local_cluster(given["workers"], each) as client:
            yield client
    elif given["scheduler"] is not None:
        with cluster.connected(given["scheduler"]) as client:
            yield client
    else:
        yield None


def _limited(solver: Any, given: dict[str, Any]) -> Any:
    """The solver, or every solver of a portfolio, with the limits given on the command line."""
    if isinstance(solver, Portfolio):
        return replace(solver, solvers=tuple(_limited(one, given) for one in solver.solvers))
    limits = {name: given[name] for name in ("max_iterations", "tolerance")}
    return replace(solver, **{name: limit for name, limit in limits.items() if limit is not None})


def _print_summary(outcome: _Outcome, data: MeasuredData, written: list[Path]) -> None:
    recovery = outcome.recovery
    click.echo(repr(recovery))
    if outcome.workers:
        click.echo(f"  cluster          {outcome.workers}")
    if data.truth is not None:
        evaluation = evaluate(recovery, data.truth)
        score = evaluation.outliers
        click.echo(
            f"  ground truth     error {evaluation.error:.2e}; outliers: {score.found:,} found, "
            f"{score.missed:,} missed, {score.false_positives:,} false positives"
        )
    if recovery.groups is not None:
        click.echo("\n" + textwrap.indent(str(recovery.groups), "  ") + "\n")
    for path in written:
        click.echo(f"  wrote            {path}")
    if outcome.kept:
        click.echo(f"  kept             {outcome.kept}")
