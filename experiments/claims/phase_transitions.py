"""Figures 1a and 1b: which problems are recovered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from experiments.claims.base import (
    Judgment,
    Verdict,
    claim,
    default_claim,
    paper_claim,
    require_rows,
    trial_errors,
)
from experiments.claims.comparison import NOT_WORSE, compare_with_paper
from experiments.definition import DEFAULT, PAPER, SUCCESS, Cell, Study
from experiments.rows import Table
from experiments.statistics import fit_line, rate
from experiments.transitions import cells_by_rank, distance_from_limit, transition

# A trial with an error below this is converging to the true matrix.
_CONVERGING = 1e-3


@claim(
    "fig1a",
    "The number of measurements needed grows linearly with the rank.",
    criterion="R² of a linear fit above 0.99",
)
def linear_in_rank(study: Study[Cell], table: Table) -> Judgment:
    """Fit a line to the m at which half of the trials succeed."""
    require_rows(study, table, PAPER.name)
    half = transition(study, table, PAPER.name)
    if len(half) < 3:
        observed = f"the m at which half of the trials succeed is in the grid for {len(half)} ranks"
        return observed, paper_claim(False)
    line = fit_line([*half], [*half.values()])
    observed = (
        f"half of the trials succeed at m = {line.slope:.0f} r "
        f"{'−' if line.intercept < 0 else '+'} {abs(line.intercept):.0f} "
        f"(R² = {line.r_squared:.4f}, {len(half)} ranks)"
    )
    return observed, paper_claim(line.r_squared > 0.99)


@claim(
    "fig1a",
    "The transition from failure to success is sharp.",
    criterion="a width below half of the m at its center",
)
def sharp_transition(study: Study[Cell], table: Table) -> Judgment:
    """Compare the width of the transition with the m at its center."""
    require_rows(study, table, PAPER.name)
    widths, settings = [], cells_by_rank(study)
    for rank, center in transition(study, table, PAPER.name).items():
        cells = settings[rank]
        between = [c for c in cells if 0 < rate(table, c, PAPER.name).value < 1]
        step = cells[1].measurements - cells[0].measurements
        widths.append((len(between) + 1) * step / center)
    if not widths:
        return "no transition is within the grid", paper_claim(False)
    observed = (
        f"the success rate goes from 0 to 1 within {np.median(widths):.0%} of the m at the center "
        "(median over ranks, including one step of the grid)"
    )
    return observed, paper_claim(float(np.median(widths)) < 0.5)


@claim(
    "fig1a",
    "10,000 iterations are enough for median-TGD to converge.",
    criterion="of the trials that end below 1e-3, 99 % end below 1e-6; in part: 90 %",
)
def enough_iterations(study: Study[Cell], table: Table) -> Judgment:
    """Count the converging trials that did not reach the paper's accuracy."""
    errors = [e for e in trial_errors(study, table, PAPER.name) if e < _CONVERGING]
    if not errors:
        return f"no trial ended below {_CONVERGING:g}", paper_claim(False)
    converged = sum(error < SUCCESS for error in errors)
    observed = (
        f"{converged:,} of the {len(errors):,} trials that ended below {_CONVERGING:g} "
        f"({converged / len(errors):.1%}) ended below {SUCCESS:g}"
    )
    enough, in_part = (converged >= share * len(errors) for share in (0.99, 0.9))
    return observed, paper_claim(enough, in_part)


@claim(
    "fig1a",
    "The paper's method compared with the heuristic limit (1 − s) m = r (n1 + n2).",
    criterion="none: the paper gives no number",
)
def paper_and_limit(study: Study[Cell], table: Table) -> Judgment:
    """Report how far from the limit the paper's method succeeds."""
    require_rows(study, table, PAPER.name)
    return _distances(distance_from_limit(study, table, PAPER.name)), Verdict.REPORTED


@claim(
    "fig1b",
    "Performance degrades smoothly as the fraction of outliers grows.",
    criterion="the largest rank never increases, and falls by at most three per step",
)
def smooth_degradation(study: Study[Cell], table: Table) -> Judgment:
    """Find the largest rank at which half of the trials succeed, by fraction of outliers."""
    require_rows(study, table, PAPER.name)
    fractions = sorted({cell.outliers for cell in study.cells})
    largest = []
    for fraction in fractions:
        good = [
            cell.rank
            for cell in study.cells
            if cell.outliers == fraction and rate(table, cell, PAPER.name).value >= 0.5
        ]
        largest.append(max(good, default=0))
    falls = all(a >= b for a, b in pairwise(largest))
    steepest = max(a - b for a, b in pairwise(largest))
    text = ", ".join(f"{s:.0%}: {r}" for s, r in zip(fractions, largest, strict=True))
    observed = f"largest rank with half of the trials recovered, by fraction of outliers: {text}"
    return observed, paper_claim(falls and steepest <= 3)


@claim(
    "fig1b",
    "The default solver's region of success contains that of the paper's method.",
    criterion=NOT_WORSE,
)
@claim(
    "fig1a",
    "The default solver's region of success contains that of the paper's method.",
    criterion=NOT_WORSE,
)
def contains_paper(study: Study[Cell], table: Table) -> Judgment:
    """Compare the success rates of the default solver and the paper's method."""
    return compare_with_paper(study, table)


@claim(
    "fig1a",
    "The default solver's transition is within 10 % of the heuristic limit.",
    criterion="both ends between −10 % and +10 %, for every rank",
)
def default_and_limit(study: Study[Cell], table: Table) -> Judgment:
    """Compare the transition of the default solver with the heuristic limit."""
    require_rows(study, table, DEFAULT.name)
    distances = distance_from_limit(study, table, DEFAULT.name)
    within = all(low >= -0.1 and high <= 0.1 for low, high in distances.values())
    outside = any(low > 0.1 or high < -0.1 for low, high in distances.values())
    if within or outside:
        return _distances(distances), default_claim(within)
    return f"{_distances(distances)}; the grid is too coarse to decide", Verdict.REPORTED


def _distances(distances: Mapping[int, tuple[float, float]]) -> str:
    text = ", ".join(
        f"r = {rank}: {low:+.1%} to {high:+.1%}"
        if math.isfinite(high)
        else f"r = {rank}: more than {low:+.1%}"
        for rank, (low, high) in distances.items()
    )
    return f"distance from the limit at which half of the trials succeed: {text}"
