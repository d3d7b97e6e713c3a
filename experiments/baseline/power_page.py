"""The page about power and stated errors, in Markdown."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator

from experiments.baseline.comparison import ABOUT, problems
from experiments.baseline.judgement import (
    LARGEST,
    LARGEST_OF_ENTRIES,
    LARGEST_OF_SINGLE,
    NEGLIGIBLE,
    TIMES_ORACLE,
    Judged,
)
from experiments.baseline.power import (
    CALIBRATED,
    FEWEST,
    LARGEST_ERROR,
    Family,
    families,
    is_above_bound,
)
from experiments.baseline.sets import keys_of, study_of
from experiments.rows import Row
from experiments.statistics import Rate


def _power(number: float) -> str:
    """A power of ten, as ``1e-6``."""
    return f"1e{math.log10(number):.0f}"


_INTRODUCTION = """\
# Power and stated errors

How often a problem that can be solved is certified, and how large the true error is where a result
states one, for each family of problems with a known answer. The seeds of the problems follow from
the name of the set, `{name}`; no number of the package was chosen with them.

- *Solvable*: least squares with the true inliers known (the *oracle*) has an error of at most
  {limit:.0%} of the norm of the matrix.
- *Wrong*: an exact claim (RECOVERED) with an error above {exact}, or {entries} for completions
  and {single} in single precision; an estimate (ESTIMATED) with an error above {times:g} times
  that of the oracle and above {negligible} ({single} in single precision).
- *True / stated error*: the median of the true error over `result.error`, for families with at
  least {fewest} estimates.
- *Above the bound*: true errors above `result.error_bound`.

