"""How often are problems certified that can be solved, and do stated errors hold, by family?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from experiments.baseline.comparison import ABOUT, problems
from experiments.baseline.judgement import Judged
from experiments.baseline.sets import STUDIES, study_of
from experiments.rows import Row

LARGEST_ERROR = 0.1  # relative to the matrix; nothing with a larger one is certified
CALIBRATED = 0.8, 1.25  # the median of true over stated error
_FEWEST = 10  # estimates, for a median


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
        return statistics.median(ratios) if len(ratios) >= _FEWEST else math.nan

    @property
    def exceeded(self) -> int:
        """How many true errors are above the bound."""
        return sum(one.error > one.row["bound"] for one in self.estimated)

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


def families(rows: Iterable[Row]) -> list[Family]:
    """The families in the order of the studies, without problems that were skipped."""
    found: dict[str, list[Judged]] = {}
    for row in problems(rows):
        if "skipped" not in row:
            found.setdefault(row["cell"], []).append(Judged(row))
    ordered = sorted(found, key=lambda cell: (STUDIES.index(study_of(cell)), cell))
    return [Family(cell, tuple(found[cell])) for cell in ordered]


_HEADS = (
    "family",
    "problems",
    "solvable",
    "certified of these",
    "RECOVERED (wrong)",
    "ESTIMATED (wrong)",
    "true / stated error",
    "above the bound",
)
_INTRODUCTION = """\
# Power and stated errors by family of problems

Problems that were never used to choose anything, drawn with fresh seeds. *Solvable*: least squares
with the true inliers known has an error of at most {limit:.0%}. *Wrong*: an exact claim
that is not exact, or an estimate more than three times as far from the truth as that of least
squares with the true inliers known. *True / stated error*: the median of true error over
`result.error`. *Above the bound*: true errors above `result.error_bound`. The families are in
`experiments/baseline/`; the page is written by `python -m experiments baseline power FILE`.

![Power by family](../results/baseline/power.png)
"""


def page(rows: list[Row]) -> Iterator[str]:
    """A page in Markdown: all families together, then each."""
    every = families(rows)
    yield from _INTRODUCTION.format(limit=LARGEST_ERROR).splitlines()
    yield ""
    yield from (_described(row) for row in rows if row["cell"] == ABOUT)
    yield ""
    everything = Family("all", tuple(one for family in every for one in family.judged))
    yield "| " + " | ".join(_HEADS) + " |"
    yield "| --- " + "| ---: " * (len(_HEADS) - 1) + "|"
    yield from (f"| {' | '.join(cells_of(family))} |" for family in (everything, *every))


def cells_of(family: Family) -> Iterator[str]:
    """The row of a family, as text."""
    yield family.name
    yield f"{len(family.judged):,}"
    yield f"{family.solvable:,}"
    yield f"{family.power:.0%}" if family.solvable else "–"
    for status in ("RECOVERED", "ESTIMATED"):
        yield f"{family.claims(status):,} ({family.wrong(status)})"
    yield f"{family.ratio:.2f}" if math.isfinite(family.ratio) else "–"
    yield f"{family.exceeded} of {len(family.estimated):,}" if family.estimated else "–"


def _described(row: Row) -> str:
    names = ("robustrank", "revision", "numpy", "scipy")
    return "Versions: " + ", ".join(f"{name} {row[name]}" for name in names if name in row) + "."
