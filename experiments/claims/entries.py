"""Completion: target success rates, ranks, noise, and certificates that are wrong."""

from __future__ import annotations

import numpy as np

from experiments.claims.base import Judgment, Verdict, claim, default_claim, trial_rows
from experiments.claims.certificates import certified_share, wrong_claims
from experiments.claims.targets import judge_targets
from experiments.definition import DEFAULT, Study
from experiments.rows import Row, Table
from experiments.statistics import success_rate
from experiments.studies.entries import LEAST_SQUARES, EntriesCell
from experiments.studies.entry_certificates import EntriesBattery
from robustrank.result import Status

_LARGEST_RATIO = 1.05


@claim(
    "entries",
    "Completion reaches the target success rate at every setting.",
    criterion="an error below 1e-6 in the rows and columns with more inliers than unknowns",
)
def target_rates(study: Study[EntriesCell], table: Table) -> Judgment:
    """Compare success rates with the targets."""
    rows = _by_setting(study, table, DEFAULT.name)
    return judge_targets({cell: success_rate(found) for cell, found in rows.items()})


@claim(
    "robust-pca",
    "Robust PCA recovers every matrix.",
    criterion="an error below 1e-6 in every trial",
)
def always_recovered(study: Study[EntriesCell], table: Table) -> Judgment:
    """Count the matrices that are recovered."""
    found = success_rate(trial_rows(study, table, DEFAULT.name))
    return f"{found.successes} of {found.trials}", default_claim(found.successes == found.trials)


@claim(
    "entries",
    "The rank is found if only an upper bound is given, or none.",
    criterion="the rank of the result is the true one in at least 95 % of the trials",
)
def ranks(study: Study[EntriesCell], table: Table) -> Judgment:
    """Count the results of the right rank where another bound or none was given."""
    rows = _by_setting(study, table, DEFAULT.name)
    found = [
        row["rank"] == cell.true_rank
        for cell in study.cells
        if cell.bound is not None
        for row in rows[cell]
    ]
    observed = f"{sum(found)} of {len(found)}"
    return observed, default_claim(bool(found) and float(np.mean(found)) >= 0.95)


@claim(
    "entries",
    "With noise, the error is that of least squares with the outliers known.",
    criterion=f"at most {_LARGEST_RATIO} times on average",
)
def error_of_oracle(study: Study[EntriesCell], table: Table) -> Judgment:
    """Compare the errors of completion and the oracle at the settings with noise."""
    ours, oracle = (_by_setting(study, table, name) for name in (DEFAULT.name, LEAST_SQUARES.name))
    ratios = [
        row["error"] / best["error"]
        for cell in study.cells
        if cell.noise
        for row, best in zip(ours[cell], oracle[cell], strict=True)
    ]
    observed = (
        f"{np.mean(ratios):.3f} times on average, at most {max(ratios):.3f} in {len(ratios)} trials"
    )
    return observed, default_claim(float(np.mean(ratios)) <= _LARGEST_RATIO)


@claim(
    "entries",
    "No certified completion is wrong in the part that it calls decided.",
    criterion="an error below 1e-6 there in every result with status RECOVERED",
)
def decided_is_right(study: Study[EntriesCell], table: Table) -> Judgment:
    """Count the results with status RECOVERED whose decided part is wrong."""
    rows = [row for row in trial_rows(study, table, DEFAULT.name) if row["status"] == "RECOVERED"]
    wrong = sum(row["decided_error"] >= 1e-6 for row in rows)
    return f"{wrong} wrong of {len(rows):,}", default_claim(not wrong)


@claim(
    "entry-certificates",
    "No certified completion is wrong.",
    criterion="RECOVERED: an error of at most 1e-5 in the decided part; ESTIMATED: 1e-4, or three "
    "times the oracle's; no claim if there is only noise",
)
def never_wrong(study: Study[EntriesBattery], table: Table) -> Judgment:
    """Count the wrong results among the certified ones."""
    counts = [wrong_claims(study, table, one) for one in (Status.RECOVERED, Status.ESTIMATED)]
    observed = " and ".join(
        f"{found.successes} wrong of {found.trials:,} {name}"
        for found, name in zip(counts, ("recovered", "estimated"), strict=True)
    )
    return observed, default_claim(not any(found.successes for found in counts))


@claim(
    "entry-certificates",
    "How many of the problems that an oracle solves are certified.",
    criterion="none: some of them have too few entries to decide",
)
def certified_of_solvable(study: Study[EntriesBattery], table: Table) -> Judgment:
    """Count the certified results among the problems that an oracle solves."""
    rows = [row for row in trial_rows(study, table, DEFAULT.name) if row["solvable"]]
    share = certified_share(rows)
    return f"{share.successes:,} of {share.trials:,} ({share.value:.0%})", Verdict.REPORTED


def _by_setting(
    study: Study[EntriesCell], table: Table, method: str
) -> dict[EntriesCell, list[Row]]:
    rows = iter(trial_rows(study, table, method))
    return {cell: [next(rows) for _ in range(study.trials)] for cell in study.cells}
