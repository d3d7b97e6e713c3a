"""Problems with noise of unequal size, and with sensors that are wrong altogether."""

from __future__ import annotations

import numpy as np

import robustrank as rr
from experiments.baseline.entry_oracle import EntryOracle
from experiments.baseline.problem import TIME_LIMIT, Draw, Problem
from experiments.battery.oracle import solve as least_squares
from experiments.studies import groups
from experiments.studies.noise import KINDS, OUTLIERS, drawn

NOISES = tuple(f"{family} {kind}" for family, kinds in KINDS.items() for kind in kinds)
FAULTS = groups.KINDS


def noise(draw: Draw) -> Problem:
    """Noise of one kind, without outliers or with those of one kind; the rank is not given."""
    family, kind = draw.family.split()
    share, model = OUTLIERS[draw.integer(0, len(OUTLIERS) - 1)]
    problem = drawn(family, kind, share, model, draw.new_seed())
    measured = problem.measured

    def solve() -> rr.Result:
        return problem.solve(rng=0, time_limit=TIME_LIMIT)

    entries: EntryOracle | None = None
    if family == "entries":
        planted = rr.simulate.PlantedEntries(
            measured.rows,
            measured.columns,
            measured.y,
            problem.wrong,
            problem.left,
            problem.right,
        )
        entries = EntryOracle(planted, possible=True)
    return Problem(
        solve,
        measured.y,
        problem.left,
        problem.right,
        problem.wrong,
        problem.oracle,
        entries,
    )


def faults(draw: Draw) -> Problem:
    """Sensors with one kind of fault, a tenth to a third of them; the rank is given."""
    level = draw.choice(*groups.NOISES)
    cell = groups.GroupsCell(draw.family, draw.choice(*groups.SHARES), level)
    problem = groups.drawn(cell, draw.new_seed())
    planted = problem.planted
    wrong = np.isin(problem.groups, [*problem.faults])

    def solve() -> rr.Result:
        return rr.recover(
            planted.A,
            problem.y,
            groups.RANK,
            groups=problem.groups,
            rng=0,
            time_limit=TIME_LIMIT,
        )

    def oracle() -> float | None:
        return least_squares(
            planted.A[~wrong], problem.y[~wrong], planted.matrix, groups.RANK, symmetric=False
        ).error

    return Problem(solve, problem.y, planted.left, planted.right, wrong, oracle)
