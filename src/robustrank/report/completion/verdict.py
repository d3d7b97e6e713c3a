"""The conclusion at the top of the page about a completed matrix."""

from __future__ import annotations

from robustrank.report.completion.arrays import CompletionArrays
from robustrank.report.formatting import capitalized, with_powers_of_ten
from robustrank.result import Result, counted, explain, meaning_of, objection_sentences


def sentences(result: Result, arrays: CompletionArrays) -> list[str]:
    """The meaning of the status, the evidence, objections, and the part that is not certified."""
    happened = capitalized(meaning_of(result))
    if result.stopped is not None:
        return [happened]
    return [
        happened,
        with_powers_of_ten(explain(result.certificate, "entries")),
        *filter(None, [objection_sentences(result.certificate)]),
        *_undecided(arrays),
    ]


def _undecided(arrays: CompletionArrays) -> list[str]:
    if arrays.nothing_decided:
        return ["The inliers do not determine any row or column."]
    counts = [(int(arrays.rows.undecided.sum()), "row")]
    counts += [(int(arrays.columns.undecided.sum()), "column")]
    named = [counted(*one) for one in counts if one[0]]
    if not named:
        return []
    return [f"The inliers do not determine {' and '.join(named)}: do not use the values there."]
