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
    "dead": lambda y, _: np.zeros_like(y),
    "stuck": lambda y, rng: np.full_like(y, rng.standard_normal()),
    "offset 0.1": lambda y, _: y + 0.1,
    "offset 1": lambda y, _: y + 1,
    "gain 0.8": lambda y, _: 0.8 * y,
    "gain 1.2": lambda y, _: 1.2 * y,
    "gain 2": lambda y, _: 2 * y,
    "gain -1": lambda y, _: -y,
    "noise only": lambda y, rng: rng.standard_normal(len(y)),
}
EXCHANGED, MIXED = "exchanged", "mixed"  # with the values of another sensor; one fault for each
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
    faults: dict[int, str]  # of the wrong sensors


def drawn(cell: GroupsCell, seed: int) -> Drawn:
    """The problem of a seed."""
    rng = np.random.default_rng([seed, 1])
    m = round(RATIO * degrees_of_freedom(*SHAPE, RANK))
    planted = plant(*SHAPE, RANK, m, rng=seed)
    groups = rng.permutation(np.arange(m) % GROUPS)
    wrong = rng.permutation(GROUPS)[: round(cell.share * GROUPS)].tolist()
    kinds = [cell.fault] * len(wrong)
    if cell.fault == MIXED:
        kinds = [*rng.choice([*_FAULTS], len(wrong) - 2).tolist(), EXCHANGED, EXCHANGED]
    faults = dict(zip(wrong, kinds, strict=True))
    unit = float(np.std(planted.y))
    y = planted.y / unit
    for group, kind in faults.items():
        if kind != EXCHANGED:
            own = groups == group
            y[own] = _FAULTS[kind](y[own], rng)
    exchanged = [np.flatnonzero(groups == group) for group in wrong if faults[group] == EXCHANGED]
    for one, other in zip(exchanged[::2], exchanged[1::2], strict=True):
        count = min(len(one), len(other))
        y[one[:count]], y[other[:count]] = y[other[:count]], y[one[:count]]
    y += cell.noise * rng.standard_normal(m)
    return Drawn(planted, unit * y, groups, faults)


def run_groups(cell: GroupsCell, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    problem = drawn(cell, cell.seed(trial))
    planted, groups, faults = problem.planted, problem.groups, problem.faults
    good = ~np.isin(groups, [*faults])
    oracle = recover(planted.A[good], problem.y[good], RANK)
    began = time.perf_counter()
    result = recover(planted.A, problem.y, RANK, groups=groups)
    seconds = time.perf_counter() - began
    truth = planted.left, planted.right
    error, best = (normalized_error((it.left, it.right), truth) for it in (result, oracle))
    table = result.groups
    named = {} if table is None else {row.label: row.verdict for row in table.wrong}
    return identity(cell, trial, method) | {
        "status": result.status.name,
        "error": float(f"{error:.4g}"),
        "oracle": float(f"{best:.4g}"),
        "missed": len({*faults} - {*named}),
        "good_named": len({*named} - {*faults}),
        "right_fault": sum(
            named.get(group, "").split(" with")[0] == fault.rstrip("-.0123456789 ")
            for group, fault in faults.items()
        ),
    }, seconds


def is_right(cell: GroupsCell, row: Row) -> bool:
    """Whether the error is as small as that of an oracle that knows the wrong sensors."""
    return bool(row["error"] < (AS_GOOD * row["oracle"] if cell.noise else EXACT))


def is_solved(cell: GroupsCell, row: Row) -> bool:
    """Whether a right result is certified, and the wrong sensors and at most one other named."""
    certified = row["status"] in ("RECOVERED", "ESTIMATED")
    return is_right(cell, row) and certified and not row["missed"] and row["good_named"] <= 1


def groups(quick: bool = False) -> Study[GroupsCell]:
    """Sensors that are wrong altogether: each fault alone, and all together."""
    cells = tuple(
        GroupsCell(fault, share, noise)
        for noise in NOISES
        for share in SHARES
        for fault in KINDS
        if not quick or (share == max(SHARES) and fault in (MIXED, "dead"))
    )
    return Study(
        "groups",
        "sensors that are wrong altogether",
        cells,
        (DEFAULT,),
        trials=2 if quick else 20,
        figure="groups",
        procedure=Procedure(run=run_groups),
    )
