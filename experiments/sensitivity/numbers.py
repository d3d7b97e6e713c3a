"""The page of the documentation that lists all numbers of the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from experiments.sensitivity.literals import Literal

_TEXT = """# All numbers

These are the numbers in the source of the core, except 0, 1, 2 and ½. The core is everything but
the command, the report, the estimators, the input, data that is not in memory, array libraries,
families of measurements, simulation and planning. Counts of axes and exponents of formulas are
among the numbers. A comment in the source says what each is for; `python -m experiments sensitivity
run` halves and doubles each of them and compares the results of small problems. This page is
written by `python -m experiments sensitivity numbers`.
"""


def page_of_numbers(literals: Sequence[Literal]) -> Iterator[str]:
    """The lines of the page: a table for each package."""
    yield _TEXT
    yield f"There are {len(literals)}."
    for package, members in groupby(literals, key=lambda one: one.file.split("/")[0]):
        of_package = list(members)
        yield f"\n## {package.removesuffix('.py')} ({len(of_package)})\n"
        yield "| file | name | value |"
        yield "| --- | --- | --- |"
        for (file, name), same in groupby(of_package, key=lambda one: (one.file, one.name)):
            values = ", ".join(f"{one.value:g}" for one in same)
            yield f"| {file} | {f'`{name}`' if name else ''} | {values} |"
