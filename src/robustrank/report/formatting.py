"""Numbers, shares and solver names as text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from robustrank.result import Result

_DIGITS, _RAISED = "-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT = str.maketrans(_DIGITS, _RAISED)

# A regular expression for the numbers that ``scientific`` writes.
SCIENTIFIC = rf"−?[\d.,]+\N{{NO-BREAK SPACE}}×\N{{NO-BREAK SPACE}}10[{_RAISED}]+"


def number(value: float) -> str:
    """Three digits of a number, with a power of ten if it is very large or very small."""
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
    return scientific(mantissa, int(exponent))


def scientific(mantissa: str, exponent: int) -> str:
    """Mantissa times power of ten, with no-break spaces."""
    return f"{mantissa}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{power_of_ten(exponent)}"


def power_of_ten(exponent: int) -> str:
    """10 with a superscript exponent, in plain characters."""
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def number_from_log(logarithm: float) -> str:
    """Ten to the given power, also if it is outside the range of floats."""
    if abs(logarithm) < 300:
        return number(10.0**logarithm)
    whole = math.floor(logarithm)
    return scientific(f"{10.0 ** (logarithm - whole):.1f}", whole)


def with_powers_of_ten(text: str) -> str:
    """The text with numbers such as 5e-07 written as 5 × 10⁻⁷."""
    return re.sub(
        r"\b(\d+(?:\.\d+)?)e([+-]\d+)\b",
        lambda found: scientific(found[1], int(found[2])),
        text,
    )


def share(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{part / whole:.1%}" if whole else "0.0%"


def ratio(value: float) -> str:
    """A ratio in percent, or with a power of ten if it is small."""
    return f"{value:.1%}" if 1e-3 <= value < 10 else number(value)


def solver_labels(results: Sequence[Result]) -> list[str]:
    """The name of each result's solver, numbered if it occurs more than once."""
    total = Counter(result.solver for result in results)
    used: Counter[str] = Counter()
    labels = []
    for result in results:
        used[result.solver] += 1
        suffix = f" ({used[result.solver]})" if total[result.solver] > 1 else ""
        labels.append(result.solver + suffix)
    return labels
