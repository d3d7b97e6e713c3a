"""The conclusion at the top of the page: heading, sentences and meter."""

from __future__ import annotations

from dataclasses import dataclass

from robustrank.report.formatting import capitalized, with_powers_of_ten
from robustrank.result import Certificate, Recovery, Status, explain, fits_up_to_noise


@dataclass(frozen=True)
class Verdict:
    """The heading of a result, with a color and a sign that show at a glance what it means."""

    tone: str  # good, fair or bad; the style sheet has a color for each
    sign: str
    heading: str


def verdict(status: Status) -> Verdict:
    """Good only for a certified exact recovery; bad if the result must not be used."""
    if status is Status.RECOVERED:
        return Verdict("good", "✓", "Recovered")
    if status is Status.SETTLED:
        return Verdict("fair", "≈", "Settled, up to noise")
    if status is Status.AMBIGUOUS:
        return Verdict("fair", "?", "Ambiguous: two matrices explain the measurements")
    if status is Status.NOT_IDENTIFIED:
        return Verdict("fair", "?", "Not identified: a part of the matrix is not measured")
    if status in (Status.UNEXPLAINED, Status.UNDERDETERMINED, Status.DIVERGED):
        return Verdict("bad", "✗", f"Failed: {status.value}")
    return Verdict("fair", "!", f"Unfinished: {status.value}")


def sentences(recovery: Recovery) -> list[str]:
    """The meaning of the status, the evidence and a second matrix; if settled, evidence first."""
    status = recovery.status
    evidence = with_powers_of_ten(explain(status, recovery.certificate))
    both = [capitalized(status.meaning), evidence]
    other = [] if recovery.alternative is None else [f"A second matrix is {recovery.alternative}."]
    return (both[::-1] if status is Status.SETTLED else both) + other


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


def meter(status: Status, certificate: Certificate) -> Meter:
    """Exact fits against the number required; with noise, inliers against degrees of freedom."""
    if fits_up_to_noise(status, certificate):
        fitted, notch = certificate.inliers, certificate.degrees_of_freedom
        label = f"{notch:,} degrees of freedom"
    else:
        fitted, notch = certificate.exact_fits, certificate.required
        label = f"{notch:,} required"
    return Meter.of(fitted, notch, certificate.independent, label)
