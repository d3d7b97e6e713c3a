"""The certificate study: is a wrong answer ever certified, and how many right ones are?"""

from __future__ import annotations

from collections import Counter
from typing import Any

from experiments.claims.base import Judgment, Verdict, claim, default_claim, trial_rows
from experiments.definition import DEFAULT, Study
from experiments.rows import Row, Table
from experiments.statistics import Rate
from experiments.studies.certificates import Battery
from robustrank.result import Status

_CERTIFIED = tuple(status.name for status in Status if status.certified)
_WRONG_ESTIMATED = 1e-3  # of the claims
_POWER = 0.95


@claim(
    "certificates",
    "RECOVERED is never wrong.",
    criterion="no result with status RECOVERED has an error above 1e-5 (float32: 1e-3)",
)
def never_wrong(study: Study[Battery], table: Table) -> Judgment:
    """Count the wrong results among the recovered ones."""
    wrong = wrong_claims(study, table, Status.RECOVERED)
    return f"{wrong.successes} wrong of {wrong.trials:,}", default_claim(not wrong.successes)


@claim(
    "certificates",
    "ESTIMATED is wrong at most once in a thousand claims.",
    criterion="error above 1e-4 and above three times the oracle's, or an impossible problem",
)
def hardly_ever_wrong(study: Study[Battery], table: Table) -> Judgment:
    """Count the wrong results among the estimated ones."""
    wrong = wrong_claims(study, table, Status.ESTIMATED)
    low, high = wrong.interval
    observed = (
        f"{wrong.successes} wrong of {wrong.trials:,} (95 %: {low:.2%}–{high:.2%} of the claims)"
    )
    return observed, default_claim(wrong.successes <= _WRONG_ESTIMATED * wrong.trials)


@claim(
    "certificates",
    "With independent rows, random outliers and at least 2.5 inliers per degree of freedom, 95 % "
    "of what an oracle solves is certified.",
    criterion="at least 95 % RECOVERED or ESTIMATED",
)
def full_power(study: Study[Battery], table: Table) -> Judgment:
    """The share of certified results among the benign problems that an oracle solves."""
    rows = [row for row in trial_rows(study, table, DEFAULT.name) if row["benign"]]
    share = certified_share([row for row in rows if row["solvable"]])
    return f"{share.successes:,} of {share.trials:,} ({share.value:.1%})", default_claim(
        share.value >= _POWER
    )


@claim(
    "certificates",
    "How many of all problems that an oracle solves are certified.",
    criterion="none: some of them have too few measurements to decide",
)
def certified_of_all(study: Study[Battery], table: Table) -> Judgment:
    """Count the statuses of the solvable problems."""
    rows = [row for row in trial_rows(study, table, DEFAULT.name) if row["solvable"]]
    count = Counter(row["status"] for row in rows)
    share = certified_share(rows)
    observed = (
        f"{share.successes:,} of {share.trials:,}: {count['RECOVERED']:,} recovered, "
        f"{count['ESTIMATED']:,} estimated; {count['AMBIGUOUS']:,} ambiguous"
    )
    return observed, Verdict.REPORTED


def certified_share(rows: list[Row]) -> Rate:
    """The share of certified results."""
    return Rate(sum(row["status"] in _CERTIFIED for row in rows), len(rows))


def wrong_claims(study: Study[Any], table: Table, status: Status) -> Rate:
    """The share of wrong results among those with a status."""
    rows = trial_rows(study, table, DEFAULT.name)
    claimed = [row for row in rows if row["status"] == status.name]
    return Rate(sum(row["wrong"] for row in claimed), len(claimed))
