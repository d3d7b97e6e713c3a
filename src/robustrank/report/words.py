"""Numbers and verdicts as a person writes them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from robustrank.result import Certificate, Recovery, Status

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """Three digits of a number, with a power of ten where it is very large or very small."""
    if math.isnan(value):
        return "undefined"
    if value < 0:
        return "−" + number(-value)
    if math.isinf(value):
        return "∞"
    if value == 0 or 1e-3 <= value < 999.5:
        return f"{value:.3g}"
    if 999.5 <= value < 1e6:
        return f"{value:,.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return _times(mantissa, int(exponent))


def power_of_ten(exponent: int) -> str:
    """10 with a raised exponent, in plain characters."""
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def _times(mantissa: str, exponent: int) -> str:
    """A number that no line break can tear apart."""
    return f"{mantissa}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{power_of_ten(exponent)}"


def number_of_log(logarithm: float) -> str:
    """Ten to the given power, also where no float could hold it."""
    if abs(logarithm) < 300:
        return number(10.0**logarithm)
    whole = math.floor(logarithm)
    return _times(f"{10.0 ** (logarithm - whole):.1f}", whole)


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{part / whole:.1%}" if whole else "0.0%"


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Verdict:
    """How a recovery ended: a tone for the eye, and a sign and a word for everybody."""

    tone: str  # good, fair or bad; the page has a color for each
    sign: str
    word: str


def verdict(status: Status) -> Verdict:
    """Good only where the answer is certified; bad where it must not be used."""
    if status is Status.RECOVERED:
        return Verdict("good", "✓", "Recovered")
    if status in (Status.UNEXPLAINED, Status.DIVERGED):
        return Verdict("bad", "✗", f"Failed: {status.value}")
    if status.converged:
        return Verdict("fair", "≈", f"{sentence(status.value)}, not certified")
    return Verdict("fair", "!", f"Unfinished: {status.value}")


def certificate_sentence(certificate: Certificate) -> str:
    """What the answer explains, and whether that could be chance."""
    met = (
        f"The answer meets {certificate.exact_fits:,} of {certificate.measurements:,} measurements "
        f"to within {number(certificate.tolerance)} of a typical one"
    )
    if certificate.holds:
        return f"{met}. That cannot be chance: {certificate.required:,} would have been enough."
    if certificate.required > certificate.measurements:
        return (
            f"{met}. No answer could be certified with so few: it takes {certificate.required:,}."
        )
    return f"{met}. To rule out chance it would have to meet {certificate.required:,}."


def solver_labels(recoveries: Sequence[Recovery]) -> list[str]:
    """The name of each recovery's solver, numbered where one name occurs more than once."""
    total = Counter(recovery.solver for recovery in recoveries)
    seen: Counter[str] = Counter()
    labels = []
    for recovery in recoveries:
        seen[recovery.solver] += 1
        suffix = f" ({seen[recovery.solver]})" if total[recovery.solver] > 1 else ""
        labels.append(recovery.solver + suffix)
    return labels
