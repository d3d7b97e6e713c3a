"""How often are problems certified that can be solved, and do stated errors hold, by family?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from experiments.baseline.comparison import problems
from experiments.baseline.judgement import Judged
from experiments.baseline.sets import STUDIES, study_of
from experiments.rows import Row

LARGEST_ERROR = 0.1  # relative to the matrix; nothing with a larger one is certified
CALIBRATED = 0.8, 1.25  # the median of true over stated error
FEWEST = 10  # estimates, for a median


@dataclass(frozen=True)
class Family:
    """What is known about the problems of one family."""

    name: str
    judged: tuple[Judged, ...]

    @property
    def study(self) -> str:
        """The group of families to which it belongs."""
        return study_of(self.name)

    @property
    def solvable(self) -> int:
        """Problems that least squares with the true inliers known solves."""
        return sum(map(is_solvable, self.judged))

    @property
    def certified(self) -> int:
        """Those of them with a right claim."""
        return sum(is_solvable(one) and one.right for one in self.judged)

    @property
    def power(self) -> float:
        """Their share."""
        return self.certified / self.solvable if self.solvable else math.nan

    @property
    def estimated(self) -> tuple[Judged, ...]:
        """Results with noise, that state an error."""
        return tuple(one for one in self.judged if states_error(one))

    @property
    def ratio(self) -> float:
        """The median of true over stated error; NaN if there are few."""
        ratios = [one.error / one.row["stated"] for one in self.estimated]
        return statistics.median(ratios) if len(ratios) >= FEWEST else math.nan

    @property
    def exceeded(self) -> int:
        """How many true errors are above the bound."""
        return sum(map(is_above_bound, self.estimated))

    def wrong(self, status: str) -> int:
        """How many claims of one status are wrong."""
        return sum(one.wrong and one.status == status for one in self.judged)

    def claims(self, status: str) -> int:
        """How many claims of one status there are."""
        return sum(one.status == status for one in self.judged)


def is_solvable(one: Judged) -> bool:
    """Whether least squares with the true inliers known has an error that is small enough."""
    oracle = one.row.get("oracle")
    return oracle is not None and oracle <= LARGEST_ERROR


def states_error(one: Judged) -> bool:
    """Whether a result has noise and a stated error."""
    return one.status == "ESTIMATED" and bool(one.row.get("stated")) and "bound" in one.row


def is_above_bound(one: Judged) -> bool:
    """Whether the true error of an estimate is larger than the stated bound."""
    return states_error(one) and one.error > one.row["bound"]


def families(rows: Iterable[Row]) -> list[Family]:
    """The families in the order of the studies, without problems that were skipped."""
    found: dict[str, list[Judged]] = {}
    for row in problems(rows):
        if "skipped" not in row:
            found.setdefault(row["cell"], []).append(Judged(row))
    ordered = sorted(found, key=lambda cell: (STUDIES.index(study_of(cell)), cell))
    return [Family(cell, tuple(found[cell])) for cell in ordered]
