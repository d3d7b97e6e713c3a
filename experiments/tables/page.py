"""A Markdown page of the comparison: verdicts, then every method and every table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from experiments.definition import Study
from experiments.rows import Table
from experiments.tables.bars import Results, judged, oracle_ratios_of
from experiments.tables.methods import OURS
from experiments.tables.studies import FAMILIES
from experiments.tables.summary import Comparison, compared, geometric_mean

_TITLES = {
    "none": "Nothing wrong",
    "far cells": "Wrong cells, far away (3, 5, 10 %: ± 5–20 σ, × 10)",
    "cells in range": "Wrong cells within range (3, 5, 10 %: drawn, exchanged, flipped)",
    "rows": "Wrong rows (5, 10, 20 %: a cluster, scattered, copies)",
}
_AGAINST_ORACLES = {
    "covariance": "Planted covariances: divergence / that of the oracle",
    "low-rank": "Rank 3 with wrong rows and cells: error / that of the oracle, if there is noise",
    "small": "Two small problems: error / that of the oracle",
}


def page(results: Results, which: str, method: str = OURS) -> list[str]:
    """The lines of the page for a set of tables."""
    lines = [f"# Tables: {which}", "", *_verdicts(results, method)]
    for family in FAMILIES:
        found = compared(*results["tables"], family)
        if found is not None and found.peers:
            lines += ["", f"## {_TITLES[family]}", "", *_methods(found), "", *_tables(found)]
    for part, title in _AGAINST_ORACLES.items():
        if part in results and results[part][1].rows:
            lines += ["", f"## {title}", "", *_against_oracle(*results[part], part)]
    if "timing" in results and results["timing"][1].rows:
        lines += ["", "## Seconds on one thread", "", *_seconds(*results["timing"])]
    return lines


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; all columns but the first are aligned to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def _verdicts(results: Results, method: str) -> list[str]:
    rows = [(j.bar, j.observed or "–", j.verdict.value) for j in judged(results, method)]
    return table_of((f"{method} should reach", "observed", "verdict"), rows)


def _methods(found: Comparison) -> list[str]:
    """Every method: its mean error, relative to the best peer, and its worst table."""
    best, rows = found.best_peer, []
    for name in sorted(found.errors, key=found.mean):
        ratios = found.ratios(name)
        worst = max(ratios, key=lambda table: ratios[table])
        rows.append(
            (
                f"**{name}**" if name in (OURS, best) else name,
                _number(found.mean(name)),
                _number(found.ratio(name)),
                f"{_number(ratios[worst])} ({worst})",
                str(found.failures[name]),
            )
        )
    head = ("method", "error", f"/ {best}", "worst table", "failures")
    note = f"Geometric means over {len(found.errors[best])} tables of at least {found.draws} draws."
    return [note, "", *table_of(head, rows)]


def _tables(found: Comparison) -> list[str]:
    """The error of every method on every table."""
    names = sorted(found.errors, key=found.mean)
    tables = sorted(found.errors[found.best_peer])
    rows = [[table, *(_number(found.errors[name][table]) for name in names)] for table in tables]
    return table_of(["table", *names], rows)


def _against_oracle(one: Study[Any], table: Table, part: str) -> Iterator[str]:
    """The mean, the largest ratio, and the share of successes of every method."""
    rows = []
    for method in one.methods:
        ratios = oracle_ratios_of(one, table, method.name)
        if ratios:
            worst = max(ratios, key=lambda key: ratios[key])
            found = [row for cell in one.cells for row in table.of(cell.key, method.name)]
            solved = float(np.mean([row.get("success", False) for row in found]))
            mean = _number(geometric_mean([*ratios.values()]))
            share = "–" if part == "covariance" else f"{solved:.0%}"
            rows.append((method.name, mean, f"{_number(ratios[worst])} ({worst})", share))
    yield from table_of(("method", "mean", "worst setting", "solved"), rows)


def _seconds(one: Study[Any], table: Table) -> Iterator[str]:
    """The median seconds of every method for every size."""
    rows = []
    for method in one.methods:
        times = [
            [table.seconds[cell.key, row["trial"], method.name] for row in found]
            for cell in one.cells
            if (found := table.of(cell.key, method.name))
        ]
        if times:
            rows.append((method.name, *(f"{np.median(taken):.2f}" for taken in times)))
    yield from table_of(("method", *(cell.key for cell in one.cells)), rows)


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) and value < 100 else f"{value:.3g}"
