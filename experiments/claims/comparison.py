"""The default solver compared with the paper's method on the same problems."""

from __future__ import annotations

from experiments.claims.base import Judgment, default_claim, trial_errors
from experiments.definition import DEFAULT, PAPER, SUCCESS, Cell, Study
from experiments.rows import Table
from experiments.statistics import rate

NOT_WORSE = (
    "at no setting a lower success rate with disjoint 95 % intervals, and at least as many "
    "problems solved only by the default solver as only by the paper's method"
)


def compare_with_paper(study: Study[Cell], table: Table) -> Judgment:
    """Compare success rates at each setting, and the problems that only one method solves."""
    ours, theirs = (trial_errors(study, table, name) for name in (DEFAULT.name, PAPER.name))
    only_ours = sum(a < SUCCESS <= b for a, b in zip(ours, theirs, strict=True))
    only_theirs = sum(b < SUCCESS <= a for a, b in zip(ours, theirs, strict=True))
    lower = higher = 0
    for cell in study.cells:
        default, paper = (rate(table, cell, name).interval for name in (DEFAULT.name, PAPER.name))
        lower += default[1] < paper[0]
        higher += default[0] > paper[1]
    observed = (
        f"higher success rate with disjoint 95 % intervals at {higher} of {len(study.cells)} "
        f"settings, lower at {lower}; {only_ours:,} problems solved only by the default solver, "
        f"{only_theirs:,} only by the paper's method"
    )
    return observed, default_claim(not lower and only_theirs <= only_ours)
