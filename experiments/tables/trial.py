"""One trial of a method: draw a table, fill it, and measure the result."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np

from experiments.completion_trial import identity
from experiments.definition import Method
from experiments.rows import Row
from experiments.tables.draws import Design, TableCell
from experiments.tables.filled import Filled, TableMethod
from experiments.tables.measure import measured
from experiments.tables.methods import method as method_named
from experiments.tables.sources import Matrix


def fill(method: TableMethod, table: Matrix) -> tuple[Filled | str, float]:
    """What a method makes of a table, or why it failed, and the seconds it took."""
    given = table.copy()  # a method may write to it
    began = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            filled: Filled | str = method(given)
        except Exception as error:
            filled = f"{type(error).__name__}: {error}"[:200]
    return filled, time.perf_counter() - began


def run_table(
    cell: TableCell, trial: int, method: Method, sketch: Path | None = None
) -> tuple[Row, float]:
    """The row of a trial on a real table, and the seconds it took."""
    draw = cell.draw(trial)
    filled, seconds = fill(method_named(method.name, sketch), draw.given)
    design = Design.of(cell.family, trial)
    row = identity(cell, trial, method) | {
        "share": design.share,
        "hiding": design.hiding,
        "level": design.level,
        "kind": design.kind,
    }
    found = {"failure": filled} if isinstance(filled, str) else measured(filled, draw)
    return row | found, seconds
