"""Is a wrong completion ever certified? Small random problems, a quarter of them impossible."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from experiments.battery.entries import EntriesProblem, draw
from experiments.battery.problems import NOISE_ONLY, POSSIBLE
from experiments.completion_trial import (
    Array,
    decided_part,
    described,
    determinable,
    error,
    identity,
    oracle,
)
from experiments.definition import DEFAULT, Method, Procedure, Study
from experiments.rows import Row
from robustrank.api import complete
from robustrank.result import Result, Status
from robustrank.simulate import PlantedEntries

FIRST_SEED = 420_000
# Of each of the three ways to sample, 2,001 in all.
_TRIALS, _QUICK_TRIALS = 667, 4
# A RECOVERED result is wrong if the error of its decided part is larger than the first; an
# ESTIMATED one, if it is larger than the second, and than three times the oracle's in that part.
_EXACT, _NOISY, _TIMES_ORACLE = 1e-5, 1e-4, 3.0
_SOLVED = 0.1  # an oracle with a larger error has not solved the problem


@dataclass(frozen=True)
class EntriesBattery:
    """Problems whose entries are sampled in one way; everything else is drawn at random."""

    sampling: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"entry battery {self.sampling}"

    @property
    def family(self) -> str:
        """The name in figures and tables."""
        return f"{self.sampling} entries" if self.sampling == "all" else self.sampling

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return FIRST_SEED + trial

    def problem(self, trial: int) -> EntriesProblem:
        """The problem of a trial with everything that is known about it."""
        return _drawn(self.sampling, trial)

    def plant(self, trial: int) -> PlantedEntries:
        """The problem of a trial."""
        return self.problem(trial).planted

    def rank_given(self, trial: int) -> int | None:
        """The true rank, a larger or smaller one, or none."""
        return self.problem(trial).bound


@functools.lru_cache(maxsize=1)  # a trial asks for its problem several times
def _drawn(sampling: str, trial: int) -> EntriesProblem:
    return draw(sampling, trial, FIRST_SEED)


def entry_certificates(quick: bool = False) -> Study[EntriesBattery]:
    """The statuses that ``complete`` reports on problems of every kind."""
    return Study(
        "entry-certificates",
        "status of the completion on problems of every kind",
        tuple(EntriesBattery(sampling) for sampling in ("uniform", "power-law", "all")),
        (DEFAULT,),
        trials=_QUICK_TRIALS if quick else _TRIALS,
        figure="statuses",
        procedure=Procedure(run=_run),
    )


def _run(setting: EntriesBattery, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial with what the problem was, and whether the status is wrong."""
    problem = setting.problem(trial)
    planted = problem.planted
    result = complete(planted.triples, problem.bound, shape=planted.shape)
    row = identity(setting, trial, method) | described(planted, result)
    best = oracle(planted)
    oracle_error = error(planted, best, determinable(planted))
    row |= {
        "family": setting.family,
        "task": problem.task,
        "outliers": problem.kind if planted.outliers.any() else "none",
        "share": round(float(planted.outliers.mean()), 4),
        "noise": float(f"{problem.noise:.3g}"),
        "ratio": round(problem.oversampling, 3),
        "bounds": [problem.bound, planted.left.shape[1]],
        "oracle": float(f"{oracle_error:.3g}"),
        "solvable": _is_solvable(problem, oracle_error),
        "wrong": result.certified and not _is_right(problem, result, row["decided_error"], best),
    }
    return row, result.seconds


def _is_solvable(problem: EntriesProblem, oracle_error: float) -> bool:
    """Whether an oracle solves the problem, and the given rank is not too small."""
    enough = problem.bound is None or problem.bound >= problem.planted.left.shape[1]
    return enough and problem.task == POSSIBLE and oracle_error < _SOLVED


def _is_right(
    problem: EntriesProblem, result: Result, found: float, best: tuple[Array, Array]
) -> bool:
    """Whether a certified result is right in the part that it calls decided."""
    if problem.task == NOISE_ONLY:
        return False
    if result.status is Status.RECOVERED:
        return found <= _EXACT
    limit = _TIMES_ORACLE * error(problem.planted, best, decided_part(result))
    return found <= max(_NOISY, limit)
