"""The page about a completed matrix: its numbers, tables and figures, in ``completion.html``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustrank.report.canvas import Picture
from robustrank.report.completion.arrays import CompletionArrays
from robustrank.report.completion.counts import entry_counts
from robustrank.report.completion.images import matrices
from robustrank.report.completion.tables import (
    largest_outliers,
    matrix_tiles,
    noise_level,
    prediction_tiles,
    undecided_lists,
)
from robustrank.report.completion.verdict import sentences
from robustrank.report.figures import spectrum
from robustrank.report.formatting import capitalized
from robustrank.report.histogram import histogram
from robustrank.report.ranks import rank_comparison
from robustrank.report.rendering import render, versions
from robustrank.report.verdict import meter, verdict
from robustrank.result import Result


def assemble(
    completion: Result,
    title: str | None,
    row_labels: Sequence[Any] | None,
    column_labels: Sequence[Any] | None,
) -> str:
    """The whole page as one string."""
    arrays = CompletionArrays.of(completion, row_labels, column_labels)
    rows, columns = arrays.shape
    matrix = f"A {rows:,} × {columns:,} matrix of rank {completion.rank}"
    origin = f"completed from {completion.certificate.measurements:,} observed entries"
    return render(
        "completion.html",
        title=title or matrix,
        subtitle=f"{matrix}, {origin}" if title else capitalized(origin),
        verdict=verdict(completion),
        sentences=sentences(completion, arrays),
        meter=None if completion.stopped is not None else meter(completion.certificate),
        advice=completion.advice,
        matrix=matrix_tiles(completion, arrays),
        prediction=prediction_tiles(completion.certificate),
        images=matrices(arrays),
        residuals=_residuals(completion, arrays),
        spectrum=spectrum(completion.singular_values(), matrix="completed"),
        ranks=None if completion.rank_table is None else rank_comparison(completion.rank_table),
        counts=entry_counts(arrays),
        outliers=largest_outliers(arrays),
        undecided=undecided_lists(completion, arrays),
        footer=[versions()],
    )


def _residuals(completion: Result, arrays: CompletionArrays) -> Picture:
    caption = (
        "The distribution of |observed − completed| over the observed entries, in the units of the "
        "data. If the two groups are well separated, the classification is clear; if they touch, "
        "some classifications are borderline."
    )
    noise = noise_level(completion) or None  # zero: the inliers are fitted up to rounding
    return histogram(np.abs(arrays.residuals), arrays.rejected, ("σ ≈", noise), "entries", caption)
