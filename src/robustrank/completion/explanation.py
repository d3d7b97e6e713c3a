"""A completion in words: what its status means, what to do next, and the evidence."""

from __future__ import annotations

import math

from robustrank.completion.evidence import CompletionCertificate
from robustrank.result import Status

# What happened, and what to do next.
_AGAIN = "Run again to get a complete result. These values are not certified."
_TEXTS = {
    Status.RECOVERED: (
        "most observed entries are fitted exactly, more than a wrong matrix could fit by chance.",
        "Use the completed matrix. The rejected entries are marked in `outliers`.",
    ),
    Status.SETTLED: (
        "most observed entries are fitted up to noise, and the matrix predicts entries that were "
        "left out of the fit.",
        "Use the completed matrix if the estimated noise level is the one you expect. The rejected "
        "entries are marked in `outliers`.",
    ),
    Status.UNEXPLAINED: (
        "the search finished, but the evidence is not sufficient to certify the matrix.",
        "Read the objections. There may be too few entries for this rank, too many outliers, or no "
        "matrix of low rank that fits: add entries, or pass another `rank`. If only the noise is "
        "too large to certify the matrix, its predictions can still be useful: compare their error "
        "for entries that were left out with that of a constant.",
    ),
    Status.TIME_LIMIT: (
        "the time limit was reached before a matrix was certified.",
        "Run again with a longer time limit. These values are not certified.",
    ),
    Status.STOPPED: ("the callback stopped the run before a matrix was certified.", _AGAIN),
    Status.INTERRUPTED: ("the run was interrupted before a matrix was certified.", _AGAIN),
}

# The same for the zero matrix.
_ZERO = (
    "most observed entries are zero, so that the zero matrix (rank 0) fits most of them exactly.",
    "The entries that are not zero are marked in `outliers`. If zero stands for a missing entry in "
    "your data, replace it by NaN and run again.",
)

STATUSES = tuple(_TEXTS)  # those that a completion may have


def meaning(status: Status, rank: int) -> str:
    """What happened, in one sentence."""
    return _texts(status, rank)[0]


def advice(status: Status, rank: int) -> str:
    """What to do next."""
    return _texts(status, rank)[1]


def _texts(status: Status, rank: int) -> tuple[str, str]:
    return _ZERO if status.certified and rank == 0 else _TEXTS[status]


def stopped_early(status: Status) -> bool:
    """Whether the run ended before rows and columns were tested."""
    return status in (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED)


def evidence(certificate: CompletionCertificate) -> str:
    """The numbers of a certificate in a sentence."""
    how = "exactly" if certificate.noise == 0 else "up to noise"
    text = (
        f"{certificate.supporting:,} of {certificate.entries:,} entries are fitted {how} in the "
        f"part that is decided; {certificate.required:,} are required."
    )
    if not math.isnan(certificate.held_out_error):
        text += (
            f" Entries that were left out are predicted up to {certificate.held_out_error:.3g} "
            f"(expected: {certificate.expected_error:.3g}; by a constant: "
            f"{certificate.trivial_error:.3g})."
        )
    return text
