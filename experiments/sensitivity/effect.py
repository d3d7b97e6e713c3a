"""What a changed literal changes: the rows of its problems, and those without the change."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from experiments.baseline.comparison import Change, Pair
from experiments.baseline.judgement import Judged
from experiments.rows import Key, Row, key_of
from experiments.sensitivity.worker import Outcome

NO_EFFECT, MILD, CLIFF = "no effect", "mild", "cliff"
VERDICTS = (NO_EFFECT, MILD, CLIFF)  # the worst is the last
_MOST_LOST = 0.05  # of the problems; a literal that loses more claims is a cliff
_SIMILAR_TIME = 1.25  # up to this factor, times differ by chance
_EXAMPLES = 5
_MEASURED = ("seconds", "cpu")  # fields that are never the same twice


@dataclass(frozen=True)
class Effect:
    """The differences of a variant, in numbers of problems."""

    problems: int  # that were run
    lost: int  # claims, right or wrong
    gained: int
    wrong: int  # wrong claims that are new
    statuses: int  # that changed, with claims
    exceptions: int  # that are new
    answers: int  # that differ by more than rounding errors
    rows: int  # in which anything differs but the time
    time: float | None  # CPU time of these problems over that of the unchanged package
    failure: str  # why problems are missing: an exception of the import, or too slow
    examples: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """A cliff, mild, or no effect.

        A cliff loses more than 5 % of the problems, or has a new wrong claim, an exception or a
        failure. No effect is the same status everywhere, answers that are equal up to rounding
        errors, and a similar time. Where no row differs, times are not compared: those of a busy
        machine vary by as much.
        """
        bad = self.wrong or self.exceptions or self.failure
        if bad or self.lost > _MOST_LOST * self.problems:
            return CLIFF
        return MILD if self.statuses or self.answers or not self._similar_time else NO_EFFECT

    @property
    def _similar_time(self) -> bool:
        if self.time is None or not self.rows:
            return True
        return 1 / _SIMILAR_TIME <= self.time <= _SIMILAR_TIME

    def row(self) -> Row:
        """The fields for a file."""
        return asdict(self) | {"examples": [*self.examples], "verdict": self.verdict}

    def __str__(self) -> str:
        return ", ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.failure:
            yield f"{self.failure} after {self.problems} problems"
        for name in ("lost", "gained", "wrong", "exceptions", "statuses", "answers"):
            if getattr(self, name):
                yield f"{getattr(self, name)} {name}"
        if self.problems and not self.rows:
            yield "same rows"
        if self.time is not None and self.rows:
            yield f"time × {self.time:.2f}"


def effect_from(row: Row, usual: float = 1.0) -> Effect:
    """The effect in a row of a file; ``usual`` is the ``usual_time`` of all of them."""
    fields = {name: row[name] for name in Effect.__dataclass_fields__}
    time = None if row["time"] is None else round(row["time"] / usual, 3)
    return Effect(**fields | {"examples": tuple(row["examples"]), "time": time})


def usual_time(rows: list[Row]) -> float:
    """The median time of the variants in which no row differs, relative to the unchanged package.

    It is above one if the machine was busier than while the unchanged package ran.
    """
    times = [row["time"] for row in rows if not row["rows"] and row["time"]]
    return statistics.median(times) if times else 1.0


def effect_of(outcome: Outcome, reference: dict[Key, Row]) -> Effect:
    """Compare the rows of a variant with those of the unchanged package."""
    pairs = [Pair(key_of(row), Judged(reference[key_of(row)]), Judged(row)) for row in outcome.rows]
    changed = sorted(
        (pair for pair in pairs if pair.change is not None), key=lambda pair: _rank(pair.change)
    )
    before, after = (sum(times) for times in _times(pairs))
    return Effect(
        problems=len(pairs),
        lost=sum(pair.old.certified and not pair.new.certified for pair in pairs),
        gained=sum(pair.new.certified and not pair.old.certified for pair in pairs),
        wrong=sum(pair.new.wrong and not pair.old.wrong for pair in pairs),
        statuses=sum(pair.old.status != pair.new.status for pair in pairs),
        exceptions=sum(pair.new.failed and not pair.old.failed for pair in pairs),
        answers=sum(pair.difference > pair.old.rounding for pair in pairs),
        rows=sum(_compared(pair.old.row) != _compared(pair.new.row) for pair in pairs),
        time=round(after / before, 3) if before else None,
        failure=outcome.failure,
        examples=tuple(str(pair) for pair in changed[:_EXAMPLES]),
    )


def _rank(change: Change | None) -> int:
    return [*Change].index(change) if change is not None else len(Change)


def _times(pairs: list[Pair]) -> tuple[list[float], list[float]]:
    return [pair.seconds[0] for pair in pairs], [pair.seconds[1] for pair in pairs]


def _compared(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _MEASURED}


def combined(copies: list[list[Row]]) -> tuple[list[Row], int]:
    """One of several runs of the unchanged package, with median times; how many rows differ."""
    runs = [{key_of(row): row for row in rows} for rows in copies]
    rows, different = [], 0
    for row in copies[0]:
        same = [run[key_of(row)] for run in runs]
        different += any(_compared(one) != _compared(row) for one in same)
        rows.append(row | _median_times(same))
    return rows, different


def _median_times(rows: list[Row]) -> Row:
    names = [name for name in _MEASURED if name in rows[0]]
    return {name: statistics.median(row[name] for row in rows) for name in names}
