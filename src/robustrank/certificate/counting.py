"""How many measurements does a result fit exactly, and how many would a wrong one?"""

from __future__ import annotations

import math

from robustrank.backend import Array, namespace
from robustrank.problem import Problem

# A relative residual below this counts as an exact fit. First-order solvers stop well above
# rounding, at about 1e-8; residuals that are small by chance are far larger.
_SMALL = 5e-7
_ROUNDINGS = 1000
# A measurement beyond the degrees of freedom is fitted by chance with a probability of about the
# tolerance. Ten times the expected number of such fits, plus ten, does not occur in practice.
_MARGIN = 10


def exact_tolerance(problem: Problem) -> float:
    """The largest residual of an exact fit, relative to a typical measurement."""
    return max(_SMALL, _ROUNDINGS * problem.epsilon)


def is_exact_fit(problem: Problem, residual: Array) -> Array:
    """Which measurements are fitted within the tolerance, boolean of shape (m,)."""
    return namespace(residual).abs(residual) <= exact_tolerance(problem) * problem.resolution


def required_fits(problem: Problem, measurements: int) -> int:
    """The number of exact fits, of so many measurements, that rules out chance, and a majority."""
    by_chance = _MARGIN + math.ceil(_MARGIN * exact_tolerance(problem) * measurements)
    return max(problem.degrees_of_freedom + by_chance, measurements // 2 + 1)
