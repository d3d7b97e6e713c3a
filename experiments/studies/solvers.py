"""How often each solver recovers the matrix, at settings from easy to barely possible.

The default solver runs on all measurements and, as the oracle, on the inliers alone. The target
success rates are goals of this project.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.definition import DEFAULT, ORACLE, PAPER, Cell, Outcome, Procedure, Study
from experiments.studies.paper import SMALL

FIRST_SEED = 90_000  # no solver was tuned on these problems


def _kind(model: str, *goals: tuple[float, float | None]) -> tuple[Cell, ...]:
    return tuple(
        Cell(2700, 5, s, model, label=f"{model} {s:.0%}", target=goal) for s, goal in goals
    )


_FEW = ((1700, 0.95), (1600, 0.85), (1550, None), (1500, None), (1450, None))
_CELLS = (
    *(Cell(m, 5, label=f"few: m = {m}, 5 % huge", target=goal) for m, goal in _FEW),
    *_kind("huge", (0.1, 1.0), (0.2, 1.0), (0.3, 0.95), (0.4, 0.85), (0.45, None)),
    *_kind("constant", (0.2, 0.95), (0.4, 0.95)),
    *_kind("scale", (0.1, 0.95), (0.2, 0.95), (0.25, None)),
    *_kind("impostor", (0.1, 0.95), (0.2, 0.95), (0.25, None)),
    *_kind("flip", (0.1, 1.0), (0.15, 0.8), (0.2, None), (0.25, None)),
    *_kind("cauchy", (0.3, 0.95)),
    *_kind("one-sided", (0.3, 0.95)),
    *(
        Cell(2700, 5, condition_number=k, label=f"condition number {k}", target=1.0)
        for k in (1, 10, 100, 1000)
    ),
    Cell(2700, 5, rank_bound=8, label="rank 8 given for 5", target=0.95),
    Cell(2400, 5, noise=0.05, label="noise 0.05"),
    Cell(560, 1, label="rank 1"),
    Cell(1090, 2, label="rank 2"),
    Cell(5300, 10, label="rank 10"),
    Cell(2600, 5, shape=(130, 130), label="130 × 130"),
    Cell(3800, 2, shape=(20, 900), label="20 × 900"),
)
_QUICK_CELLS = (
    Cell(280, 2, 0.2, shape=SMALL, label="huge 20%", target=1.0),
    Cell(280, 2, 0.1, "flip", shape=SMALL, label="flip 10%"),
    Cell(280, 2, rank_bound=4, shape=SMALL, label="rank 4 given for 2", target=1.0),
    Cell(280, 2, noise=0.05, shape=SMALL, label="noise 0.05"),
)


def solvers(quick: bool = False) -> Study[Cell]:
    """Success of the default solver, the oracle and the paper's method."""
    cells = _QUICK_CELLS if quick else _CELLS
    return Study(
        "solvers",
        "success rate of each solver",
        tuple(replace(cell, first_seed=FIRST_SEED) for cell in cells),
        (DEFAULT, ORACLE, replace(PAPER, trials=2)),  # the paper's method takes minutes per trial
        trials=4 if quick else 20,
        figure="settings",
        procedure=Procedure(stop_at_success=False, observe=_rank_and_passes),
    )


def _rank_and_passes(outcome: Outcome) -> dict[str, Any]:
    return {"rank": outcome.recovery.rank, "passes": outcome.recovery.passes}
