"""How many measurements are needed, as curves fitted to the rows."""

from __future__ import annotations

from typing import Any

from experiments.claims.base import Judgment, MissingRowsError, Verdict, claim, require_rows
from experiments.definition import DEFAULT, Study
from experiments.rows import Table
from experiments.success_curves import fit_curves, points
from robustrank.planning.curves import smallness

_SHAPE, _RANK = (60, 48), 3


@claim(
    "planning-entries",
    "The inliers per degree of freedom with which 95 % of the completions succeed.",
    criterion="none: this is the table of robustrank.plan",
)
@claim(
    "planning",
    "The inliers per degree of freedom with which 95 % of the trials succeed.",
    criterion="none: this is the table of robustrank.plan",
)
def inliers_needed(study: Study[Any], table: Table) -> Judgment:
    """List the thresholds of the default solver without noise, by the fraction of outliers."""
    require_rows(study, table, DEFAULT.name)
    curves = [
        curve
        for curve in fit_curves([*points(study, table)])
        if (curve.method, curve.outlier_model, curve.noise) == (DEFAULT.name, "huge", 0.0)
    ]
    found = [
        f"{curve.outliers:.0%}: "
        f"{curve.inliers_per_freedom(0.95, smallness(curve.family, _SHAPE, _RANK)):.2f}"
        for curve in curves
        if curve.is_known
    ]
    if not found:
        raise MissingRowsError
    size = f"{_SHAPE[0]} × {_SHAPE[1]}, rank {_RANK}"
    return f"{size}, by the fraction of outliers: {', '.join(found)}", Verdict.REPORTED
