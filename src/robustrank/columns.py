"""Whether an answer has too many columns, or too few: noise has a look of its own."""

from __future__ import annotations

import math

from robustrank.backend import as_generator, frobenius_norm, namespace
from robustrank.problem import Problem
from robustrank.result import Recovery
from robustrank.trust import trusted

# A fit's surplus columns, made of noise, have singular values of up to twice its edge.
_CLEAR_OF_NOISE = 3.0
_ABOVE_NOISE = 1.3
_POWER = 0.8


def may_be_too_many(problem: Problem, recovery: Recovery) -> bool:
    """Whether noise alone might have made the smallest singular value."""
    if recovery.rank == 1:
        return False
    seen = recovery.certificate
    deviation = seen.prediction_error * problem.typical_deviation
    edge = _edge_of_noise(problem, deviation, seen.believed)
    return bool(recovery.singular_values()[-1] < _CLEAR_OF_NOISE * edge)


def may_be_too_few(problem: Problem, recovery: Recovery) -> bool:
    """Whether what the answer leaves of the measurements it believes might be more than noise.

    So it is where it has a singular value above the edge of noise, or where even one that accounts
    for all of it would not stand out.
    """
    residual, count = recovery.residual, recovery.certificate.believed
    weights = namespace(residual).astype(~recovery.outliers, residual.dtype)
    believed = trusted(residual, weights) / problem.units.measurement
    normalised = problem.normalised()
    _, values, _ = normalised.operator.leading_svd(believed / count, 1, as_generator(0))
    deviation = float(frobenius_norm(believed)) / math.sqrt(count)
    gain = float(normalised.operator.gain)
    edge = _ABOVE_NOISE * _edge_of_noise(normalised, deviation, count)
    stands_out = edge < _POWER * deviation / gain
    return not (stands_out and float(values[0]) / gain**2 <= edge)


def _edge_of_noise(problem: Problem, deviation: float, count: int) -> float:
    """The largest singular value of what noise in so many measurements looks like."""
    n1, n2 = problem.operator.matrix_shape
    spread = math.sqrt(n1) + math.sqrt(n2)
    return deviation * spread / (math.sqrt(count) * float(problem.operator.gain))
