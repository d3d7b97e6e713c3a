"""How often intervals contain the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.claims.base import Judgment, MissingRowsError, Verdict, claim, require_rows
from experiments.definition import DEFAULT, Study
from experiments.rows import Table

_NOMINAL, _WITHIN = 0.95, 0.02


@claim(
    "coverage",
    "The share of entries inside intervals of 95 %, for normal noise.",
    criterion="none: docs/guide/error-bars.md has the details",
)
def coverage(study: Study[Any], table: Table) -> Judgment:
    """Count the settings with a coverage within two points, and list the others."""
    require_rows(study, table, DEFAULT.name)
    found = {
        cell.key: [
            row["inside"][f"{_NOMINAL:g}"]
            for row in table.rows
            if row["cell"] == cell.key and "inside" in row
        ]
        for cell in study.cells
        if cell.noise == "normal"
    }
    means = {key: float(np.mean(shares)) for key, shares in found.items() if shares}
    if not means:
        raise MissingRowsError
    beyond = {key: share for key, share in means.items() if abs(share - _NOMINAL) > _WITHIN}
    listed = "; ".join(f"{key}: {share:.1%}" for key, share in beyond.items()) or "none"
    return (
        f"within two points at {len(means) - len(beyond)} of {len(means)} settings with certified "
        f"results; others: {listed}",
        Verdict.REPORTED,
    )
