"""What the method should reach, and whether the rows show that it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from experiments.definition import Study
from experiments.rows import Row, Table
from experiments.tables.methods import OURS
from experiments.tables.studies import FAMILIES
from experiments.tables.summary import compared, error_of, geometric_mean

_ROUNDING = 1e-12  # errors below this are those of an oracle without noise
Results = Mapping[str, tuple[Study[Any], Table]]  # by part


class Verdict(Enum):
    """Whether a bar is reached."""

    REACHED = "reached"
    FALLS_SHORT = "falls short"
    MISSING = "not run yet"


@dataclass(frozen=True)
class Judgment:
    """A bar, what the rows show, and the verdict."""

    bar: str
    observed: str
    verdict: Verdict


Judge = Callable[[Results, str], tuple[str, bool]]


class MissingRowsError(Exception):
    """A bar needs trials that have not been run."""


def judged(results: Results, method: str = OURS) -> list[Judgment]:
    """Every bar with its verdict for a method."""
    return [_judgment(bar, judge, results, method) for bar, judge in BARS.items()]


def _judgment(bar: str, judge: Judge, results: Results, method: str) -> Judgment:
    try:
        observed, reached = judge(results, method)
    except MissingRowsError:
        return Judgment(bar, "", Verdict.MISSING)
    return Judgment(bar, observed, Verdict.REACHED if reached else Verdict.FALLS_SHORT)


def _against_peers(family: str, most: float, worst: float = math.inf) -> Judge:
    def judge(results: Results, method: str) -> tuple[str, bool]:
        one, table = results["tables"]
        tables = [cell for cell in cells_of(results, "tables", method) if cell.family == family]
        found = compared(one, table, family)
        if found is None or not found.peers or found.draws < one.trials:
            raise MissingRowsError
        if len(found.errors[method]) < len(tables):  # a peer was not run on all of them
            raise MissingRowsError
        ratio, ratios = found.ratio(method), found.ratios(method)
        where = max(ratios, key=lambda name: ratios[name])
        observed = f"{ratio:.3f} × {found.best_peer}, worst table {ratios[where]:.2f} ({where})"
        return observed, ratio <= most and ratios[where] <= worst

    return judge


def cells_of(results: Results, part: str, method: str) -> dict[Any, list[Row]]:
    """The rows of a method by setting; MissingRowsError if a trial is missing."""
    one, table = results[part]
    rows = {cell: table.of(cell.key, method) for cell in one.cells}
    if not rows or any(len(found) < one.trials for found in rows.values()):
        raise MissingRowsError
    return rows


def oracle_ratios(results: Results, part: str, method: str) -> dict[str, float]:
    """The geometric mean of error / oracle of each setting; all trials must be there."""
    cells_of(results, part, method)
    return oracle_ratios_of(*results[part], method)


def oracle_ratios_of(one: Study[Any], table: Table, method: str) -> dict[str, float]:
    """The geometric mean of error / oracle of each setting that has rows and noise."""
    return {
        cell.key: geometric_mean([error_of(row) / row["oracle"] for row in rows])
        for cell in one.cells
        if (rows := table.of(cell.key, method)) and all(r["oracle"] > _ROUNDING for r in rows)
    }


def _covariance(results: Results, method: str) -> tuple[str, bool]:
    ratios = oracle_ratios(results, "covariance", method)
    mean = geometric_mean([*ratios.values()])
    where = max(ratios, key=lambda key: ratios[key])
    return f"{mean:.2f}, worst setting {ratios[where]:.2f} ({where})", mean <= 1.25


def _small(results: Results, method: str) -> tuple[str, bool]:
    ratios = oracle_ratios(results, "small", method)
    observed = "; ".join(f"{ratio:.3f} ({key})" for key, ratio in ratios.items())
    return observed, all(ratio <= 1.15 for ratio in ratios.values())


def _low_rank(results: Results, method: str) -> tuple[str, bool]:
    rows = [row for rows in cells_of(results, "low-rank", method).values() for row in rows]
    solved = float(np.mean([row.get("success", False) for row in rows]))
    wrong = sum(row.get("claimed", False) and not row.get("success", False) for row in rows)
    return f"{solved:.1%} solved, {wrong} wrong claims in {len(rows)}", solved >= 0.95 and not wrong


def _flags(results: Results, method: str) -> tuple[str, bool]:
    tables = cells_of(results, "flags", method).values()
    totals = [np.sum([row.get("cells", [0, 0, 1, 1]) for row in rows], axis=0) for rows in tables]
    precision = float(np.mean([hit / max(flagged, 1) for hit, flagged, _, _ in totals]))
    recall = float(np.mean([hit / max(wrong, 1) for hit, _, wrong, _ in totals]))
    return f"precision {precision:.1%}, recall {recall:.1%}", min(precision, recall) >= 0.95


def _clean(results: Results, method: str) -> tuple[str, bool]:
    cells = cells_of(results, "tables", method)
    totals = {
        cell.table: np.sum([row["cells"] for row in rows if "cells" in row], axis=0)
        for cell, rows in cells.items()
        if cell.family == "none"
    }
    if not totals or any(np.ndim(total) == 0 for total in totals.values()):
        raise MissingRowsError
    shares = {table: float(total[1] / total[3]) for table, total in totals.items()}
    mean, where = float(np.mean([*shares.values()])), max(shares, key=lambda key: shares[key])
    return f"{mean:.1%}, most in {where} ({shares[where]:.1%})", mean <= 0.015


def _coverage(results: Results, method: str) -> tuple[str, bool]:
    cells, means = cells_of(results, "tables", method), {}
    for family in FAMILIES:
        inside = [
            np.mean([row["inside"] for row in rows if "inside" in row] or [np.nan])
            for cell, rows in cells.items()
            if cell.family == family
        ]
        means[family] = float(np.mean(inside))
    if any(math.isnan(mean) for mean in means.values()):
        raise MissingRowsError
    observed = ", ".join(f"{family} {mean:.1%}" for family, mean in means.items())
    return observed, all(0.86 <= mean <= 0.94 for mean in means.values())


def _images(results: Results, method: str) -> tuple[str, bool]:
    ratios = {}
    for cell, rows in cells_of(results, "images", method).items():
        errors = [error_of(row) / min(row["median filter"], row["PCA"]) for row in rows]
        ratios[cell.name] = geometric_mean(errors)
    observed = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    return observed, all(ratio <= 1.1 for ratio in ratios.values())


def _timing(results: Results, method: str) -> tuple[str, bool]:
    cells, seconds = cells_of(results, "timing", method), results["timing"][1].seconds
    taken = {
        cell: float(np.median([seconds[cell.key, row["trial"], method] for row in rows]))
        for cell, rows in cells.items()
    }
    failed = any("failure" in row for rows in cells.values() for row in rows)
    observed = ", ".join(f"{cell.key} {time:.2f} s" for cell, time in taken.items())
    return observed, not failed and all(time <= cell.limit for cell, time in taken.items())


BARS: dict[str, Judge] = {
    "clean tables: error at most that of the best peer, no table above 1.3": _against_peers(
        "none", 1.0, 1.3
    ),
    "far cells: at most 0.93 of the best peer": _against_peers("far cells", 0.93),
    "cells in range: at most 0.90 of the best peer": _against_peers("cells in range", 0.90),
    "wrong rows: at most 0.95 of the best peer": _against_peers("rows", 0.95),
    "covariance: divergence at most 1.25 of the oracle": _covariance,
    "rank 3 with wrong rows and cells: 95 % solved, no wrong claim": _low_rank,
    "50×10 and 128×256: error at most 1.15 of the oracle": _small,
    "cells at ±10 σ: precision and recall at least 95 %": _flags,
    "clean tables: at most 1.5 % of the cells are flagged": _clean,
    "intervals of 90 %: coverage 86 to 94 %": _coverage,
    "images: error at most 1.1 of the better of two peers": _images,
    "time: 1 s for 500×64, 10 s for 2000×2000, 30 s for 10⁵×100": _timing,
}
