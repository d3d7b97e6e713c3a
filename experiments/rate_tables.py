"""Success rates of all settings and methods, and certified results, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.definition import Cell, Study
from experiments.rows import Row, Table
from experiments.statistics import success_rate
from experiments.studies.entries import EntriesCell


def has_success_rates(study: Study[Any]) -> bool:
    """Whether success is defined for some settings: with noise, no recovery is exact."""
    return any(isinstance(cell, Cell | EntriesCell) and not cell.noise for cell in study.cells)


def rate_table(study: Study[Any], table: Table) -> tuple[list[str], list[list[str]]]:
    """Column names, and for each setting its success rates with 95 % Wilson intervals."""
    names = [method.name for method in study.methods]
    rows = []
    for cell in study.cells:
        rates = (success_rate(table.of(cell.key, name)) for name in names)
        rows.append([cell.label or cell.key, *(str(r) if r.trials else "–" for r in rates)])
    return ["setting", *names], rows


def markdown(study: Study[Any], table: Table) -> Iterator[str]:
    """A Markdown table: setting, target, success rate, median iterations and error."""
    yield " | ".join(["| setting", "target", *(method.name for method in study.methods)]) + " |"
    yield "| --- " * (2 + len(study.methods)) + "|"
    for cell in study.cells:
        target = "–" if cell.target is None else f"{cell.target:.0%}"
        cells = [_summary(table.of(cell.key, method.name)) for method in study.methods]
        yield " | ".join([f"| {cell.label or cell.key}", target, *cells]) + " |"


def families_markdown(study: Study[Any], table: Table) -> Iterator[str]:
    """A Markdown table of the certificate study: families of sensing data, claims and errors.

    The error of an estimated result is relative to that of an oracle, where that is above 1e-6.
    """
    yield (
        "| sensing data | recovered (wrong) | estimated (wrong) | ambiguous "
        "| certified, of solvable | error of estimated / oracle's: median, largest |"
    )
    yield "| --- " * 6 + "|"
    for cell in study.cells:
        rows = table.of(cell.key, study.methods[0].name)
        counts = [_claims(rows, status) for status in ("RECOVERED", "ESTIMATED")]
        ambiguous = str(sum(row["status"] == "AMBIGUOUS" for row in rows))
        solvable = [row for row in rows if row["solvable"]]
        certified = sum(row["status"] in ("RECOVERED", "ESTIMATED") for row in solvable)
        ratios = [
            row["error"] / row["oracle"]
            for row in solvable
            if row["status"] == "ESTIMATED" and row["oracle"] > 1e-6
        ]
        errors = f"{_lower_median(ratios):.2f}, {max(ratios):.1f}" if ratios else "–"
        share = f"{certified} of {len(solvable)}"
        yield " | ".join([f"| {cell.family}", *counts, ambiguous, share, errors]) + " |"


def _claims(rows: list[Row], status: str) -> str:
    """How many results have a status, and how many of them are wrong."""
    claimed = [row for row in rows if row["status"] == status]
    return f"{len(claimed)} ({sum(row['wrong'] for row in claimed)})"


def _summary(rows: list[Row]) -> str:
    if not rows:
        return "–"
    rate = success_rate(rows)
    text = str(rate)
    if "iterations" in rows[0]:
        text += f", {_lower_median([row['iterations'] for row in rows])} steps"
    if rate.successes:
        return text
    return f"{text}, error {_lower_median([row['error'] for row in rows]):.1e}"


def _lower_median(values: list[Any]) -> Any:
    return sorted(values)[(len(values) - 1) // 2]
