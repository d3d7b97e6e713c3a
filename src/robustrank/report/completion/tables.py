"""The numbers on the page: tiles, the largest outliers, the undecided rows and columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.report.completion.arrays import Axis, CompletionArrays
from robustrank.report.completion.counts import entries_per
from robustrank.report.formatting import number, ratio, share
from robustrank.report.tables import TextTable, Tile
from robustrank.result import Certificate, Result

Values = np.ndarray[Any, Any]

_OUTLIERS = 8
_NAMES = 20


def matrix_tiles(completion: Result, arrays: CompletionArrays) -> list[Tile]:
    """What was observed and what was found."""
    (rows, columns), entries = arrays.shape, len(arrays.residuals)
    rejected = int(np.count_nonzero(arrays.rejected))
    whole = f"{share(entries, rows * columns)} of {rows * columns:,}"
    return [
        Tile("Matrix", f"{rows:,} × {columns:,}", "rows × columns"),
        Tile("Rank", f"{completion.rank:,}", "of the completed matrix"),
        Tile("Observed entries", f"{entries:,}", whole),
        Tile("Outliers", f"{rejected:,}", f"{share(rejected, entries)} of the observed entries"),
        _noise_tile(completion),
        _undecided_tile("rows", arrays.rows, completion),
        _undecided_tile("columns", arrays.columns, completion),
        Tile("Seconds", number(completion.seconds), "wall-clock time"),
    ]


def noise_level(completion: Result) -> float | None:
    """The estimated noise level; None if the run ended before it was estimated."""
    if completion.stopped is not None or not math.isfinite(completion.noise):
        return None
    return completion.noise


def _noise_tile(completion: Result) -> Tile:
    noise = noise_level(completion)
    if noise is None:
        return Tile("Noise level σ", "unknown", "the run ended before it was estimated")
    if noise == 0:
        return Tile("Noise level σ", "0", "the inliers are fitted exactly")
    relative = ratio(noise / completion.typical_size)
    return Tile("Noise level σ", number(noise), f"{relative} of a typical entry")


def _undecided_tile(name: str, axis: Axis, completion: Result) -> Tile:
    if completion.stopped is not None:
        return Tile(f"Undecided {name}", "all", "the run ended before they were tested")
    count = int(np.count_nonzero(axis.undecided))
    note = f"{share(count, axis.size)} of {axis.size:,}" if count else f"of {axis.size:,}"
    return Tile(f"Undecided {name}", f"{count:,}", note)


def prediction_tiles(certificate: Certificate) -> list[Tile]:
    """The errors of predictions of entries that were left out; none without noise."""
    if math.isnan(certificate.held_out_error):
        return []
    trivial = certificate.trivial_error
    error, expected = trivial * certificate.held_out_error, trivial * certificate.expected_error
    bound = certificate.matrix_error
    return [
        Tile("Held-out error", number(error), "standard deviation of the predictions' errors"),
        Tile("Expected error", number(expected), "from noise and uncertainty"),
        Tile("Error of a constant", number(trivial), "if the same value were predicted for all"),
        Tile(
            "Bound on the matrix error",
            "over 100%" if bound > 1 else ratio(bound),
            "of how much the entries vary",
        ),
    ]


@dataclass(frozen=True)
class OutlierList:
    """The largest outliers, and a sentence about the others."""

    table: TextTable
    note: str


def largest_outliers(arrays: CompletionArrays) -> OutlierList | None:
    """The outliers that differ most from the completed matrix where it is decided, if any."""
    outliers = np.flatnonzero(arrays.rejected)
    known = outliers[~arrays.in_undecided_part[outliers]]
    elsewhere = len(outliers) - len(known)
    if not len(known):
        return None
    note = (
        "Rejected entries that differ most from the completed matrix. Check what they have in "
        "common. `outliers` marks all rejected entries."
    )
    if elsewhere:
        are = "is" if elsewhere == 1 else "are"
        note += f" {elsewhere:,} {are} in undecided rows or columns and not listed."
    sizes = np.nan_to_num(np.abs(arrays.residuals[known]), nan=np.inf)
    listed = known[np.argsort(-sizes, kind="stable")[:_OUTLIERS]]
    rows, columns = arrays.entry_rows[listed], arrays.entry_columns[listed]
    predicted = arrays.predicted(rows, columns)
    observed = predicted + arrays.residuals[listed]
    lines = [
        [arrays.rows.name(i), arrays.columns.name(j), number(value), number(prediction)]
        for i, j, value, prediction in zip(rows, columns, observed, predicted, strict=True)
    ]
    return OutlierList(TextTable(["Row", "Column", "Observed", "Predicted"], lines), note)


@dataclass(frozen=True)
class UndecidedList:
    """Some undecided rows or columns, each with the reason in numbers, and how many are left."""

    heading: str
    items: list[tuple[str, str]]  # name, and the number of inliers: "1 of 3"
    more: int


def undecided_lists(completion: Result, arrays: CompletionArrays) -> list[UndecidedList]:
    """The names of the undecided rows and columns; none if that is all of them."""
    if completion.stopped is not None or arrays.nothing_decided:
        return []
    sides = (
        ("rows", arrays.rows, arrays.entry_rows),
        ("columns", arrays.columns, arrays.entry_columns),
    )
    return [_undecided(*side, ~arrays.rejected) for side in sides if side[1].undecided.any()]


def _undecided(name: str, axis: Axis, places: Values, inliers: Values) -> UndecidedList:
    undecided = np.flatnonzero(axis.undecided)
    total, fitted = entries_per(axis, places), entries_per(axis, places, inliers)
    items = [
        (axis.name(i), f"{fitted[i]:,} of {total[i]:,}" if total[i] else "no entries")
        for i in undecided[:_NAMES]
    ]
    return UndecidedList(f"Undecided {name}", items, len(undecided) - len(items))
