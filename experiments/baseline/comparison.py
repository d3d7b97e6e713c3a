"""Compares the rows of two versions problem by problem, and describes the rows of one."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from experiments.baseline.judgement import Judged
from experiments.baseline.sets import STUDIES, study_of
from experiments.rows import Key, Row, key_of

ABOUT = "about"  # the setting of rows that describe the machine and the versions
_SLOWEST = 10
_LEAST_SECONDS = 0.02  # shorter times are not compared
_ALL = "all"
_TIMES = ("CPU seconds", "mean", "median", "95 %")
T = TypeVar("T")


class Change(Enum):
    """How a claim changed; the first ones are the most serious."""

    WRONG_GAINED = "!!! A WRONG CLAIM IS NEW"
    RIGHT_LOST = "!!! A RIGHT CLAIM IS LOST"
    EXCEPTION_GAINED = "an exception is new"
    EXCEPTION_LOST = "an exception is gone"
    WRONG_LOST = "a wrong claim is gone"
    RIGHT_GAINED = "a right claim is new"
    MESSAGE = "another exception"
    STATUS = "another status"
    RANK = "another rank"

    @property
    def fails(self) -> bool:
        """Whether a version with such a change is worse."""
        return self in (Change.WRONG_GAINED, Change.RIGHT_LOST)


@dataclass(frozen=True)
class Pair:
    """The same problem in two versions."""

    key: Key
    old: Judged
    new: Judged

    @cached_property
    def change(self) -> Change | None:
        """How the claim changed, by the most serious description; None if it did not."""
        old, new = self.old, self.new
        different = {
            Change.WRONG_GAINED: new.wrong and not old.wrong,
            Change.RIGHT_LOST: old.right and not new.right,
            Change.EXCEPTION_GAINED: new.failed and not old.failed,
            Change.EXCEPTION_LOST: old.failed and not new.failed,
            Change.WRONG_LOST: old.wrong and not new.wrong,
            Change.RIGHT_GAINED: new.right and not old.right,
            Change.MESSAGE: old.failed and str(old) != str(new),
            Change.STATUS: old.status != new.status,
            Change.RANK: old.row.get("rank") != new.row.get("rank"),
        }
        return next((change for change, applies in different.items() if applies), None)

    @property
    def difference(self) -> float:
        """The largest difference of the two answers, relative to the norm of the matrix."""
        answers = (self.old.row.get("answer", []), self.new.row.get("answer", []))
        pairs = [(a, b) for a, b in zip(*answers, strict=False) if None not in (a, b)]
        return max((abs(a - b) for a, b in pairs), default=0.0)

    @property
    def differs(self) -> bool:
        """Whether both are certified and the answers differ by more than rounding errors."""
        both = self.old.certified and self.new.certified
        return both and self.difference > self.old.rounding

    @property
    def ratio(self) -> float | None:
        """The new CPU time over the old one; None if it is too short to compare."""
        old, new = self.seconds
        return new / old if min(old, new) >= _LEAST_SECONDS else None

    @property
    def seconds(self) -> tuple[float, float]:
        """The CPU time of both."""
        return self.old.row.get("cpu", 0.0), self.new.row.get("cpu", 0.0)

    def __str__(self) -> str:
        return f"{named(self.key)}: {self.old} -> {self.new}"


@dataclass(frozen=True)
class Comparison:
    """The problems of two files."""

    pairs: list[Pair]
    skipped: int  # in one of the files
    changed_data: list[Key]  # problems that are not the same in both
    only_old: int
    only_new: int

    @property
    def failed(self) -> bool:
        """Whether a right claim was lost or a wrong one gained."""
        return any(pair.change is not None and pair.change.fails for pair in self.pairs)

    def lines(self) -> Iterator[str]:
        """The comparison as text."""
        yield f"{len(self.pairs):,} problems are compared; {self.skipped:,} were skipped in a file"
        if self.only_old or self.only_new:
            yield f"not in both files: {self.only_old:,} old, {self.only_new:,} new"
        if self.changed_data:
            yield f"!!! {len(self.changed_data):,} problems have other data and are not compared:"
            yield from (f"  {named(key)}" for key in self.changed_data[:_SLOWEST])
        yield ""
        yield from self._changes()
        yield from self._differences()
        yield from self._table()
        yield ""
        yield from self._slowest()
        yield ""
        yield "FAILED: see the lines with !!!" if self.failed else "no claim is worse"

    def _changes(self) -> Iterator[str]:
        for change in Change:
            found = [pair for pair in self.pairs if pair.change is change]
            if found:
                yield f"{change.value}: {len(found):,}"
                yield from (f"  {pair}" for pair in found)
                yield ""

    def _differences(self) -> Iterator[str]:
        found = sorted((p for p in self.pairs if p.differs), key=lambda p: -p.difference)
        if found:
            yield f"certified answers that differ by more than rounding: {len(found):,}; largest:"
            yield from (f"  {pair.difference:.2g}  {pair}" for pair in found[:_SLOWEST])
            yield ""
        rejected = [p for p in self.pairs if p.old.right and p.new.right and _outliers_differ(p)]
        if rejected:
            yield f"right results with other outliers: {len(rejected):,}"
            yield ""

    def _table(self) -> Iterator[str]:
        counts: dict[str, Callable[[Judged], bool]] = {
            "claimed": lambda one: one.certified,
            "wrong": lambda one: one.wrong,
            "solved": lambda one: one.solved,
            "exceptions": lambda one: one.failed,
        }
        rows = [["study", "problems", *counts, "changed", "time", "95 %"]]
        for study, pairs in _by_study(self.pairs, lambda pair: pair.key).items():
            cells = []
            for count in counts.values():
                old, new = (sum(map(count, side)) for side in zip(*_sides(pairs), strict=True))
                cells.append(f"{old}" if old == new else f"{old} -> {new}")
            changed = sum(pair.change is not None for pair in pairs)
            ratios = [pair.ratio for pair in pairs if pair.ratio is not None]
            times = [f"{value:.2f}" for value in _median_and_high(ratios)]
            rows.append([study, str(len(pairs)), *cells, str(changed), *times])
        yield from aligned(rows)

    def _slowest(self) -> Iterator[str]:
        yield "slowest problems, CPU seconds:"
        for pair in sorted(self.pairs, key=lambda pair: -max(pair.seconds))[:_SLOWEST]:
            old, new = pair.seconds
            yield f"  {old:7.2f} -> {new:7.2f}  {named(pair.key)}"


def compare(old: Iterable[Row], new: Iterable[Row]) -> Comparison:
    """Compare two versions."""
    olds, news = ({key_of(row): row for row in problems(rows)} for rows in (old, new))
    both = [key for key in olds if key in news]
    skipped = [key for key in both if "skipped" in olds[key] or "skipped" in news[key]]
    ran = sorted(set(both) - set(skipped))
    changed = [key for key in ran if _is_other_data(olds[key], news[key])]
    kept = sorted(set(ran) - set(changed))
    return Comparison(
        [Pair(key, Judged(olds[key]), Judged(news[key])) for key in kept],
        len(skipped),
        changed,
        len(olds) - len(both),
        len(news) - len(both),
    )


def _is_other_data(old: Row, new: Row) -> bool:
    """Whether the data of a problem changed; that it cannot be drawn any more is an exception."""
    return "data" in old and "data" in new and bool(old["data"] != new["data"])


def described(rows: list[Row]) -> Iterator[str]:
    """The rows of one version as text."""
    for row in rows:
        if row["cell"] == ABOUT:
            hidden = ("cell", "trial", "method")
            yield ", ".join(f"{name} {row[name]}" for name in row if name not in hidden)
    ran = [row for row in problems(rows) if "skipped" not in row]
    skipped = Counter(row["skipped"] for row in problems(rows) if "skipped" in row)
    yield from (f"skipped: {count} ({reason})" for reason, count in sorted(skipped.items()))
    yield ""
    table = [["study", "problems", "claimed", "wrong", "solved", "exceptions", *_TIMES]]
    for study, some in _by_study(ran, key_of).items():
        judged = [Judged(row) for row in some]
        counts = (
            sum(one.certified for one in judged),
            sum(one.wrong for one in judged),
            sum(one.solved for one in judged),
            sum(one.failed for one in judged),
        )
        seconds = [row.get("cpu", 0.0) for row in some]
        times = (sum(seconds), statistics.fmean(seconds), *_median_and_high(seconds))
        table.append([study, str(len(some)), *map(str, counts), *(f"{t:.2f}" for t in times)])
    yield from aligned(table)
    yield from _listed("wrong claims", (row for row in ran if Judged(row).wrong))
    unexpected = (r for r in ran if Judged(r).failed and study_of(r["cell"]) != "degenerate")
    yield from _listed("exceptions, without those of degenerate input", unexpected)
    yield from _listed("warnings", (row for row in ran if "warnings" in row))
    slow = sorted(ran, key=lambda row: -row.get("cpu", 0.0))[:_SLOWEST]
    yield from _listed("slowest", slow)


def _listed(title: str, rows: Iterable[Row]) -> Iterator[str]:
    listed = [*rows]
    yield ""
    yield f"{title}: {len(listed)}"
    for row in listed:
        oracle, warned = row.get("oracle"), ", ".join(row.get("warnings", []))
        known = "" if oracle is None else f", oracle {oracle:.2g}"
        seconds = f", {row.get('cpu', 0.0):.2f} s"
        yield f"  {named(key_of(row))}: {Judged(row)}{known}{seconds} {warned}".rstrip()


def problems(rows: Iterable[Row]) -> list[Row]:
    """The rows of problems, without those that describe a run."""
    return [row for row in rows if row["cell"] != ABOUT]


def named(key: Key) -> str:
    """A problem on one line."""
    cell, trial, name = key
    return f"{name} {cell} #{trial}"


def _outliers_differ(pair: Pair) -> bool:
    return pair.old.row.get("outliers") != pair.new.row.get("outliers")


def _sides(pairs: list[Pair]) -> list[tuple[Judged, Judged]]:
    return [(pair.old, pair.new) for pair in pairs]


def _by_study(items: list[T], key: Callable[[T], Key]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(study_of(key(item)[0]), []).append(item)
    order = [study for study in STUDIES if study in groups]
    order += sorted(set(groups) - set(order))
    return {study: groups[study] for study in order} | ({_ALL: items} if items else {})


def _median_and_high(values: list[float]) -> tuple[float, float]:
    if not values:
        return float("nan"), float("nan")
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """A table with aligned columns; the first is text, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = row
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells])
