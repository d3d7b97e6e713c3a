"""Kinds of outliers, condition numbers and sizes, which the paper does not study."""

from __future__ import annotations

from experiments.claims.base import Judgment, claim, default_claim, require_rows
from experiments.claims.comparison import NOT_WORSE, compare_with_paper
from experiments.definition import DEFAULT, PAPER, Cell, Study
from experiments.rows import Table
from experiments.transitions import transition_by_size


@claim(
    "kappa",
    "The default solver succeeds where median-TGD does, for every condition number.",
    criterion=NOT_WORSE,
)
@claim(
    "zoo",
    "The default solver succeeds where median-TGD does, for every kind of outlier.",
    criterion=NOT_WORSE,
)
def not_worse_than_paper(study: Study[Cell], table: Table) -> Judgment:
    """Compare the success rates of the default solver and the paper's method."""
    return compare_with_paper(study, table)


@claim(
    "sizes",
    "The default solver needs fewer measurements than median-TGD, at every size.",
    criterion="fewer for a success rate of one half at every size, with and without outliers",
)
def fewer_measurements(study: Study[Cell], table: Table) -> Judgment:
    """Compare the inliers per degree of freedom at which half of the trials succeed."""
    require_rows(study, table, DEFAULT.name, PAPER.name)
    text, fewer = [], []
    for fraction in sorted({cell.outliers for cell in study.cells}):
        ours, theirs = (
            transition_by_size(study, table, name, fraction) for name in (DEFAULT.name, PAPER.name)
        )
        fewer += [ours[n] < theirs[n] for n in ours]
        pairs = ", ".join(f"n = {n}: {ours[n]:.2f} and {theirs[n]:.2f}" for n in ours)
        text.append(f"{fraction:.0%} outliers: {pairs}".replace("inf", "more than the grid has"))
    observed = "inliers per degree of freedom, default solver and median-TGD, " + "; ".join(text)
    return observed, default_claim(all(fewer))
