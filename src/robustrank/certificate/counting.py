"""How many measurements does a result fit exactly, and how many would a wrong one?"""

from __future__ import annotations

import math

from robustrank.backend import Array, namespace
from robustrank.problem import Problem

# A relative residual below this counts as an exact fit. First-order solvers stop well above
# rounding, at about 1e-8; residuals that are small by chance are far larger.
_SMALL = 5e-7
_ROUNDINGS = 1000
# Rounding leaves far less than the tolerance. If fewer than half of the residuals within it are
# below this share of it, they are noise. The same holds for a result that interpolates noisy data:
# it fits one measurement for each of its parameters up to rounding, and others by chance.
_MOSTLY_BELOW = 0.1
# Chance fits are as dense as the residuals between the tolerance and ten times it.
_BEYOND = 10
# A measurement beyond the degrees of freedom is fitted by chance with a probability of about the
# tolerance. Ten times the expected number of such fits, plus ten, does not occur in practice.
_MARGIN = 10


def exact_tolerance(problem: Problem) -> float:
    """The largest residual of an exact fit, relative to a typical measurement."""
    return max(_SMALL, _ROUNDINGS * problem.epsilon)


def is_exact_fit(problem: Problem, residual: Array) -> Array:
    """Which measurements are fitted up to rounding, boolean of shape (m,)."""
    xp = namespace(residual)
    magnitudes, tolerance = xp.abs(residual), exact_tolerance(problem) * problem.resolution
    within, below = magnitudes <= tolerance, magnitudes <= _MOSTLY_BELOW * tolerance
    is_noise = 2 * xp.count_nonzero(below) < xp.count_nonzero(within)
    beyond = xp.count_nonzero(magnitudes <= _BEYOND * tolerance) - xp.count_nonzero(within)
    # More chance fits than the margin of ``required_fits`` allows for, with one to spare.
    expected = 1 + exact_tolerance(problem) * magnitudes.shape[0]
    is_noise = is_noise | (beyond > math.floor((_BEYOND - 1) * expected))
    # Not ``~``: NumPy below 2.3 counts in integers of Python, and ~True of Python is -2.
    return within & (below | xp.logical_not(is_noise))


def required_fits(problem: Problem, measurements: int) -> int:
    """The number of exact fits among ``measurements`` that chance cannot explain, a majority."""
    by_chance = _MARGIN + math.ceil(_MARGIN * exact_tolerance(problem) * measurements)
    return max(problem.degrees_of_freedom + by_chance, measurements // 2 + 1)
