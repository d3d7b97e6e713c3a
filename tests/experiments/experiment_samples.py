"""Small studies and invented rows for the tests of the experiments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import robustrank as rr
from experiments import DEFAULT, Cell, Method, Study, Table

ROOT = Path(__file__).parents[2]

TINY = Study(
    "tiny",
    "a small one",
    tuple(Cell(60, rank, 0.1, shape=(8, 6)) for rank in (1, 2)),
    (DEFAULT, Method("descent", rr.solvers.MedianTGD(max_iterations=40))),
    trials=3,
)
ROW = {"cell": "8x6 r=1 m=60 huge 0.1", "trial": 0, "method": "default", "error": 1.25e-14}

Error = Callable[[Any, Method], float]  # of a setting and a method


def invented_rows(one: Study[Any], error: Error, **fields: Any) -> Table:
    """A complete table in which every trial of a setting and a method has the same error."""
    rows = []
    for cell in one.cells:
        for method in one.methods:
            value = error(cell, method)
            rows += [
                {
                    "cell": cell.key,
                    "trial": trial,
                    "method": method.name,
                    "error": value,
                    "place": "nowhere",
                    "status": "RECOVERED" if value < 1e-6 else "INCONCLUSIVE",
                    "iterations": 7,
                    "trace": [(0, 1, 1.0), (10, 21, 0.1), (20, 41, value)],
                    "family": getattr(cell, "family", ""),
                    "solvable": trial % 2 == 0,
                    "benign": trial % 4 == 0,
                    "wrong": False,
                    "oracle": 1e-3,
                    "missed": 0,
                    "good_named": 0,
                    "right_fault": 1,
                    "passes": 9,
                    "decided": [*getattr(cell, "shape", ())],
                    **fields,
                }
                for trial in range(one.trials_of(method))
            ]
    return Table(rows, [])
