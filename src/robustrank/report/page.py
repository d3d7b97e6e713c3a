"""The page about a recovery: its numbers, tables and figures, put into ``recovery.html``."""

from __future__ import annotations

from collections.abc import Sequence

from robustrank.metrics import Truth, evaluate
from robustrank.report.figures import convergence, spectrum
from robustrank.report.formatting import capitalized
from robustrank.report.histogram import residuals
from robustrank.report.images import matrices
from robustrank.report.ranks import rank_comparison
from robustrank.report.rendering import render, versions
from robustrank.report.same_problem import check_same_problem
from robustrank.report.tables import (
    accuracy_tiles,
    comparison,
    cost_tiles,
    fit_tiles,
    largest_residuals,
)
from robustrank.report.verdict import meter, sentences, verdict
from robustrank.result import Result, singular_values


def assemble(
    recovery: Result, truth: Truth | None, compare_with: Sequence[Result], title: str | None
) -> str:
    """The whole page as one string."""
    check_same_problem(recovery, truth, compare_with)
    true = None if truth is None else singular_values(truth.left, truth.right)
    rows, columns = recovery.shape
    matrix = f"A {rows} × {columns} matrix of rank {recovery.rank}"
    origin = f"from {recovery.certificate.measurements:,} measurements (solver: {recovery.solver})"
    return render(
        "recovery.html",
        title=title or matrix,
        subtitle=f"{matrix} {origin}" if title else capitalized(origin),
        verdict=verdict(recovery),
        sentences=sentences(recovery),
        meter=meter(recovery.certificate),
        advice=recovery.advice,
        attempts=recovery.attempts if len(recovery.attempts) > 1 else (),
        fit=fit_tiles(recovery),
        accuracy=None if truth is None else accuracy_tiles(evaluate(recovery, truth)),
        cost=cost_tiles(recovery),
        comparison=comparison([recovery, *compare_with], truth) if compare_with else None,
        curves=[convergence([recovery, *compare_with]), residuals(recovery)],
        images=matrices(recovery, truth),
        spectrum=spectrum(recovery.singular_values(), true),
        ranks=None if recovery.rank_table is None else rank_comparison(recovery.rank_table),
        worst=largest_residuals(recovery, truth),
        footer=[versions(f"solver {recovery.solver}")],
    )
