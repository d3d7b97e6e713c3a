"""Is a wrong answer ever certified? Small random problems of every kind, a quarter impossible."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, cast

from experiments.battery.problems import POSSIBLE, BatteryProblem, draw
from experiments.battery.sensing import FAMILIES
from experiments.definition import DEFAULT, Outcome, Place, Procedure, Study
from robustrank.result import Status
from robustrank.simulate import Planted

FIRST_SEED = 130_000
# Of each of the fifteen families; ``--trials 1340`` runs 20,100 problems.
_TRIALS, _QUICK_TRIALS = 166, 4
# A RECOVERED result is wrong if its error is larger, in float64 and in float32.
_EXACT = {"float64": 1e-5, "float32": 1e-3}
# An ESTIMATED result is wrong if its error is above the first, and three times the oracle's.
_NOISY, _TIMES_ORACLE = 1e-4, 3.0
# An oracle with a larger error has not solved the problem: no result with a larger expected error
# is certified.
_SOLVED = 0.1


@dataclass(frozen=True)
class Battery:
    """Problems with sensing matrices of one family; everything else is drawn at random."""

    family: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"battery {self.family}"

    @property
    def drawn_by_numpy(self) -> bool:
        """NumPy draws all problems."""
        return True

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return FIRST_SEED + trial

    def problem(self, trial: int) -> BatteryProblem:
        """The problem of a trial with everything that is known about it."""
        return _drawn(self.family, trial)

    def rank_given(self, trial: int) -> int:
        """The rank passed to the solver: the true one, one more, or one less."""
        return self.problem(trial).rank

    def options(self, trial: int) -> dict[str, Any]:
        """Further arguments of ``recover``."""
        return {"symmetric": FAMILIES[self.family].symmetric}

    def plant(self, trial: int, place: Place | None = None, *, corrupted: bool = True) -> Planted:
        """The problem of a trial."""
        drawn = self.problem(trial)
        return Planted(drawn.A, drawn.y, drawn.left, drawn.right, drawn.outliers, self.seed(trial))


@functools.lru_cache(maxsize=1)  # a trial asks for its problem several times
def _drawn(family: str, trial: int) -> BatteryProblem:
    return draw(family, trial, FIRST_SEED)


def certificates(quick: bool = False) -> Study[Battery]:
    """The statuses that the default solver reports on problems of every kind."""
    return Study(
        "certificates",
        "status of the result on problems of every kind",
        tuple(Battery(family) for family in FAMILIES),
        (DEFAULT,),
        trials=_QUICK_TRIALS if quick else _TRIALS,
        figure="statuses",
        procedure=Procedure(observe=_observed),
    )


def _observed(outcome: Outcome) -> dict[str, Any]:
    """What the problem was, and whether the status is wrong."""
    problem = cast("Battery", outcome.setting).problem(outcome.trial)
    oracle = problem.oracle()
    status, error = outcome.recovery.status, outcome.error
    possible = problem.task == POSSIBLE
    right = error <= _NOISY or (possible and error <= _TIMES_ORACLE * oracle.error)
    if status is Status.RECOVERED:
        right = error <= _EXACT[str(problem.y.dtype)]
    return {
        "family": problem.family,
        "task": problem.task,
        "outliers": problem.kind,
        "share": problem.share,
        "noise": problem.noise,
        "level": float(f"{problem.level:.3g}"),
        "ratio": problem.ratio,
        "rank": [problem.rank, problem.left.shape[1]],
        "oracle": float(f"{oracle.error:.3g}"),
        "solvable": possible and oracle.determined and oracle.error < _SOLVED,
        "benign": problem.benign,
        "wrong": status.certified and not right,
    }
