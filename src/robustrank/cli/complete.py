"""``robustrank complete``: complete a matrix of which some entries are known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from robustrank import api
from robustrank.api import Interrupted
from robustrank.cli import options
from robustrank.cli.data import check_outputs
from robustrank.cli.progress import meter, stage_callback
from robustrank.cli.tables import read_table, write_completion
from robustrank.cli.writing import without_interruption
from robustrank.report import require_report_libraries, write_report
from robustrank.result import Result


@click.command()
@click.argument("data", type=options.FILE)
@click.option(
    "--rows",
    help="The column of a table that names the row of each entry, by name or by number from 1.",
)
@click.option("--columns", help="The column that names the column of each entry.")
@click.option("--values", help="The column that has the value of each entry.")
@click.option(
    "--rank", type=int, help="An upper bound on the rank. Optional: by default it is estimated."
)
@options.time_limit
@options.seed
@click.option(
    "-o",
    "--out",
    type=options.FILE,
    help="Output file: .npz (the whole result, for robustrank.load), .npy or .csv (matrix; the "
    "outliers are written beside it, to NAME.outliers.npy or NAME.outliers.csv).",
)
@options.report
@options.quiet
def complete(data: Path, out: Path | None, report: Path | None, quiet: bool, **given: Any) -> int:
    """Complete a low-rank matrix from the entries in DATA, some of which are outliers.

    DATA is a table with one entry in each line, whose columns are chosen by --rows, --columns and
    --values; or a matrix in which missing entries are empty or NaN. Tables are CSV files (also with
    semicolons, decimal commas, comments, or compressed by gzip), Parquet, Feather or Arrow. A
    matrix may also be in an .npy file, or in an .npz, .mat or HDF5 file, as in file.h5:/X.

    \b
    robustrank complete ratings.csv --rows user --columns item --values rating --out completed.csv
    robustrank complete stations.csv --rank 3 --out completed.csv --report report.html

    Ctrl-C stops the run; the result so far is still written.
    """  # noqa: D301
    check_outputs(out, report, inputs=[data])
    if report is not None:
        require_report_libraries()
    table = read_table(data, given["rows"], given["columns"], given["values"])
    try:
        with meter("complete", quiet) as show:
            result = api.complete(
                table.data,
                given["rank"],
                shape=table.shape,
                callback=stage_callback(show),
                time_limit=given["time_limit"],
                rng=given["seed"],
            )
    except Interrupted as interruption:
        result = interruption.result
    result = table.arranged(result)
    with without_interruption():
        written = [] if out is None else write_completion(out, result, table)
    if report is not None:
        write_report(report, result)
        written.append(report)
    if not quiet:
        print_summary(result, written)
    return 0 if result.certified else 1


def print_summary(result: Result, written: Iterable[Path]) -> None:
    """Print a result of entries or of a table, and the files that were written."""
    click.echo(repr(result))
    if len(result.undecided_rows) and result.row_labels is not None:
        named = ", ".join(result.undecided_rows[:5])
        more = ", …" if len(result.undecided_rows) > 5 else ""
        click.echo(f"  undecided rows   {named}{more}")
    for path in written:
        click.echo(f"  wrote            {path}")
