"""``robustrank clean``: fill, correct and explain a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from robustrank import api
from robustrank.api import Interrupted
from robustrank.cli import options
from robustrank.cli.clean_tables import (
    GivenTable,
    check_frame_names,
    read_given,
    write_cells,
    write_cleaned,
    write_rows,
)
from robustrank.cli.complete import print_summary
from robustrank.cli.data import OUTPUT_SUFFIXES, PAGE_SUFFIXES, check_files
from robustrank.cli.progress import meter, stage_callback
from robustrank.cli.table_files import require_frame_libraries
from robustrank.cli.writing import without_interruption
from robustrank.report import require_report_libraries, write_report
from robustrank.result import Result, Status

_SUFFIXES = (*OUTPUT_SUFFIXES, ".parquet")


@click.command()
@click.argument("data", type=options.FILE)
@click.option(
    "--index",
    metavar="COLUMN",
    help="The column that names the rows, by name or by number from 1. By default the first one, "
    "if it is text or has no name, and its names differ; otherwise rows are called by their line.",
)
@click.option(
    "--ignore",
    metavar="COLUMN",
    multiple=True,
    help="A column of numbers that stays as it is, such as a number that is only a name. May be "
    "given several times. Columns of text stay as they are anyway.",
)
@click.option(
    "--long",
    nargs=3,
    metavar="ROW COLUMN VALUE",
    help="DATA has one cell in each line: the columns that name its row and its column, and the "
    "one that has its value.",
)
@click.option(
    "--no-center",
    is_flag=True,
    help="Zero means zero in all cells, as for intensities and counts: rows may have any positive "
    "scale, as columns may.",
)
@options.time_limit
@options.seed
@click.option(
    "-o",
    "--out",
    type=options.FILE,
    help="The cleaned table: .csv or .parquet (as DATA, with other numbers only where cells are "
    "missing or wrong), .npy (the numbers, not rounded) or .npz (the whole result, for "
    "robustrank.load).",
)
@click.option(
    "--cells",
    type=options.FILE,
    help="A .csv file with a line for each cell that is missing or wrong: its value, what is "
    "expected, the standard error of that, and the probability that the cell is wrong.",
)
@click.option(
    "--rows",
    type=options.FILE,
    help="A .csv file with a line for each row: whether it is wrong altogether, and how unusual.",
)
@options.report
@options.quiet
def clean(data: Path, report: Path | None, quiet: bool, **given: Any) -> int:
    """Fill and correct the table in DATA, and say which cells and rows are wrong.

    Rows are samples, columns are features, which may have different units. Missing cells are empty,
    NA or NaN. Tables are CSV files (also with semicolons, decimal commas, comments, or compressed
    by gzip), Parquet, Feather or Arrow. The numbers may also be in an .npy file, or in an .npz,
    .mat or HDF5 file, as in file.h5:/X.

    \b
    robustrank clean table.csv --out clean.csv --cells wrong-cells.csv --report page.html
    robustrank clean table.csv --index sample --ignore batch --out clean.csv --rows rows.csv
    robustrank clean table.parquet --out clean.parquet
    robustrank clean long.csv --long sample feature value --out clean.csv

    Ctrl-C stops the run; the result so far is still written.

    Exit status: 0 if left-out cells are predicted better than by the medians of their columns, or
    if the table has a low rank that is certified; 1 if not, or if the run was stopped before that
    was known; 2 for invalid input or another error.
    """  # noqa: D301
    tables = [(given[name], (".csv",)) for name in ("cells", "rows")]
    outputs = [(given["out"], _SUFFIXES), *tables, (report, PAGE_SUFFIXES)]
    check_files(outputs, inputs=[data])
    frame_file = given["out"] if given["out"] and given["out"].suffix == ".parquet" else None
    if frame_file is not None:
        require_frame_libraries(frame_file)
    if report is not None:
        require_report_libraries()
    try:
        with meter("clean", quiet) as show:
            show(0.0, "reading the table")
            table = read_given(data, given["index"], given["ignore"], given["long"])
            if frame_file is not None:
                check_frame_names(frame_file, table)
            result = api.clean(
                table.values,
                center=not given["no_center"],
                callback=stage_callback(show),
                time_limit=given["time_limit"],
                rng=given["seed"],
            )
    except Interrupted as interruption:
        result = interruption.result
    result = table.named(result)
    with without_interruption():
        written = _written(result, table, given)
    if report is not None:
        write_report(report, result)
        written.append(report)
    if not quiet:
        print_summary(result, written)
    return 0 if result.certified or result.status is Status.PREDICTIVE else 1


def _written(result: Result, table: GivenTable, given: dict[str, Any]) -> list[Path]:
    """The files after they were written."""
    writers = {"out": write_cleaned, "cells": write_cells, "rows": write_rows}
    chosen = [(given[name], write) for name, write in writers.items() if given[name] is not None]
    for path, write in chosen:
        write(path, result, table)
    return [path for path, _ in chosen]
