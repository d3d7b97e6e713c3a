"""The conclusion at the top of the page: heading, sentences and meter."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.report.formatting import capitalized, with_powers_of_ten
from robustrank.result import (
    Certificate,
    Result,
    Status,
    explain,
    meaning_of,
    noun_of,
    objection_sentences,
)


@dataclass(frozen=True)
class Verdict:
    """The heading of a result, with a color and a sign that show at a glance what it means."""

    tone: str  # good, fair or bad; the style sheet has a color for each
    sign: str
    heading: str


def verdict(result: Result) -> Verdict:
    """Good for a certified result, fair if a part of it can be used, and bad otherwise."""
    match result.status:
        case Status.RECOVERED:
            return Verdict("good", "✓", "Recovered")
        case Status.ESTIMATED:
            return Verdict("good", "✓", "Estimated, up to noise")
        case Status.AMBIGUOUS:
            return Verdict("fair", "?", "Ambiguous: two matrices explain the data")
        case Status.NOT_IDENTIFIED:
            return Verdict("fair", "?", "Not identified: a part of the matrix is not measured")
    if result.stopped is not None and result.stopped.by_user:
        return Verdict("fair", "!", f"Unfinished: {result.stopped}")
    return Verdict("bad", "✗", capitalized(result.status.value))


def sentences(result: Result) -> list[str]:
    """The meaning of the status, the evidence, objections and a second matrix."""
    other = [] if result.alternative is None else [f"A second matrix is {result.alternative}."]
    return [
        capitalized(meaning_of(result)),
        with_powers_of_ten(explain(result.certificate, noun_of(result))),
        *filter(None, [objection_sentences(result.certificate)]),
        *other,
    ]


@dataclass(frozen=True)
class Meter:
    """A bar of the fitted measurements and a notch to compare with, in percent of all."""

    filled: float
    notch: float
    label: str  # of the notch

    @classmethod
    def of(cls, fitted: int, notch: int, whole: int, label: str) -> Meter:
        """The bar for two counts; neither is longer than the whole."""
        filled, at = (100 * min(count / max(whole, 1), 1.0) for count in (fitted, notch))
        return cls(filled, at, label)


def meter(certificate: Certificate) -> Meter:
    """Fitted measurements against the number required; with noise, against degrees of freedom."""
    fitted, notch, label = certificate.supporting, certificate.required, "required"
    if not certificate.fits_exactly:
        notch, label = certificate.degrees_of_freedom, "degrees of freedom"
    return Meter.of(fitted, notch, certificate.independent, f"{notch:,} {label}")
