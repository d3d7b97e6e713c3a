"""The conclusion at the top of the page about a completed matrix."""

from __future__ import annotations

from robustrank.completion import Completion, CompletionCertificate
from robustrank.report.completion.arrays import CompletionArrays
from robustrank.report.formatting import capitalized, with_powers_of_ten
from robustrank.report.verdict import Meter
from robustrank.result import Status

# The texts of the statuses in terms of entries: what happened, and what to do next.
_TEXTS = {
    Status.RECOVERED: (
        "Most observed entries are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the completed matrix. The rejected entries are marked in `outliers`.",
    ),
    Status.SETTLED: (
        "Most observed entries are fitted up to noise, and the matrix predicts entries that were "
        "left out of the fit.",
        "Use the completed matrix if the estimated noise level is the one you expect. The rejected "
        "entries are marked in `outliers`.",
    ),
    Status.UNEXPLAINED: (
        "The search finished, but the evidence is not sufficient to certify the matrix.",
        "Do not use the result. There are too few entries for this rank, too many outliers, or the "
        "matrix is not close to one of low rank. Add entries, or pass a smaller or larger `rank`.",
    ),
    Status.TIME_LIMIT: (
        "The time limit was reached before a matrix was certified.",
        "Run again with a longer time limit. The values shown here are not certified.",
    ),
    Status.STOPPED: (
        "The callback stopped the run before a matrix was certified.",
        "Run again to get a complete result. The values shown here are not certified.",
    ),
    Status.INTERRUPTED: (
        "The run was interrupted before a matrix was certified.",
        "Run again to get a complete result. The values shown here are not certified.",
    ),
}


def advice(status: Status) -> str:
    """What to do next."""
    return _TEXTS[status][1] if status in _TEXTS else status.advice


def sentences(completion: Completion, arrays: CompletionArrays) -> list[str]:
    """The meaning of the status, the evidence, objections, and the part that is not certified."""
    status = completion.status
    meaning = _TEXTS[status][0] if status in _TEXTS else capitalized(status.meaning)
    if stopped_early(status):
        return [meaning]
    evidence = with_powers_of_ten(dict(completion.summary())["evidence"])
    objections = "; ".join(completion.certificate.objections)
    return [
        meaning,
        evidence,
        *([f"Not certified: {objections}."] if objections else []),
        *_undecided(arrays),
    ]


def stopped_early(status: Status) -> bool:
    """Whether the run ended before rows and columns were tested."""
    return status in (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED)


def _undecided(arrays: CompletionArrays) -> list[str]:
    if arrays.nothing_decided:
        return ["The inliers do not determine any row or column."]
    counts = [(int(arrays.rows.undecided.sum()), "row")]
    counts += [(int(arrays.columns.undecided.sum()), "column")]
    named = [f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
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
