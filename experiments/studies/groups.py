"""Are sensors found that are wrong altogether, and is the matrix as good as without them?"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.completion_trial import identity
from experiments.definition import DEFAULT, Method, Procedure, Study
from experiments.rows import Row
from robustrank.api import recover
from robustrank.metrics import normalized_error
from robustrank.simulate import Planted, plant
from robustrank.theory import degrees_of_freedom

Vector = np.ndarray[Any, Any]

SHAPE, RANK, RATIO, GROUPS = (60, 50), 3, 4.0, 40
SHARES, NOISES = (0.1, 0.2, 0.3), (0.0, 0.02)
EXACT, AS_GOOD = 1e-6, 1.1  # the error of a right result: without noise, and relative to the oracle
# What a wrong sensor reports instead of ``y``, whose typical size is one.
_FAULTS: dict[str, Callable[[Vector, np.random.Generator], Vector]] = {
    "dead": lambda y, rng: np.zeros_like(y),
    "stuck": lambda y, rng: np.full_like(y, rng.standard_normal()),
    "offset 0.1": lambda y, rng: y + 0.1,
    "offset 1": lambda y, rng: y + 1,
    "gain 0.8": lambda y, rng: 0.8 * y,
    "gain 1.2": lambda y, rng: 1.2 * y,
    "gain 2": lambda y, rng: 2 * y,
    "gain -1": lambda y, rng: -y,
    "noise only": lambda y, rng: rng.standard_normal(len(y)),
}
EXCHANGED, MIXED = "exchanged", "mixed"
KINDS = (*_FAULTS, EXCHANGED, MIXED)


@dataclass(frozen=True)
class GroupsCell:
    """Problems with some wrong sensors that differ only in their random numbers."""

    fault: str
    share: float  # of the sensors
    noise: float  # relative to a typical measurement

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"{self.fault}, {self.share:.0%} of the sensors, noise {self.noise:g}"

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        digest = hashlib.blake2b(f"{self.key} #{trial}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, eq=False)
class Drawn:
    """A problem, and which of its sensors are wrong."""

    planted: Planted
    y: Vector
    groups: Vector  # the number of the sensor of each measurement
    wrong: Vector  # boolean, of each sensor


def drawn(cell: GroupsCell, trial: int) -> Drawn:
    """The problem of a trial."""
    seed = cell.seed(trial)
    rng = np.random.default_rng([seed, 1])
    m = round(RATIO * degrees_of_freedom(*SHAPE, RANK))
    planted = plant(*SHAPE, RANK, m, rng=seed)
    groups = rng.permutation(np.arange(m) % GROUPS)
    wrong = rng.permutation(GROUPS)[: round(cell.share * GROUPS)]
    unit = float(np.std(planted.y))
    y = planted.y / unit
    kinds = [cell.fault] * len(wrong)
    if cell.fault == MIXED:
        kinds = [*rng.choice([*_FAULTS], len(wrong) - 2), EXCHANGED, EXCHANGED]
    for group, kind in zip(wrong, kinds, strict=True):
        if kind != EXCHANGED:
            own = groups == group
            y[own] = _FAULTS[kind](y[own], rng)
    swapped = [group for group, kind in zip(wrong, kinds, strict=True) if kind == EXCHANGED]
    for one, other in zip(swapped[::2], swapped[1::2], strict=True):
        pair = [np.flatnonzero(groups == group) for group in (one, other)]
        count = min(map(len, pair))
        first, second = (rows[:count] for rows in pair)
        y[first], y[second] = y[second], y[first]
    y += cell.noise * rng.standard_normal(m)
    return Drawn(planted, unit * y, groups, np.isin(np.arange(GROUPS), wrong))


def run_groups(cell: GroupsCell, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    problem = drawn(cell, trial)
    planted, groups, wrong = problem.planted, problem.groups, problem.wrong
    truth = planted.left, planted.right
    good = ~wrong[groups]
    oracle = recover(planted.A[good], problem.y[good], RANK)
    began = time.perf_counter()
    result = recover(planted.A, problem.y, RANK, groups=groups)
    seconds = time.perf_counter() - began
    error, best = (normalized_error((it.left, it.right), truth) for it in (result, oracle))
    named = np.asarray([row.is_wrong for row in result.groups.rows])
    return identity(cell, trial, method) | {
        "status": result.status.name,
        "error": float(f"{error:.4g}"),
        "oracle": float(f"{best:.4g}"),
        "missed": int(np.count_nonzero(wrong & ~named)),
        "accused": int(np.count_nonzero(named & ~wrong)),
        "verdicts": [row.verdict for row in result.groups.rows if row.is_wrong],
    }, seconds
