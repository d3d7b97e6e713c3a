"""The conclusion at the top of the page about a completed matrix."""

from __future__ import annotations

from robustrank.completion import Completion, CompletionCertificate
from robustrank.completion.explanation import evidence, meaning, stopped_early
from robustrank.report.completion.arrays import CompletionArrays
from robustrank.report.formatting import capitalized, with_powers_of_ten
from robustrank.report.verdict import Meter
from robustrank.result import counted


def sentences(completion: Completion, arrays: CompletionArrays) -> list[str]:
    """The meaning of the status, the evidence, objections, and the part that is not certified."""
    status, certificate = completion.status, completion.certificate
    happened = capitalized(meaning(status, completion.rank))
    if stopped_early(status):
        return [happened]
    objections = "; ".join(certificate.objections)
    return [
        happened,
        with_powers_of_ten(evidence(certificate)),
        *([f"Not certified: {objections}."] if objections else []),
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


def meter(certificate: CompletionCertificate) -> Meter:
    """The entries that support the matrix against the number required."""
    return Meter.of(
        certificate.supporting,
        certificate.required,
        certificate.entries,
        f"{certificate.required:,} required",
    )
