"""The figures of a study, drawn from rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.definition import Study
from experiments.figures.bars import by_setting, by_status
from experiments.figures.coverage import coverage
from experiments.figures.curves import errors, over_condition, over_sizes
from experiments.figures.groups import solved
from experiments.figures.needed import over_outliers
from experiments.figures.noise_models import ratios
from experiments.figures.planes import over_fractions, over_kinds, over_measurements
from experiments.figures.traces import traces
from experiments.rows import Table
from robustrank.report.canvas import Sketch

__all__ = ["sketches"]

_ONE_PER_METHOD: dict[str, Callable[[Study[Any], Table, str], Sketch]] = {
    "m and r": over_measurements,
    "s and r": over_fractions,
    "kinds": over_kinds,
    "needed": over_outliers,
    "groups": solved,
    "noise": ratios,
}
_ONE_FOR_ALL: dict[str, Callable[[Study[Any], Table, list[str]], Sketch]] = {
    "errors": errors,
    "condition": over_condition,
    "sizes": over_sizes,
    "settings": by_setting,
    "statuses": by_status,
}


def sketches(study: Study[Any], table: Table) -> list[Sketch]:
    """The figures of a study, with the methods that have rows."""
    run = {row["method"] for row in table.rows}
    methods = [method.name for method in study.methods if method.name in run]
    if not methods:
        return []
    if study.figure in _ONE_PER_METHOD:
        return [_ONE_PER_METHOD[study.figure](study, table, method) for method in methods]
    if study.figure == "coverage":
        return coverage(study, table)
    if study.figure == "traces":
        return traces(study, table, methods)
    return [_ONE_FOR_ALL[study.figure](study, table, methods)]
