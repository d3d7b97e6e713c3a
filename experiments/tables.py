"""Success rates of all settings and methods, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.definition import Cell, Study
from experiments.rows import Row, Table
from experiments.statistics import success_rate


def has_success_rates(study: Study[Any]) -> bool:
    """Whether success is defined for some settings: with noise, no recovery is exact."""
    return any(isinstance(cell, Cell) and not cell.noise for cell in study.cells)


def rate_table(study: Study[Cell], table: Table) -> tuple[list[str], list[list[str]]]:
    """Column names, and for each setting its success rates with 95 % Wilson intervals."""
    names = [method.name for method in study.methods]
    rows = []
    for cell in study.cells:
        rates = (success_rate(table.of(cell.key, name)) for name in names)
        rows.append([cell.label or cell.key, *(str(r) if r.trials else "–" for r in rates)])
    return ["setting", *names], rows


def markdown(study: Study[Cell], table: Table) -> Iterator[str]:
    """A Markdown table: setting, target, success rate, median iterations and error."""
    yield " | ".join(["| setting", "target", *(method.name for method in study.methods)]) + " |"
    yield "| --- " * (2 + len(study.methods)) + "|"
    for cell in study.cells:
        target = "–" if cell.target is None else f"{cell.target:.0%}"
        cells = [_summary(table.of(cell.key, method.name)) for method in study.methods]
        yield " | ".join([f"| {cell.label or cell.key}", target, *cells]) + " |"


def _summary(rows: list[Row]) -> str:
    if not rows:
        return "–"
    rate = success_rate(rows)
    text = f"{rate}, {_lower_median([row['iterations'] for row in rows])} steps"
    if rate.successes:
        return text
    return f"{text}, error {_lower_median([row['error'] for row in rows]):.1e}"


def _lower_median(values: list[Any]) -> Any:
    return sorted(values)[(len(values) - 1) // 2]
