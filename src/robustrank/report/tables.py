"""The numbers of the page: tiles, the comparison of solvers, the worst measurements."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from robustrank.backend import to_numpy
from robustrank.metrics import Evaluation, Truth, evaluate
from robustrank.report.words import number, share, solver_labels, verdict
from robustrank.result import Recovery

_LISTED = 8


def key_numbers(recovery: Recovery, evaluation: Evaluation | None) -> str:
    """The tiles: what was explained and what it cost; then the distance from the truth."""
    met, total = recovery.certificate.exact_fits, recovery.certificate.measurements
    flagged = int(np.count_nonzero(to_numpy(recovery.outliers)))
    tiles = [
        _tile("Explained", f"{met:,}", f"measurements, {share(met, total)} of {total:,}"),
        _tile(
            "Not believed", f"{flagged:,}", f"measurements, {share(flagged, total)} of {total:,}"
        ),
        _tile("Misfit", number(recovery.certificate.misfit), "of a typical measurement"),
        _tile("Iterations", f"{recovery.iterations:,}", "steps of the solver"),
        _tile("Passes", number(recovery.passes), "over the sensing data"),
        _tile("Seconds", number(recovery.seconds), "wall clock"),
    ]
    row = f'<dl class="tiles">{"".join(tiles)}</dl>'
    return row if evaluation is None else row + _against_truth(evaluation)


def _against_truth(evaluation: Evaluation) -> str:
    score = evaluation.outliers
    real = score.found + score.missed
    tiles = [
        _tile("Normalised error", number(evaluation.error), "of the planted matrix's norm"),
        _tile("Outliers found", f"{score.found:,}", f"of {real:,} planted"),
        _tile("Outliers missed", f"{score.missed:,}", "believed, but corrupted"),
        _tile("Falsely false_positives", f"{score.false_positives:,}", "not believed, but clean"),
    ]
    return (
        '<h2 class="label">Against the planted truth</h2>'
        f'<dl class="tiles four">{"".join(tiles)}</dl>'
    )


def _tile(name: str, value: str, note: str) -> str:
    return (
        f'<div class="tile"><dt>{escape(name)}</dt><dd>{escape(value)}'
        f"<small>{escape(note)}</small></dd></div>"
    )


def comparison(recoveries: Sequence[Recovery], truth: Truth | None) -> str:
    """A table of several recoveries of one problem, the page's own first."""
    heads = ["Solver", "Status", "Error", "Misfit", "Iterations", "Passes", "Seconds"]
    rows = [
        [label, _status(recovery), _error(recovery, truth), *_work(recovery)]
        for label, recovery in zip(solver_labels(recoveries), recoveries, strict=True)
    ]
    if truth is None:
        heads, rows = _without(heads, 2), [_without(row, 2) for row in rows]
    table = _table(heads, rows)
    return f'<section class="card compare"><h2>Solvers side by side</h2>{table}</section>'


def _without(row: Sequence[str], place: int) -> list[str]:
    return [*row[:place], *row[place + 1 :]]


def _status(recovery: Recovery) -> str:
    seen = verdict(recovery.status)
    return f"{seen.sign} {seen.word}"


def _error(recovery: Recovery, truth: Truth | None) -> str:
    return "" if truth is None else number(evaluate(recovery, truth).error)


def _work(recovery: Recovery) -> list[str]:
    numbers = (recovery.certificate.misfit, recovery.passes, recovery.seconds)
    misfit, passes, seconds = (number(value) for value in numbers)
    return [misfit, f"{recovery.iterations:,}", passes, seconds]


def furthest_off(recovery: Recovery, truth: Truth | None) -> str:
    """The measurements that the answer is furthest from, and whether they were believed."""
    residual = to_numpy(recovery.residual)
    sizes = np.nan_to_num(np.abs(residual), nan=np.inf)
    listed = np.argsort(-sizes, kind="stable")[:_LISTED]
    flagged = to_numpy(recovery.outliers)
    heads = ["Index", "Residual", "Believed"]
    rows = [
        [
            f"{place}",
            number(float(residual[place])),
            "no" if flagged[place] else "yes",
        ]
        for place in listed
    ]
    if truth is not None:
        real = to_numpy(truth.outliers)
        heads.append("In truth")
        for row, place in zip(rows, listed, strict=True):
            row.append("corrupted" if real[place] else "clean")
    return (
        f'<section class="card"><h2>Furthest off</h2>{_table(heads, rows)}'
        '<p class="caption">The worst measurements, counted from 0. Look for what they have in '
        "common: a sensor, an hour, a unit. <code>recovery.outliers</code> marks all that were "
        "not believed.</p></section>"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells carry their column's name, for screens too narrow for columns."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{_cells(heads, row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(heads: Sequence[str], row: Sequence[str]) -> str:
    first, *rest = row
    return f'<th scope="row">{escape(first)}</th>' + "".join(
        f'<td data-name="{escape(name)}">{escape(text)}</td>'
        for name, text in zip(heads[1:], rest, strict=True)
    )
