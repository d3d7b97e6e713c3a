"""Sensors that are wrong altogether."""

from __future__ import annotations

from experiments.claims.base import Judgment, claim, default_claim, trial_rows
from experiments.definition import DEFAULT, Study
from experiments.rows import Table
from experiments.studies.groups import EXACT, GROUPS, GroupsCell, is_solved

_RATE = 0.95
_CLEARLY_WRONG = 3.0  # times the error of the oracle, for a claim that is wrong


@claim(
    "groups",
    "Sensors that are wrong altogether are named, and the result is as good as without them.",
    criterion="solved in 95 % of the trials of each setting, and no wrong result certified",
)
def wrong_sensors_are_named(study: Study[GroupsCell], table: Table) -> Judgment:
    """Count the settings with enough solved trials, and the certified results that are wrong."""
    rows = trial_rows(study, table, DEFAULT.name)
    cells = {cell.key: cell for cell in study.cells}
    solved = dict.fromkeys(cells, 0)
    wrong = missed = others = faults = right = 0
    for row in rows:
        cell = cells[row["cell"]]
        solved[cell.key] += is_solved(cell, row)
        limit = _CLEARLY_WRONG * row["oracle"] if cell.noise else EXACT
        wrong += row["status"] in ("RECOVERED", "ESTIMATED") and row["error"] > limit
        missed, others = missed + row["missed"], others + row["good_named"]
        faults, right = faults + round(cell.share * GROUPS), right + row["right_fault"]
    short = [key for key, count in solved.items() if count < _RATE * study.trials]
    observed = (
        f"{sum(solved.values()):,} of {len(rows):,} trials solved; settings below {_RATE:.0%}: "
        f"{'; '.join(short) or 'none'}; wrong results certified: {wrong}; of {faults:,} wrong "
        f"sensors, {missed} were missed and {right:,} have the right fault; good ones named: "
        f"{others}"
    )
    return observed, default_claim(not short and not wrong)
