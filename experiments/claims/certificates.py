"""The certificate study: is a wrong answer ever certified?"""

from __future__ import annotations

from collections import Counter

from experiments.claims.base import Judgment, Verdict, claim, default_claim, trial_rows
from experiments.definition import DEFAULT, Study
from experiments.rows import Table
from experiments.statistics import Rate
from experiments.studies.certificates import POSSIBLE, RandomProblems
from robustrank.result import Status

CERTIFIED = tuple(status.name for status in Status if status.certified)


@claim(
    "certificates",
    "The default solver never certifies a wrong result.",
    criterion="no result with status RECOVERED or SETTLED is wrong, or of an impossible problem",
)
def never_wrong(study: Study[RandomProblems], table: Table) -> Judgment:
    """Count the wrong results among the certified ones."""
    rows = trial_rows(study, table, DEFAULT.name)
    wrong = Rate(sum(row["wrong"] for row in rows), len(rows))
    certified = sum(row["status"] in CERTIFIED for row in rows)
    low, high = wrong.interval
    observed = (
        f"{wrong.successes} wrong of {certified:,} certified results of {len(rows):,} problems "
        f"(95 %: {low:.2%}–{high:.2%} of the problems)"
    )
    return observed, default_claim(not wrong.successes)


@claim(
    "certificates",
    "How many of the possible problems are certified.",
    criterion="none: some of them have too few measurements to decide",
)
def certified_share(study: Study[RandomProblems], table: Table) -> Judgment:
    """Count the statuses of the possible problems."""
    rows = [row for row in trial_rows(study, table, DEFAULT.name) if row["kind"] == POSSIBLE]
    count = Counter(row["status"] for row in rows)
    observed = (
        f"{sum(count[status] for status in CERTIFIED):,} of {len(rows):,}: "
        f"{count['RECOVERED']:,} recovered, {count['SETTLED']:,} settled"
    )
    return observed, Verdict.REPORTED