[What a certified result asserts](guide/certificate.md#the-stated-error) defines the two stated
errors and their assumptions. The families are in `experiments/baseline/`; this page is written by
`python -m experiments baseline power FILE`.

![Share of solvable problems that are certified, and true over stated error, by
family](../results/baseline/power.png)
"""
_LIMITS = {
    "limit": LARGEST_ERROR,
    "exact": _power(LARGEST),
    "entries": _power(LARGEST_OF_ENTRIES),
    "single": _power(LARGEST_OF_SINGLE),
    "times": TIMES_ORACLE,
    "negligible": _power(NEGLIGIBLE),
    "fewest": FEWEST,
}
_MIXTURE = """\
Shares are those of this mixture of problems, many of which are hard or impossible on purpose; those
of other data may differ. Intervals are Wilson intervals.
"""
_EXCEEDED = """\
## Claims that are wrong, and errors above the bound

These are all. Errors are relative to the norm of the matrix, and of the part that is decided.
`run_problem((FAMILY, NUMBER, "{name}"))` of `experiments.baseline.trial` runs one problem again.
"""
_FAMILIES = (
    "family",
    "problems",
    "solvable",
    "certified of these",
    "RECOVERED (wrong)",
    "ESTIMATED (wrong)",
    "true / stated error",
    "above the bound",
)
_CLAIMS = ("problem", "status", "wrong", "true error", "oracle", "stated", "bound", "error / bound")


def page(rows: list[Row]) -> Iterator[str]:
    """The lines of the page: what was run, all families together, exceptions, and each family."""
    every = families(rows)
    everything = Family("all", tuple(one for family in every for one in family.judged))
    name = str(rows[0]["method"])
    yield from _INTRODUCTION.format(name=name, **_LIMITS).splitlines()
    yield ""
    yield "## Summary"
    yield ""
    yield from _MIXTURE.splitlines()
    yield ""
    yield from (f"- {line}" for line in _summary(rows, everything, every, name))
    yield ""
    yield from _EXCEEDED.format(name=name).splitlines()
    yield ""
    yield from _table(_CLAIMS, 3, (_claim(one) for one in conspicuous(everything.judged)))
    yield ""
    yield "## Families"
    yield ""
    yield from _table(_FAMILIES, 1, map(cells_of, (everything, *every)))


def conspicuous(judged: Iterable[Judged]) -> list[Judged]:
    """Claims that are wrong or have an error above their bound, the largest excess first."""
    found = [one for one in judged if one.wrong or is_above_bound(one)]
    return sorted(found, key=_excess, reverse=True)


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


def _summary(rows: list[Row], everything: Family, every: list[Family], name: str) -> Iterator[str]:
    done = problems(rows)
    skipped = Counter(str(row["skipped"]) for row in done if "skipped" in row)
    reasons = "".join(f"; {count} were skipped ({reason})" for reason, count in skipped.items())
    yield (
        f"{len(done):,} of the {len(keys_of(name)):,} problems of the set were run, in a "
        f"random order{reasons}."
    )
    yield from dict.fromkeys(_described(row) for row in rows if row["cell"] == ABOUT)
    yield (
        f"{everything.certified:,} of {everything.solvable:,} solvable problems are certified and "
        f"right ({everything.power:.0%})."
    )
    for status in ("RECOVERED", "ESTIMATED"):
        yield f"{status}: {_of(everything.wrong(status), everything.claims(status))} are wrong."
    yield from _stated(everything, every)
    raised = Counter(study_of(one.row["cell"]) for one in everything.judged if one.failed)
    listed = ", ".join(f"{study}: {count}" for study, count in raised.items()) or "none"
    yield f"Exceptions, by study: {listed}. (Most problems of `degenerate` are to be refused.)"


def _stated(everything: Family, every: list[Family]) -> Iterator[str]:
    estimated = everything.estimated
    ratios = [family.ratio for family in every if math.isfinite(family.ratio)]
    if not ratios:
        return
    low, high = CALIBRATED
    inside = sum(low <= ratio <= high for ratio in ratios)
    yield (
        f"The median of true over stated error is {everything.ratio:.2f} for all estimates, and "
        f"between {min(ratios):.2f} and {max(ratios):.2f} in the {len(ratios)} families with at "
        f"least {FEWEST} ({inside} of these are within {low} to {high})."
    )
    typical = statistics.median(one.row["bound"] / one.error for one in estimated)
    empty = sum(one.row["bound"] >= 1 for one in estimated)
    yield (
        "The true error is above the bound in "
        f"{_of(everything.exceeded, len(estimated))} of the estimates."
    )
    typical = statistics.median(one.row["bound"] / one.error for one in estimated)
    empty = sum(one.row["bound"] >= 1 for one in estimated)
    yield (
        f"The bound is {typical:.1f} times the true error (median). In {empty} estimates it is "
        "100% or more, and excludes nothing."
    )


def _of(count: int, total: int) -> str:
    """How many of how many, with an interval for the share."""
    low, high = Rate(count, total).interval
    return f"{count} of {total:,} (95 %: {low:.2%} to {high:.2%})"


def _claim(one: Judged) -> Iterator[str]:
    yield f"{one.row['cell']} #{one.row['trial']}"
    yield one.status
    yield "yes" if one.wrong else "no"
    for number in (one.error, one.oracle, one.row.get("stated"), one.row.get("bound")):
        yield "–" if number is None else f"{number:.3g}"
    yield f"{_excess(one):.2f}" if math.isfinite(_excess(one)) else "–"


def _excess(one: Judged) -> float:
    """The true error over its bound; infinite if no error is stated."""
    return one.error / one.row["bound"] if one.row.get("bound") else math.inf


def _table(heads: tuple[str, ...], words: int, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table whose first columns are words, and all others numbers."""
    yield f"| {' | '.join(heads)} |"
    yield "| " + "--- | " * words + " | ".join(["---:"] * (len(heads) - words)) + " |"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _described(row: Row) -> str:
    names = ("robustrank", "revision", "numpy", "scipy")
    return "Versions: " + ", ".join(f"{name} {row[name]}" for name in names if name in row) + "."
