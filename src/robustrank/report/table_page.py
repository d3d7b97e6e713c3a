"""The page about a cleaned table: its numbers, tables and figures, put into ``table.html``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from robustrank.report.arrays import Values
from robustrank.report.cell_map import NamedTable, cell_map, components
from robustrank.report.formatting import number, ratio, share
from robustrank.report.rendering import render, versions
from robustrank.report.table_charts import column_errors, rows
from robustrank.report.tables import TextTable, Tile
from robustrank.report.verdict import meter, sentences, verdict
from robustrank.result import Result, capitalized, cell_columns, column_columns, counted, title_of

_LISTED_CELLS, _LISTED_ROWS, _LISTED_COLUMNS, _NAMED = 12, 8, 15, 6


def assemble(
    result: Result,
    title: str | None,
    row_labels: Sequence[Any] | None,
    column_labels: Sequence[Any] | None,
) -> str:
    """The whole page as one string; a section is left out if there is nothing to show."""
    named = NamedTable.of(result, row_labels, column_labels)
    missing = int(np.count_nonzero(named.missing))
    origin = f"from {result.certificate.measurements:,} cells; {missing:,} are missing"
    own_title = title_of(result)
    errors = None if result.certified else column_errors(named)
    found = [cell_map(named).picture(), wrong_cells(named, result)]
    found += [rows(named).picture(), wrong_rows(named)]
    return render(
        "table.html",
        title=title or own_title,
        subtitle=f"{own_title}, {origin}" if title else capitalized(origin),
        verdict=verdict(result),
        sentences=sentences(result),
        meter=meter(result.certificate),
        tiles=content_tiles(named),
        found=[part for part in found if part is not None],
        accuracy_tiles=accuracy_tiles(named, result),
        accuracy=[] if errors is None else [errors.picture(), error_list(named, result)],
        components=components(named).picture(),
        steps=next_steps(named, result),
        footer=[versions()],
    )


def content_tiles(named: NamedTable) -> list[Tile]:
    """The size of the table, and how much of it is missing or wrong."""
    table, (n, p) = named.table, named.table.given.shape
    missing, wrong = int(named.missing.sum()), int((table.wrong & ~named.missing).sum())
    rejected = int(table.wrong_rows.sum())
    return [
        Tile("Table", f"{n:,} × {p:,}", "rows × columns"),
        Tile("Missing cells", f"{missing:,}", f"{share(missing, n * p)} of {n * p:,}"),
        Tile("Wrong cells", f"{wrong:,}", f"{share(wrong, n * p - missing)} of those with a value"),
        Tile("Wrong rows", f"{rejected:,}", f"{share(rejected, n)} of {n:,}, as a whole"),
    ]


def accuracy_tiles(named: NamedTable, result: Result) -> list[Tile]:
    """How accurate a certified matrix is, or how well left-out cells are predicted."""
    held_out, certificate = named.table.held_out, result.certificate
    if result.certified:
        error = "0" if result.noise == 0 else ratio(result.error)
        note = "the fit is exact" if result.noise == 0 else "expected, of the norm of the matrix"
        fits = certificate.exact_fits if result.noise == 0 else certificate.inliers
        exactly = "fitted exactly" if result.noise == 0 else "fitted up to noise"
        whole = share(fits, certificate.independent)
        return [Tile("Error", error, note), Tile("Cells", f"{fits:,}", f"{exactly}, {whole}")]
    if not math.isfinite(held_out.skill_of_all):
        return []
    return [
        Tile("Left-out cells", f"{int(held_out.counts.sum()):,}", "hidden from the fit"),
        Tile(
            "Skill",
            _signed(held_out.skill_of_all),
            "of the squared error of the medians is removed; at least "
            f"{_signed(held_out.least_skill)}",
        ),
        Tile("Within intervals", f"{held_out.inside:.0%}", "expected: 90%"),
    ]


def wrong_cells(named: NamedTable, result: Result) -> TextTable | None:
    """The cells that differ most from what is expected, in rows that are not wrong first."""
    table, cells = named.table, cell_columns(result, named.table)
    places = np.argwhere(table.replaced & np.isfinite(table.expected))
    wrong = np.flatnonzero(~np.isnan(cells["value"]))
    if not len(wrong):
        return None
    own, other = places[wrong].T
    sizes, scale = table.sizes
    spread = np.abs(cells["value"] - cells["expected"])[wrong] / sizes[own, 0] / scale[other]
    order = np.lexsort((-spread, -np.abs(named.surprise[own, other]), table.wrong_rows[own]))
    listed = wrong[order[:_LISTED_CELLS]]
    own, other = places[listed].T
    expected = zip(cells["expected"][listed], cells["standard_error"][listed], strict=True)
    note = (
        f"{_of(len(listed), len(wrong), 'wrong cell')}, by how many standard errors"
        if result.noise != 0
        else f"{_of(len(listed), len(wrong), 'wrong cell')}, by how far"
    )
    note += (
        " they are from what the other cells of their row predict; those of wrong rows come last. "
        "`result.cells` has all."
    )
    columns = {
        "Row": [named.rows.name(i) for i in own],
        "Column": [named.columns.name(j) for j in other],
        "Value": [number(value) for value in cells["value"][listed]],
        "Expected": [number(one) + (f" ± {number(se)}" if se else "") for one, se in expected],
        "Probability": [_percent(value) for value in cells["probability"][listed]],
    }
    return TextTable.of(columns, note, "Wrong cells")


def wrong_rows(named: NamedTable) -> TextTable | None:
    """The rows that are wrong altogether, by their distance from the components."""
    table, scores = named.table, named.table.scores()
    wrong = np.flatnonzero(table.wrong_rows)
    if not len(wrong):
        return None
    listed = wrong[np.argsort(-scores.residual[wrong], kind="stable")[:_LISTED_ROWS]]
    seen = ~named.missing[listed]
    counts = (table.wrong[listed] & seen).sum(axis=1)
    note = (
        f"{_of(len(listed), len(wrong), 'wrong row')}, by their distance from the components. "
        "Relative to 99% of normal rows. Cells that are not wrong by themselves are not replaced. "
        "`result.rows` has all rows."
    )
    columns = {
        "Row": [named.rows.name(i) for i in listed],
        "Wrong cells": [f"{k} of {of}" for k, of in zip(counts, seen.sum(axis=1), strict=True)],
        "Along": [number(value) for value in scores.distance[listed]],
        "From": [number(value) for value in scores.residual[listed]],
    }
    return TextTable.of(columns, note, "Wrong rows")


def error_list(named: NamedTable, result: Result) -> TextTable:
    """The errors of the columns that are predicted worst, in their units."""
    columns = column_columns(result, named.table)
    with np.errstate(invalid="ignore"):  # both are zero in a constant column
        ratios = np.nan_to_num(columns["error"] / columns["error_of_median"], nan=-1.0)
    known = np.flatnonzero(np.isfinite(columns["error"]))
    listed = known[np.argsort(-ratios[known], kind="stable")[:_LISTED_COLUMNS]]
    note = (
        f"{_of(len(listed), len(known), 'column')}, in their own units: the root mean square error "
        "of filled cells, what it would be with the median of the column, and the share of the "
        "squared error that is removed. `result.columns` has all."
    )
    chosen = {
        "Column": [named.columns.name(j) for j in listed],
        "Error": [number(value) for value in columns["error"][listed]],
        "Of the median": [number(value) for value in columns["error_of_median"][listed]],
        "Removed": [_signed(value) for value in columns["skill"][listed]],
    }
    return TextTable.of(chosen, note, "Errors by column")


def next_steps(named: NamedTable, result: Result) -> list[str]:
    """What to do next, as far as there is a reason for it."""
    table, steps = named.table, [result.advice]
    if table.wrong_rows.any():
        steps.append(
            f"Look at the rows that are wrong as a whole: {_names(named.rows, table.wrong_rows)}. "
            "Only those of their cells that are wrong by themselves were replaced; leave these "
            "rows out of an analysis unless you can explain them."
        )
    if (table.wrong & ~table.wrong_rows[:, None]).any():
        steps.append(
            "Look for what the wrong cells have in common, such as a column, a unit, a decimal "
            "point or a time."
        )
    for columns, advice in (
        (table.wrong_columns, "Check the unit of columns of which most cells are wrong: {}."),
        (
            table.held_out.not_predicted,
            "Do not rely on filled cells of columns that are not predicted by the others: {}.",
        ),
        (table.empty_columns, "Columns without any value stay empty: {}."),
    ):
        if columns.any():
            steps.append(advice.format(_names(named.columns, columns)))
    if named.missing.any() and not result.certified:
        steps.append(
            "For standard errors that include what is not known about the filled cells, repeat "
            "your analysis with each table of `result.draw()`."
        )
    return steps


def _names(axis: Any, flags: Values) -> str:
    numbers = np.flatnonzero(flags)
    names = ", ".join(axis.name(k) for k in numbers[:_NAMED])
    return names + (f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else "")


def _of(listed: int, total: int, noun: str) -> str:
    return (
        f"The {counted(total, noun)}" if listed == total else f"{listed} of {counted(total, noun)}"
    )


def _signed(part: float) -> str:
    return f"{part:.0%}".replace("-", "−")


def _percent(probability: float) -> str:
    return ">99%" if probability > 0.99 else f"{probability:.0%}"
