"""What a claim is, and how a question and its judge are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from experiments.definition import Study
from experiments.rows import Row, Table


class Verdict(Enum):
    """Whether the rows agree with a claim."""

    REPRODUCED = "reproduced"
    IN_PART = "reproduced in part"
    NOT_REPRODUCED = "not reproduced"
    BEYOND = "beyond the paper"  # a claim about the default solver that holds
    FALLS_SHORT = "falls short"  # a claim about the default solver that does not hold
    REPORTED = "reported"  # a number without a criterion
    MISSING = "not run yet"


@dataclass(frozen=True)
class Claim:
    """A statement about a study, the criterion for it, what the rows show, and the verdict."""

    study: str
    statement: str
    criterion: str
    observed: str
    verdict: Verdict


Judgment = tuple[str, Verdict]  # what was observed, and the verdict
Judge = Callable[[Study[Any], Table], Judgment]


@dataclass(frozen=True)
class Question:
    """A statement about a study that a judge checks against rows."""

    study: str
    statement: str
    criterion: str
    judge: Judge


QUESTIONS: list[Question] = []


def claim(study: str, statement: str, *, criterion: str) -> Callable[[Judge], Judge]:
    """Register a function as the judge of a statement about the study with this name."""

    def register(judge: Judge) -> Judge:
        QUESTIONS.append(Question(study, statement, criterion, judge))
        return judge

    return register


class MissingRowsError(Exception):
    """A judge needs trials that have not been run."""


def paper_claim(holds: bool, in_part: bool = False) -> Verdict:
    """The verdict on a claim of the paper."""
    if holds:
        return Verdict.REPRODUCED
    return Verdict.IN_PART if in_part else Verdict.NOT_REPRODUCED


def default_claim(holds: bool) -> Verdict:
    """The verdict on a claim about the default solver."""
    return Verdict.BEYOND if holds else Verdict.FALLS_SHORT


def trial_rows(study: Study[Any], table: Table, method: str) -> list[Row]:
    """The rows of a method, by setting and trial; MissingRowsError if any is missing."""
    found = []
    for cell in study.cells:
        rows = {row["trial"]: row for row in table.of(cell.key, method)}
        if len(rows) < study.trials:
            raise MissingRowsError
        found += [rows[trial] for trial in range(study.trials)]
    return found


def trial_errors(study: Study[Any], table: Table, method: str) -> list[float]:
    """The errors of a method, by setting and trial; MissingRowsError if any is missing."""
    return [row["error"] for row in trial_rows(study, table, method)]


def require_rows(study: Study[Any], table: Table, *methods: str) -> None:
    """Raise MissingRowsError if a trial of one of the methods is missing."""
    for method in methods:
        trial_rows(study, table, method)
