"""The claims of the paper and of this project, compared with the rows of the studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Each module registers its questions; the order is that of the claims of a study.
from experiments.claims import (  # noqa: F401
    beyond,
    certificates,
    convergence,
    coverage,
    entries,
    groups,
    noise,
    noise_models,
    phase_transitions,
    planning,
    solvers,
)
from experiments.claims.base import QUESTIONS, Claim, MissingRowsError, Question, Verdict
from experiments.definition import Study
from experiments.problems import source
from experiments.rows import Table

__all__ = ["Claim", "Tables", "Verdict", "judge_claims"]

Tables = Mapping[str, tuple[Study[Any], Table]]  # a study and its rows by the name of the study


def judge_claims(tables: Tables) -> list[Claim]:
    """The claims about some studies, in the order of the studies."""
    return [
        _judge(question, study, table)
        for name, (study, table) in tables.items()
        for question in QUESTIONS
        if question.study == name
    ]


def _judge(question: Question, study: Study[Any], table: Table) -> Claim:
    try:
        observed, verdict = question.judge(study, table)
    except MissingRowsError:
        observed, verdict = "some trials are missing", Verdict.MISSING
    else:
        if _is_mixed(table):
            observed += " (some methods were run with another array library, so on other data)"
    return Claim(question.study, question.statement, question.criterion, observed, verdict)


def _is_mixed(table: Table) -> bool:
    """Whether two methods ran the same trial on different sensing data."""
    sources: dict[tuple[str, int], set[str]] = {}
    for row in table.rows:
        sources.setdefault((row["cell"], row["trial"]), set()).add(source(row["place"]))
    return any(len(found) > 1 for found in sources.values())
