"""Rows and columns that ended at a wrong solution while the others are right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.completion.consensus import best_solution
from robustrank.completion.refinement import Fit
from robustrank.completion.sample import Sample
from robustrank.linalg import point_of

Vector = np.ndarray[Any, Any]

_MOST_ROWS = 1000  # to repair at a time
# A row is supported by at least this many entries more than it has unknowns, and by half of all.
EXTRA = 2


def repaired(sample: Sample, fit: Fit, rng: np.random.Generator) -> tuple[Fit, int]:
    """The fit after repairing rows and then columns, and how many of them improved.

    Rows with few entries within the cutoff are solved by themselves, given the columns: from random
    subsets of as many entries as unknowns, the solution that fits most entries of the row.
    """
    P, Q = fit.factors
    columns = _supported(sample.transposed, Q, P, fit.cutoff)
    P, rows_changed = _repaired_rows(sample, P, Q, columns, fit.cutoff, rng)
    rows = _supported(sample, P, Q, fit.cutoff)
    Q, columns_changed = _repaired_rows(sample.transposed, Q, P, rows, fit.cutoff, rng)
    changed = rows_changed + columns_changed
    return (replace(fit, point=point_of(P, Q)) if changed else fit), changed


def _supported(sample: Sample, P: Array, Q: Array, cutoff: float) -> Vector:
    """Which rows have enough entries within the cutoff."""
    fits = to_numpy(abs(sample.residual(P, Q)) <= cutoff)
    owners = to_numpy(sample.by_rows.owners)
    counts = np.bincount(owners[fits], minlength=sample.shape[0])
    return counts >= _needed(np.bincount(owners, minlength=sample.shape[0]), P.shape[1])


def _needed(counts: Vector, rank: int) -> Vector:
    needed: Vector = np.maximum(rank + EXTRA, counts / 2)
    return needed


def _repaired_rows(
    sample: Sample,
    P: Array,
    Q: Array,
    columns: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """P with its unsupported rows repaired, using the entries in some columns; and how many."""
    rank, entries = P.shape[1], sample.by_rows
    used = columns[to_numpy(entries.others)]
    fits = to_numpy(abs(sample.residual(P, Q)) <= cutoff) & used
    owners = to_numpy(entries.owners)
    counts, fitted = (np.bincount(owners[which], minlength=entries.rows) for which in (used, fits))
    doubtful = (fitted < _needed(counts, rank)) & (counts >= rank + EXTRA)
    starts = to_numpy(entries.starts)
    repaired = {}
    for i in np.flatnonzero(doubtful)[:_MOST_ROWS]:
        row = slice(int(starts[i]), int(starts[i + 1]))
        chosen = used[row]
        places = to_numpy(entries.others[row])[chosen]
        xp = namespace(Q)
        V = to_numpy(xp.take(Q, xp.asarray(places, **like(entries.others)), axis=0))
        solution, count = best_solution(V, to_numpy(sample.row_values[row])[chosen], cutoff, rng)
        if count > fitted[i]:
            repaired[i] = solution
    if not repaired:
        return P, 0
    fixed = np.array(to_numpy(P))
    fixed[list(repaired)] = np.stack(list(repaired.values()))
    return namespace(P).asarray(fixed, **like(P)), len(repaired)
