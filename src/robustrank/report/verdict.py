"""The conclusion at the top of the page: heading, sentences and meter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.report.formatting import with_powers_of_ten
from robustrank.result import Certificate, Result, Status, capitalized, meaning_of


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
        case Status.PREDICTIVE:
            return Verdict("good", "✓", "Predictive: left-out cells are predicted")
        case Status.AMBIGUOUS:
            return Verdict("fair", "?", "Ambiguous: two matrices explain the data")
        case Status.NOT_IDENTIFIED:
            return Verdict("fair", "?", "Not identified: a part of the matrix is not measured")
    if result.stopped is not None and result.stopped.by_user:
        return Verdict("fair", "!", "Unfinished")
    return Verdict("bad", "✗", capitalized(result.status.value))


def sentences(result: Result) -> list[str]:
    """The meaning of the status, why the run ended early, the evidence and what is against it."""
    said, lines = dict(result.summary()), [capitalized(meaning_of(result))]
    if "stopped" in said and said["stopped"] not in result.certificate.objections:
        lines.append(f"The run ended early: {said['stopped']}.")
    lines += [
        with_powers_of_ten(capitalized(said[name]))
        for name in ("evidence", "objections")
        if name in said
    ]
    if "alternative" in said:
        lines.append(f"A second matrix is {said['alternative']}.")
    if "undecided" in said:
        lines.append(f"There are {said['undecided']}: do not use the values there.")
    return lines


@dataclass(frozen=True)
class Meter:
    """A bar of the fitted measurements and a notch to compare with, in percent of all."""

    filled: float
    notch: float
    label: str  # of the notch


def meter(certificate: Certificate) -> Meter | None:
    """Fitted measurements against the number required; with noise, against degrees of freedom.

    Of a table without an exact rank, the skill of predictions and what it is at least. None if no
    part of the matrix is decided, so that there is nothing to compare with.
    """
    if certificate.predicts:
        return _meter_of_skill(certificate.skill, certificate.least_skill)
    notch, label = certificate.required, "required"
    if not certificate.fits_exactly:
        notch, label = certificate.degrees_of_freedom, "degrees of freedom"
    if notch == 0:
        return None
    whole = max(certificate.independent, 1)
    filled, at = (100 * min(count / whole, 1.0) for count in (certificate.supporting, notch))
    return Meter(filled, at, f"{notch:,} {label}")


def _meter_of_skill(skill: float, least: float) -> Meter | None:
    if not math.isfinite(skill):
        return None
    label = f"at least {least:.0%}" if least > 0 else "0%: the medians of the columns"
    return Meter(100 * max(skill, 0.0), 100 * max(least, 0.0), label)
