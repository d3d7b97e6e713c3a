"""The solver study: target success rates, certificates and noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.claims.base import (
    Judgment,
    MissingRowsError,
    claim,
    default_claim,
    require_rows,
    trial_errors,
    trial_rows,
)
from experiments.claims.targets import judge_targets
from experiments.definition import DEFAULT, ORACLE, Cell, Study
from experiments.rows import Table
from experiments.statistics import is_success, rate


@claim(
    "solvers",
    "The default solver reaches the target success rate at every setting.",
    criterion="the success rate is at least the target, at each setting that has one",
)
def target_rates(study: Study[Cell], table: Table) -> Judgment:
    """Compare success rates with the targets."""
    require_rows(study, table, DEFAULT.name)
    return judge_targets({cell: rate(table, cell, DEFAULT.name) for cell in study.cells})


@claim(
    "solvers",
    "No result of the default solver with status RECOVERED is wrong.",
    criterion="an error below 1e-6 in every such trial",
)
def recovered_is_right(study: Study[Cell], table: Table) -> Judgment:
    """Count results with status RECOVERED and a large error."""
    rows = [row for name in (DEFAULT.name, ORACLE.name) for row in trial_rows(study, table, name)]
    certified = [row for row in rows if row["status"] == "RECOVERED"]
    wrong = sum(not is_success(row) for row in certified)
    observed = f"{wrong} of {len(certified):,} are wrong (results of the oracle included)"
    return observed, default_claim(not wrong)


@claim(
    "solvers",
    "With noise, the default solver's error is that of the oracle, which has only the inliers.",
    criterion="at most 1.1 times in every trial",
)
def error_of_oracle(study: Study[Cell], table: Table) -> Judgment:
    """Compare the errors of the default solver and the oracle at the settings with noise."""
    noisy = replace(study, cells=tuple(cell for cell in study.cells if cell.noise))
    if not noisy.cells:
        raise MissingRowsError
    ours, oracle = (np.asarray(trial_errors(noisy, table, m.name)) for m in (DEFAULT, ORACLE))
    ratios = ours / oracle
    observed = (
        f"error relative to the oracle's: median {np.median(ratios):.3f}, "
        f"at most {ratios.max():.3f} in {len(ratios)} trials"
    )
    return observed, default_claim(float(ratios.max()) <= 1.1)
