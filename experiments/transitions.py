"""Phase transitions: the settings at which half of the trials succeed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.definition import Cell, Study
from experiments.rows import Table
from experiments.statistics import crossing, rate


def cells_by_rank(study: Study[Cell]) -> dict[int, list[Cell]]:
    """The settings of a study for each rank."""
    ranks = sorted({cell.rank for cell in study.cells})
    return {rank: [cell for cell in study.cells if cell.rank == rank] for rank in ranks}


def heuristic_limit(cell: Cell) -> float:
    """The red line in the paper's figures: the m at which r = (1 − s) m / (n1 + n2)."""
    return cell.rank * sum(cell.shape) / (1 - cell.outliers)


def transition(study: Study[Cell], table: Table, method: str) -> dict[int, float]:
    """For each rank the m at which half of the trials succeed, if it is within the grid."""
    found = {}
    for rank, cells in cells_by_rank(study).items():
        counts = [cell.measurements for cell in cells]
        if (m := _half_succeed(table, cells, counts, method)) is not None:
            found[rank] = m
    return found


def transition_by_size(
    study: Study[Cell], table: Table, method: str, fraction: float
) -> dict[int, float]:
    """For each n of n × n, the inliers per degree of freedom at which half of the trials succeed.

    The smallest value of the grid if it is sufficient, infinity if no value is.
    """
    found = {}
    for shape in sorted({cell.shape for cell in study.cells}):
        cells = [c for c in study.cells if (c.shape, c.outliers) == (shape, fraction)]
        ratios = [(1 - fraction) * cell.measurements / cell.degrees_of_freedom for cell in cells]
        ratio = _half_succeed(table, cells, ratios, method)
        if ratio is None:
            ratio = ratios[0] if rate(table, cells[0], method).value >= 0.5 else math.inf
        found[shape[0]] = ratio
    return found


def distance_from_limit(
    study: Study[Cell], table: Table, method: str
) -> dict[int, tuple[float, float]]:
    """For each rank two m between which half of the trials succeed, relative to the limit, minus 1.

    The upper m is the first of the grid from which on half of the trials succeed. The lower m is
    the one before it, or the m with as many inliers as degrees of freedom if that is larger: no
    method succeeds with fewer.
    """
    distances = {}
    for rank, cells in cells_by_rank(study).items():
        limit = heuristic_limit(cells[0])
        least = cells[0].degrees_of_freedom / (1 - cells[0].outliers)
        failed = [c.measurements for c in cells if rate(table, c, method).value < 0.5]
        low = max(failed, default=0)
        high = min((c.measurements for c in cells if c.measurements > low), default=math.inf)
        distances[rank] = (max(low, least) / limit - 1, high / limit - 1)
    return distances


def _half_succeed(
    table: Table, cells: Sequence[Cell], places: Sequence[float], method: str
) -> float | None:
    return crossing(places, [rate(table, cell, method).value for cell in cells], 0.5)
