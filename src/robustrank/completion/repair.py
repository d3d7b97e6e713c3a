"""Rows and columns that ended at a wrong solution: the one that most equations agree on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.certificate import EXTRA
from robustrank.completion.refinement import Fit
from robustrank.completion.sample import MANY, Sample
from robustrank.linalg import ROUNDINGS, point_of

Vector = np.ndarray[Any, Any]

MOST_ROWS = 1000  # that are solved one at a time
_TIMES_WITH_NOISE = 2


def repaired(sample: Sample, fit: Fit, rng: np.random.Generator) -> tuple[Fit, int]:
    """The fit after repairing rows and then columns, and how many of them improved.

    Rows with few entries within the cutoff are solved by themselves, given the columns: from random
    subsets with one entry for each unknown, the solution that fits most entries of the row. With
    noise, only rows with many entries of which most do not fit are repaired.
    """
    P, Q = fit.factors
    columns = _supported(sample.transposed, Q, P, fit.cutoff)
    P, rows_changed = _repaired_rows(sample, P, Q, columns, fit, rng)
    rows = _supported(sample, P, Q, fit.cutoff)
    Q, columns_changed = _repaired_rows(sample.transposed, Q, P, rows, fit, rng)
    changed = rows_changed + columns_changed
    return (replace(fit, point=point_of(P, Q)) if changed else fit), changed


def undecided_refitted(
    sample: Sample, factors: tuple[Array, Array], rows: Vector, columns: Vector, cutoff: float
) -> tuple[Array, Array]:
    """Factors whose other rows and columns are fitted to the decided ones, where that fits more.

    ``rows`` and ``columns`` are those that are decided, boolean. A row with hardly more entries
    than unknowns is not decided, because nothing checks it, but its entries may determine it.
    """
    P, Q = factors
    P = _undecided_rows_refitted(sample, P, Q, rows, columns, cutoff)
    return P, _undecided_rows_refitted(sample.transposed, Q, P, columns, rows, cutoff)


def _undecided_rows_refitted(
    sample: Sample, P: Array, Q: Array, rows: Vector, columns: Vector, cutoff: float
) -> Array:
    owners, others = (to_numpy(at) for at in (sample.by_rows.owners, sample.by_rows.others))
    used = ~rows[owners] & columns[others]
    if not used.any():
        return P
    xp, device = namespace(P), like(P)["device"]
    part = sample.subset(xp.asarray(used, device=device))
    ridge = ROUNDINGS * epsilon(Q) * float(xp.sum(Q**2)) / Q.shape[0]  # no matrix is singular
    refitted = part.fit_rows(P, Q, math.inf, ridge)
    before, after = (part.count_by_row(part.within(one, Q, cutoff)) for one in (P, refitted))
    return xp.where(xp.asarray(after > before, device=device)[:, None], refitted, P)


def _supported(sample: Sample, P: Array, Q: Array, cutoff: float) -> Vector:
    """Which rows have enough entries within the cutoff."""
    fitted = sample.count_by_row(sample.within(P, Q, cutoff))
    return fitted >= _needed(to_numpy(sample.by_rows.counts), P.shape[1])


def _needed(counts: Vector, rank: int) -> Vector:
    needed: Vector = np.maximum(rank + EXTRA, counts / 2)
    return needed


def _repaired_rows(
    sample: Sample,
    P: Array,
    Q: Array,
    columns: Vector,
    fit: Fit,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """P with its unsupported rows repaired, using the entries in some columns; and how many."""
    used = columns[to_numpy(sample.by_rows.others)]
    counts = sample.count_by_row(used)
    fitted = sample.count_by_row(used & sample.within(P, Q, fit.cutoff))
    # With noise, a solution of hardly more entries than unknowns would fit the noise.
    fewest = (fit.rank + EXTRA) * (_TIMES_WITH_NOISE if fit.has_noise else 1)
    doubtful = (fitted < _needed(counts, fit.rank)) & (counts >= fewest)
    known, fixed, changed = to_numpy(Q), np.array(to_numpy(P)), 0
    for i in np.flatnonzero(doubtful)[:MOST_ROWS]:
        solution, count = best_solution(*sample.equations(i, used, known), fit.cutoff, rng)
        if count > fitted[i]:
            fixed[i] = solution
            changed += 1
    return namespace(P).asarray(fixed, **like(P)), changed


# Subsets of equations to try. With 40 % outliers and five unknowns, one of 13 has none.
_SUBSETS = 200
_ROUNDS = 2


def best_solution(
    V: Vector, values: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[Vector, int]:
    """The x for which most of |values − V x| are within the cutoff, and how many are."""
    V, values = V.astype(float), values.astype(float)  # the ridge is below the rounding of float32
    count, rank = V.shape
    if count <= MANY:
        subsets = rng.permuted(np.tile(np.arange(count), (_SUBSETS, 1)), axis=1)[:, :rank]
    else:  # equal numbers are rare, and harmless
        subsets = rng.integers(count, size=(_SUBSETS, rank))
    matrices = V[subsets]
    # A tiny ridge, so that no matrix is singular.
    normal, float64 = matrices.transpose(0, 2, 1) @ matrices, np.finfo(float)
    ridge = ROUNDINGS * float64.eps * np.trace(normal, axis1=1, axis2=2) + float64.tiny
    normal += ridge[:, None, None] * np.eye(rank)
    right = matrices.transpose(0, 2, 1) @ values[subsets][..., None]
    solutions = np.linalg.solve(normal, right)[..., 0]
    fits = np.abs(solutions @ V.T - values) <= cutoff
    best = int(np.argmax(np.sum(fits, axis=1)))
    solution, within = solutions[best], fits[best]
    for _ in range(_ROUNDS):  # least squares on what it fits
        refitted = np.linalg.lstsq(V[within], values[within], rcond=None)[0]
        more = np.abs(V @ refitted - values) <= cutoff
        if np.sum(more) < np.sum(within):
            break
        solution, within = refitted, more
    return solution, int(np.sum(within))
