"""The numbers on the page: tiles, the comparison of results, outliers, undecided rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robustrank.metrics import Truth, score_outliers
from robustrank.report.arrays import Arrays, Axis, Values
from robustrank.report.counts import entries_per
from robustrank.report.formatting import number, ratio, share, solver_labels
from robustrank.report.verdict import verdict
from robustrank.result import GroupTable, Result, counted_measurements

_OUTLIERS = 8
_NAMES = 20


@dataclass(frozen=True)
class Tile:
    """One number with its name and a short explanation."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class TextTable:
    """Rows of text under column names, and a note below them."""

    heads: list[str]
    rows: list[list[str]]
    note: str = ""
    title: str = ""

    @classmethod
    def of(cls, columns: dict[str, list[str]], note: str = "", title: str = "") -> TextTable:
        """The table with these columns."""
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        return cls([*columns], rows, note, title)


def result_tiles(arrays: Arrays) -> list[Tile]:
    """What was measured, what was found, and how well it fits."""
    certificate, noun, total = arrays.result.certificate, arrays.noun, len(arrays.residuals)
    (rows, columns), rejected = arrays.shape, int(np.count_nonzero(arrays.rejected))
    measured = Tile("Measurements", f"{total:,}", f"{certificate.independent:,} independent")
    if arrays.places is not None:
        observed = f"{share(total, rows * columns)} of {rows * columns:,}"
        measured = Tile("Observed entries", f"{total:,}", observed)
    fitted = ("Inliers", certificate.inliers)
    if certificate.fits_exactly or not math.isfinite(certificate.sigma):
        fitted = ("Exact fits", certificate.exact_fits)
    counted = counted_measurements(certificate, noun)
    return [
        Tile("Matrix", f"{rows:,} × {columns:,}", "rows × columns"),
        Tile("Rank", f"{arrays.result.rank:,}", "of the recovered matrix"),
        measured,
        Tile(
            fitted[0], f"{fitted[1]:,}", f"{share(fitted[1], certificate.independent)} of {counted}"
        ),
        Tile("Rejected", f"{rejected:,}", f"{share(rejected, total)} of {total:,} {noun}"),
        _noise_tile(arrays.result, noun),
        *_undecided_or_misfit(arrays),
    ]


def _noise_tile(result: Result, noun: str) -> Tile:
    name, one = "Noise level σ", "entry" if noun == "entries" else "measurement"
    if not math.isfinite(result.noise):
        return Tile(name, "unknown", "too few inliers to estimate it")
    if result.noise == 0:
        return Tile(name, "0", "the inliers are fitted exactly")
    relative = ratio(result.certificate.noise)
    return Tile(
        name, number(result.noise), f"in the units of the data; {relative} of a typical {one}"
    )


def _undecided_or_misfit(arrays: Arrays) -> list[Tile]:
    if arrays.places is None:
        certificate = arrays.result.certificate
        return [
            Tile("Misfit", number(certificate.misfit), "median |residual| / median |y|"),
            Tile("Degrees of freedom", f"{certificate.degrees_of_freedom:,}", "at this rank"),
        ]
    return [
        _undecided_tile("rows", arrays.rows),
        _undecided_tile("columns", arrays.columns),
    ]


def _undecided_tile(name: str, axis: Axis) -> Tile:
    count = int(np.count_nonzero(axis.undecided))
    note = f"{share(count, axis.size)} of {axis.size:,}" if count else f"of {axis.size:,}"
    return Tile(f"Undecided {name}", f"{count:,}", note)


def cost_tiles(result: Result) -> list[Tile]:
    """The work that the solver did."""
    tiles = [
        Tile("Iterations", f"{result.iterations:,}", "of the solver"),
        Tile("Passes", number(result.passes), "over the sensing data"),
        Tile("Seconds", number(result.seconds), "wall-clock time"),
    ]
    return tiles if result.passes else [tiles[0], tiles[2]]


def accuracy_tiles(arrays: Arrays, truth: Truth) -> list[Tile]:
    """The distance from the ground truth."""
    score = score_outliers(arrays.rejected, arrays.corrupted(truth))
    undecided = arrays.rows.undecided.any() or arrays.columns.undecided.any()
    part = " in the decided part" if undecided else ""
    return [
        Tile("Relative error", number(arrays.error(truth)), f"‖recovered − true‖ / ‖true‖{part}"),
        Tile("Outliers found", f"{score.found:,}", f"of {score.found + score.missed:,}"),
        Tile("Outliers missed", f"{score.missed:,}", "corrupted, but not rejected"),
        Tile("False positives", f"{score.false_positives:,}", "clean, but rejected"),
    ]


