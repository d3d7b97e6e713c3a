"""The page about a result: its numbers, tables and figures, put into ``page.html``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robustrank.metrics import Truth
from robustrank.report.arrays import Arrays
from robustrank.report.canvas import Sketch
from robustrank.report.counts import entry_counts, rejected_by_group, rejected_by_index
from robustrank.report.curves import convergence, ranks, singular_values
from robustrank.report.histogram import residuals
from robustrank.report.images import Images
from robustrank.report.rendering import render, versions
from robustrank.report.tables import (
    accuracy_tiles,
    comparison,
    cost_tiles,
    group_list,
    largest_outliers,
    prediction_tiles,
    result_tiles,
    undecided_lists,
)
from robustrank.report.verdict import meter, sentences, verdict
from robustrank.result import Result, capitalized, title_of
from robustrank.result import singular_values as singular_values_of


def assemble(
    result: Result,
    truth: Truth | None,
    compare_with: Sequence[Result],
    title: str | None,
    row_labels: Sequence[Any] | None,
    column_labels: Sequence[Any] | None,
) -> str:
    """The whole page as one string; a section is left out if there is nothing to show."""
    arrays, others = Arrays.of(result, row_labels, column_labels), [*map(Arrays.of, compare_with)]
    arrays.check_same_problem(truth, others)
    own_title = title_of(result)
    origin = f"from {len(arrays.residuals):,} {'observed ' * result.of_entries}{arrays.noun}"
    return render(
        "page.html",
        title=title or own_title,
        subtitle=f"{own_title}, {origin}" if title else capitalized(origin),
        verdict=verdict(result),
        sentences=sentences(result),
        meter=meter(result.certificate),
        advice=result.advice,
        attempts=result.attempts if len(result.attempts) > 1 else (),
        tiles={
            "Result": result_tiles(arrays),
            "Comparison with the ground truth": truth and accuracy_tiles(arrays, truth),
            f"Prediction of {arrays.noun} that were left out of the fit": prediction_tiles(result),
            "Cost": cost_tiles(result),
        },
        comparison=comparison([arrays, *others], truth) if others else None,
        images=[sketch.picture() for sketch in Images.of(arrays, truth).all()],
        groups=None if result.groups is None else group_list(result.groups),
        outliers=largest_outliers(arrays, truth),
        undecided=undecided_lists(arrays),
        figures=[sketch.picture() for sketch in _figures(arrays, truth, [result, *compare_with])],
        footer=[versions()],
    )


def _figures(arrays: Arrays, truth: Truth | None, results: Sequence[Result]) -> list[Sketch]:
    true = None if truth is None else singular_values_of(truth.left, truth.right)
    with_history = [one for one in results if len(one.history)]
    table, groups = arrays.result.rank_table, arrays.result.groups
    return [
        residuals(arrays),
        *([convergence(results)] if with_history else []),
        singular_values(arrays.result.singular_values(), true),
        *([ranks(table)] if table is not None else []),
        *([rejected_by_group(groups)] if groups is not None else []),
        *([rejected_by_index(arrays)] if arrays.places is None else entry_counts(arrays)),
    ]
