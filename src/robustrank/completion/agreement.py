"""Do outliers agree with each other? If they do, they could determine a row by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import Array, to_numpy
from robustrank.completion.consensus import best_solution
from robustrank.completion.sample import Sample

Vector = np.ndarray[Any, Any]

_MOST_ROWS = 40  # that are examined, and the same number of columns
_MOST_ENTRIES = 100  # of each


def agreeing_share(
    sample: Sample,
    factors: tuple[Array, Array],
    inliers: Vector,
    cutoff: float,
    rng: np.random.Generator,
) -> float:
    """The approximate share of the entries that are outliers which agree with each other.

    In the rows and the columns with the most rejected entries, the solution is looked for that fits
    most of these. It fits one unrelated outlier for each of its unknowns; flipped signs, or entries
    of another matrix, agree. ``inliers`` are in the order of the rows.
    """
    P, Q = factors
    rejected = ~inliers
    by_columns = rejected[to_numpy(sample.row_places)]
    found = [
        _agreeing(part, to_numpy(other), chosen, cutoff, rng)
        for part, other, chosen in ((sample, Q, rejected), (sample.transposed, P, by_columns))
    ]
    agreeing, tested = (sum(numbers) for numbers in zip(*found, strict=True))
    # One is added to both counts: where few entries can be tested, outliers may agree.
    return float(np.mean(rejected) * (agreeing + 1) / (tested + 1))


def _agreeing(
    sample: Sample, Q: Vector, rejected: Vector, cutoff: float, rng: np.random.Generator
) -> tuple[int, int]:
    """The number of rejected entries that agree beyond the unknowns, and that of those tested."""
    rank, entries = Q.shape[1], sample.by_rows
    owners, others = to_numpy(entries.owners), to_numpy(entries.others)
    values = to_numpy(sample.row_values)
    counts = np.bincount(owners[rejected], minlength=entries.rows)
    starts = to_numpy(entries.starts)
    agreeing = tested = 0
    for i in np.argsort(-counts, kind="stable")[:_MOST_ROWS]:
        if counts[i] <= rank:
            break
        row = slice(int(starts[i]), int(starts[i + 1]))
        chosen = np.flatnonzero(rejected[row])[:_MOST_ENTRIES] + row.start
        _, fitted = best_solution(Q[others[chosen]], values[chosen], cutoff, rng)
        agreeing += max(fitted - rank, 0)
        tested += len(chosen) - rank
    return agreeing, tested
