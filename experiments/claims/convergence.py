"""Figure 3: the error against iterations."""

from __future__ import annotations

import math

import numpy as np

from experiments.claims.base import (
    Judgment,
    Verdict,
    claim,
    default_claim,
    paper_claim,
    trial_errors,
    trial_rows,
)
from experiments.definition import DEFAULT, PAPER, VANILLA, Cell, Study
from experiments.rows import Row, Table
from experiments.statistics import fit_line, ratio_with_interval

_FAILS = "smallest error of vanilla-GD at least ten times the largest of median-TGD"


@claim(
    "fig3a",
    "Without outliers both methods converge at comparable rates.",
    criterion="ratio of the rates between 0.8 and 1.25",
)
def comparable_rates(study: Study[Cell], table: Table) -> Judgment:
    """Compare the rates at which the errors of median-TGD and vanilla-GD fall."""
    rates = [
        [convergence_rate(row) for row in trial_rows(study, table, method)]
        for method in (PAPER.name, VANILLA.name)
    ]
    if not np.isfinite(rates).all():
        return "the traces have too few points to estimate a rate", Verdict.MISSING
    ratio, low, high = ratio_with_interval(*rates)
    observed = (
        f"decades per iteration, median-TGD relative to vanilla-GD: {ratio:.3f} "
        f"(95 %: {low:.3f}–{high:.3f})"
    )
    return observed, paper_claim(0.8 < ratio < 1.25)


@claim(
    "fig3a",
    "The default solver needs at most a tenth of the passes over the sensing data.",
    criterion="ratio of the medians over trials below 0.1",
)
def fewer_passes(study: Study[Cell], table: Table) -> Judgment:
    """Compare the passes to within 5 % of the final error."""
    ours, theirs = (
        [_passes_to(row, 1.05 * row["error"]) for row in trial_rows(study, table, name)]
        for name in (DEFAULT.name, PAPER.name)
    )
    observed = (
        f"passes to within 5 % of the final error: {np.median(ours):.0f}, "
        f"median-TGD {np.median(theirs):,.0f}"
    )
    return observed, default_claim(float(np.median(ours)) < float(np.median(theirs)) / 10)


@claim(
    "fig3c",
    "With 10 % outliers vanilla-GD fails and median-TGD does not.",
    criterion=_FAILS,
)
@claim(
    "fig3b",
    "With 1 % outliers vanilla-GD fails and median-TGD does not.",
    criterion=_FAILS,
)
def vanilla_fails(study: Study[Cell], table: Table) -> Judgment:
    """Compare the final errors of vanilla-GD and median-TGD."""
    vanilla = trial_errors(study, table, VANILLA.name)
    paper = trial_errors(study, table, PAPER.name)
    observed = (
        f"median error {np.median(vanilla):.2g} for vanilla-GD, {np.median(paper):.2g} for "
        "median-TGD"
    )
    return observed, paper_claim(min(vanilla) > 10 * max(paper))


def convergence_rate(row: Row) -> float:
    """The decades by which the error falls per iteration, in the part where it falls steadily."""
    points = [(k, e) for k, _, e in row["trace"] if e > 0]
    smallest, first = min(e for _, e in points), points[0][1]
    steady = [(k, e) for k, e in points if 3 * smallest < e < 0.5 * first]
    if len(steady) < 2:
        return math.nan
    return -fit_line([k for k, _ in steady], [math.log10(e) for _, e in steady]).slope


def _passes_to(row: Row, error: float) -> float:
    return float(next((passes for _, passes, e in row["trace"] if e <= error), row["trace"][-1][1]))
