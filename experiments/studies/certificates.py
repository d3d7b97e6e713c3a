"""Is a wrong answer ever certified? Random problems of every kind, half of them impossible."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.definition import DEFAULT, SUCCESS, Outcome, Place, Procedure, Study
from experiments.problems import only_inliers
from robustrank.api import recover
from robustrank.metrics import evaluate
from robustrank.result import Status
from robustrank.simulate import Planted, plant
from robustrank.theory import degrees_of_freedom

FIRST_SEED = 70_000
# Every trial draws one of these; another model would change the problems of all trials.
_MODELS = ("huge", "scale", "impostor", "constant", "flip", "cauchy", "one-sided")
POSSIBLE, TOO_FEW, NOISE_ONLY = "possible", "too few", "noise only"
_KINDS = (POSSIBLE, TOO_FEW, POSSIBLE, NOISE_ONLY)  # in turn


def kind(trial: int) -> str:
    """The kind of problem of a trial."""
    return _KINDS[trial % len(_KINDS)]


@dataclass(frozen=True)
class RandomProblems:
    """Problems of random size, rank, number of measurements, outliers and noise.

    Half of them are possible: they have more inliers than degrees of freedom. A quarter have fewer,
    and in the last quarter y is noise only.
    """

    largest: int = 80  # both sides of a matrix are smaller than this

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"random problems below {self.largest}x{self.largest}"

    @property
    def drawn_by_numpy(self) -> bool:
        """NumPy draws all problems."""
        return True

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return FIRST_SEED + trial

    def rank_given(self, trial: int) -> int:
        """The rank passed to the solver: the true one."""
        return self._size(self._generator(trial))[2]

    def plant(self, trial: int, place: Place | None = None, *, corrupted: bool = True) -> Planted:
        """The problem of a trial."""
        rng = self._generator(trial)
        n1, n2, rank = self._size(rng)
        outliers = float(rng.uniform(0, 0.48))
        low, high = (0.6, 0.99) if kind(trial) == TOO_FEW else (1.05, 2.5)
        inliers = degrees_of_freedom(n1, n2, rank) * rng.uniform(low, high)
        planted = plant(
            n1,
            n2,
            rank,
            max(int(inliers / (1 - outliers)), 5),
            outliers=outliers if corrupted else 0.0,
            outlier_model=str(rng.choice(_MODELS)),
            noise=float(rng.choice([0.0, 0.0, 0.01, 0.05])),
            rng=rng,
        )
        if kind(trial) == NOISE_ONLY:
            return replace(planted, y=rng.standard_normal(len(planted.y)))
        return planted

    def _generator(self, trial: int) -> np.random.Generator:
        return np.random.default_rng(self.seed(trial))

    def _size(self, rng: np.random.Generator) -> tuple[int, int, int]:
        n1, n2 = (int(n) for n in rng.integers(12, self.largest, 2))
        return n1, n2, int(rng.integers(1, 1 + min(6, n1 // 4, n2 // 4)))


def certificates(quick: bool = False) -> Study[RandomProblems]:
    """The statuses that the default solver reports on random problems."""
    return Study(
        "certificates",
        "status of the result on random problems",
        (RandomProblems(32) if quick else RandomProblems(),),
        (DEFAULT,),
        trials=40 if quick else 1000,
        figure="statuses",
        procedure=Procedure(observe=_is_wrong),
    )


def _is_wrong(outcome: Outcome) -> dict[str, Any]:
    """The kind of problem, the estimated noise, and whether the status is wrong.

    RECOVERED must have an error below 1e-6. SETTLED must have an error as small as the estimated
    noise allows, or at most three times that of the same solver on the inliers alone. Neither may
    be the status of an impossible problem.
    """
    status, noise = outcome.recovery.status, outcome.recovery.certificate.noise
    right = outcome.error < SUCCESS or (status is Status.SETTLED and _is_near(outcome))
    problem = kind(outcome.trial)
    return {
        "kind": problem,
        "noise": noise,
        "wrong": status.certified and not (right and problem == POSSIBLE),
    }


def _is_near(outcome: Outcome) -> bool:
    planted, certificate = outcome.planted, outcome.recovery.certificate
    freedom = degrees_of_freedom(len(planted.left), len(planted.right), planted.rank)
    allowed = 5 * certificate.noise * math.sqrt(freedom / max(certificate.inliers - freedom, 1))
    clean = only_inliers(planted)
    oracle = recover(clean.A, clean.y, planted.rank)
    return outcome.error < max(allowed, 3 * evaluate(oracle, clean).error)