def prediction_tiles(result: Result) -> list[Tile]:
    """The errors of predictions of measurements that were left out, as far as they are known."""
    certificate = result.certificate
    trivial, bound = certificate.trivial_error, certificate.error_bound
    held_out, expected = (
        number(trivial * error)
        for error in (certificate.held_out_error, certificate.expected_error)
    )
    tiles = [
        Tile("Held-out error", held_out, "standard deviation of the predictions' errors"),
        Tile("Expected error", expected, "from noise and uncertainty"),
        Tile("Trivial error", number(trivial), "of predictions that do not use the matrix"),
        Tile(
            "Error of the matrix",
            ratio(certificate.matrix_error),
            f"expected, of its norm; at most {ratio(bound)}",
        ),
    ]
    known = not math.isnan(certificate.held_out_error)
    return [tile for tile in tiles if known and tile.value != number(math.nan)]


def comparison(all_arrays: Sequence[Arrays], truth: Truth | None) -> TextTable:
    """Several results of one problem, the one that the page is about first."""
    results = [arrays.result for arrays in all_arrays]
    shown = [verdict(result) for result in results]
    columns = {
        "Solver": solver_labels(results),
        "Status": [f"{one.sign} {one.heading}" for one in shown],
        "Rank": [f"{result.rank:,}" for result in results],
        "Rejected": [f"{np.count_nonzero(arrays.rejected):,}" for arrays in all_arrays],
    }
    if truth is not None:
        columns["Relative error"] = [number(arrays.error(truth)) for arrays in all_arrays]
    if not all(math.isnan(result.certificate.misfit) for result in results):
        columns["Misfit"] = [number(result.certificate.misfit) for result in results]
    columns["Iterations"] = [f"{result.iterations:,}" for result in results]
    if any(result.passes for result in results):
        columns["Passes"] = [number(result.passes) for result in results]
    columns["Seconds"] = [number(result.seconds) for result in results]
    return TextTable.of(columns)


def largest_outliers(arrays: Arrays, truth: Truth | None) -> TextTable | None:
    """The outliers that differ most from the matrix where it is decided, if any."""
    outliers = np.flatnonzero(arrays.rejected)
    known = outliers[~arrays.in_undecided_part[outliers]]
    elsewhere = len(outliers) - len(known)
    if not len(known):
        return None
    note = (
        f"Rejected {arrays.noun} that differ most from the recovered matrix; numbers start at 0. "
        f"Check what they have in common. `outliers` marks all rejected {arrays.noun}."
    )
    if elsewhere:
        are = "is" if elsewhere == 1 else "are"
        note += f" {elsewhere:,} {are} in undecided rows or columns and not listed."
    sizes = np.nan_to_num(np.abs(arrays.residuals[known]), nan=np.inf)
    listed = known[np.argsort(-sizes, kind="stable")[:_OUTLIERS]]
    columns = _entries(arrays, listed)
    if truth is not None:
        corrupted = arrays.corrupted(truth)[listed]
        columns["Ground truth"] = ["corrupted" if one else "clean" for one in corrupted]
    return TextTable.of(columns, note)


def group_list(groups: GroupTable) -> TextTable:
    """The groups that are wrong or have rejected measurements, the worst ones first."""
    shown = groups.worst()[:_NAMES]
    rest = len(groups.rows) - len(shown)
    note = (
        "Offset and gain of each group, with standard errors: y ≈ offset + gain × prediction; the "
        "prediction does not use the group."
    )
    if rest:
        note += f" {rest:,} other groups are not listed; `result.groups` has all."
    heads = ["Group", "Rejected", "Offset", "Gain", "Noise", "Verdict"]
    return TextTable(heads, [list(row.cells()) for row in shown], note)


def _entries(arrays: Arrays, listed: Values) -> dict[str, list[str]]:
    """Measurements by name: columns of a table."""
    residuals = arrays.residuals[listed]
    if arrays.places is None:
        return {"Index": [f"{k}" for k in listed], "Residual": [number(r) for r in residuals]}
    rows, columns = (place[listed] for place in arrays.places)
    predicted = arrays.predicted(rows, columns)
    return {
        "Row": [arrays.rows.name(i) for i in rows],
        "Column": [arrays.columns.name(j) for j in columns],
        "Observed": [number(value) for value in predicted + residuals],
        "Predicted": [number(value) for value in predicted],
    }


@dataclass(frozen=True)
class UndecidedList:
    """Some undecided rows or columns, each with the reason in numbers, and how many are left."""

    heading: str
    items: list[tuple[str, str]]  # name, and the number of inliers: "1 of 3"
    more: int


def undecided_lists(arrays: Arrays) -> list[UndecidedList]:
    """The names of the undecided rows and columns; none if that is all of them."""
    if arrays.places is None or arrays.nothing_decided:
        return []
    sides = zip(("rows", "columns"), (arrays.rows, arrays.columns), arrays.places, strict=True)
    return [_undecided(*side, ~arrays.rejected) for side in sides if side[1].undecided.any()]


def _undecided(name: str, axis: Axis, places: Values, inliers: Values) -> UndecidedList:
    undecided = np.flatnonzero(axis.undecided)
    total, fitted = entries_per(axis, places), entries_per(axis, places[inliers])
    items = [
        (axis.name(i), f"{fitted[i]:,} of {total[i]:,}" if total[i] else "no entries")
        for i in undecided[:_NAMES]
    ]
    return UndecidedList(f"Undecided {name}", items, len(undecided) - len(items))
