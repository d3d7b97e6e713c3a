"""The page of the documentation that lists all numbers of the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from experiments.rows import Row
from experiments.sensitivity.kinds import KINDS, count_of, kind_of
from experiments.sensitivity.literals import CHANGES, Literal
from experiments.sensitivity.table import by_literal, verdict_of

_TEXT = """# All numbers

These are the numbers in the source of the core, except 0, 1, 2 and ½. The core is everything but
the command, the report, the estimators, the input, data that is not in memory, array libraries,
families of measurements, simulation and planning. A comment in the source says what each is for.

A *derived* number follows from something else: a probability, a quantile, a bound on rounding
errors, a formula (its exponents, counts and units are among the numbers) or the paper. The
arithmetic is in the comment where it stands. A *size* limits memory, time or a text, and changes no
answer. All others are *tuned*: chosen because results were good with them. The kinds are in
`experiments/sensitivity/kinds.py`.

Each of them was halved and doubled, one at a time, and about a hundred small problems were solved
with each variant (`python -m experiments sensitivity run`, rows in `results/sensitivity`). A
*cliff* loses more than 5 % of the problems, or leads to a wrong claim or an exception; *mild* is a
changed status, answer or time; *no effect* is neither. Limits of sizes and of memory, and what only
large problems, files or a GPU use, have no effect on small problems. This page is written by
`python -m experiments sensitivity numbers`.
"""
_NOT_RUN = "not run"


def page_of_numbers(literals: Sequence[Literal], rows: list[Row]) -> Iterator[str]:
    """The lines of the page: a table for each package; ``rows`` are those of the study."""
    studied = by_literal(rows)
    yield _TEXT
    counts = (f"{count_of(kind, literals)} {kind}" for kind in KINDS)
    yield f"There are {len(literals)}: {', '.join(counts)}."
    for package, members in groupby(literals, key=lambda one: one.file.split("/")[0]):
        of_package = list(members)
        yield f"\n## {package.removesuffix('.py')} ({len(of_package)})\n"
        yield "| file | name | value | kind | verdict | halved | doubled |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for one in of_package:
            pair = studied.get(one.key, {})
            same = all(row["value"] == one.value for row, _ in pair.values())
            found = [str(pair[change][1]) if same and pair else _NOT_RUN for change in CHANGES]
            verdict = verdict_of(pair) if same and pair else _NOT_RUN
            name = f"`{one.name}`" if one.name else ""
            cells = one.file, name, f"{one.value:g}", kind_of(one), verdict, *found
            yield f"| {' | '.join(cells)} |"
