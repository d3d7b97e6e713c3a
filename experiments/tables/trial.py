"""One trial of a method: draw a problem, fill its table, and measure the result."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.completion_trial import identity
from experiments.definition import Method
from experiments.rows import Row
from experiments.tables.filled import Filled, ProblemCell, TableMethod
from experiments.tables.methods import method as method_named
from experiments.tables.sources import Matrix


def fill(method: TableMethod, table: Matrix) -> tuple[Filled | str, float]:
    """What a method makes of a table on one thread, or why it failed, and the seconds it took."""
    given = table.copy()  # a method may write to it
    with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        try:
            filled: Filled | str = method(given)
        except Exception as error:
            filled = f"{type(error).__name__}: {error}"[:200]
        seconds = time.perf_counter() - began
    return filled, seconds


def run_problem(
    cell: ProblemCell,
    trial: int,
    method: Method,
    sketch: Path | None = None,
    covariance: bool = False,
) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    problem = cell.draw(trial)
    filled, seconds = fill(method_named(method.name, sketch, covariance), problem.given)
    row = identity(cell, trial, method) | problem.about()
    found = {"failure": filled} if isinstance(filled, str) else problem.scored(filled)
    return row | found, seconds
