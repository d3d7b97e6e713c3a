"""Does a majority support every part of the result, and could it have agreed by chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc

from robustrank.backend import like, namespace, to_numpy
from robustrank.certificate.clusters import Labels, Selection
from robustrank.linalg import TangentMap, share_counts, share_maxima

Values = np.ndarray[Any, np.dtype[np.float64]]

# A measurement informs a row or a column of the matrix if it depends on it at all: its share is
# at least this share of that of the measurement that depends on it most.
_INFORMS = 1e-6
# If the rejected measurements are at least twice the rank plus this number, a second solution that
# they agree on would be found.
_SEARCHABLE = 5
_CONTESTABLE = 0.4
# The probability that outliers at random positions are responsible for some part of the result.
_BY_CHANCE = 1e-4


def name_parts(parts: Sequence[int], rows: int) -> str:
    """Rows and columns of the matrix in words, counted from zero: "rows 2–4 and column 7"."""
    named = []
    for kind, numbers in (
        ("row", [part for part in parts if part < rows]),
        ("column", [part - rows for part in parts if part >= rows]),
    ):
        if numbers:
            named.append(f"{kind}{'s' if len(numbers) > 1 else ''} {_as_ranges(numbers)}")
    return " and ".join(named)


def _as_ranges(numbers: list[int]) -> str:
    """Increasing numbers as text, with runs abbreviated: "2–4, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


@dataclass(frozen=True)
class Parts:
    """For each row of the matrix, then each column: how many independent measurements inform it."""

    supporting: Values  # fitted
    rejected: Values
    rows: int  # the number of rows of the matrix
    total: int  # independent measurements
    total_rejected: float

    @classmethod
    def counted(cls, tangent: TangentMap, labels: Labels, fitted: Selection) -> Parts | None:
        """Count what depends on each part; ``fitted`` and ``labels`` are (m,).

        None if the tangent map is not stored.
        """
        xp, example = namespace(tangent.U), like(tangent.U)
        largest = share_maxima(tangent, xp.ones(len(labels), **example))
        if largest is None:
            return None
        weight = 1.0 / np.bincount(labels)[labels]  # repetitions count as one
        both = xp.asarray(np.stack([weight * fitted, weight * ~fitted]), **example)
        counts = to_numpy(share_counts(tangent, _INFORMS * largest, both)).astype(float)
        return cls(
            supporting=counts[0],
            rejected=counts[1],
            rows=tangent.U.shape[0],
            total=int(labels.max()) + 1,
            total_rejected=float(weight @ ~fitted),
        )

    def names(self, parts: list[int]) -> str:
        """The names of some parts for users."""
        return name_parts(parts, self.rows)

    def without_majority(self) -> list[int]:
        """The parts that are not supported by more than half of what informs them."""
        return np.flatnonzero(self.supporting <= self.rejected).tolist()

    def possibly_by_chance(self, rank: int) -> list[int]:
        """The parts that outliers at random positions could have determined.

        If a row of the result is wrong, all but rank − 1 of the measurements that support it are
        outliers, and those that inform it and are rejected are not. Fewer than half of all
        measurements are outliers; if they are at random positions, it is improbable that all of
        these inform one row. Where many measurements are rejected, a second solution is searched
        for instead.
        """
        informing = np.round(self.supporting + self.rejected)
        outliers = np.round(self.total_rejected - self.rejected + self.supporting)
        needed = np.round(self.supporting) - rank
        rate = np.minimum(outliers / self.total, 0.5)
        # The binomial distribution has heavier tails than drawing without replacement.
        # P(X ≥ k) for X of B(n, p) is the incomplete beta function I_p(k, n − k + 1).
        tail = betainc(np.maximum(needed, 1), np.maximum(informing - needed + 1, 1), rate)
        probability = np.where(needed > 0, tail, 1.0)
        contradiction = 2 * outliers >= self.total
        searchable = self.rejected >= 2 * rank + _SEARCHABLE
        probability = np.where(contradiction | searchable, 0.0, probability)
        return np.flatnonzero(probability > _BY_CHANCE / len(probability)).tolist()

    def contestable(self, rank: int) -> list[int]:
        """The parts where a second solution could have at least half of the support.

        The share of rejected measurements may be a little lower, because some measurements fit both
        solutions.
        """
        enough = self.rejected > rank
        return np.flatnonzero(enough & (self.rejected >= _CONTESTABLE * self.supporting)).tolist()
