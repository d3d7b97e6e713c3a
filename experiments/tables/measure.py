"""What is measured of a table when the truth is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.tables.hiding import Mask
from experiments.tables.sources import Matrix

_WIDTH = 1.6448536269514722  # of intervals of 90 %, in standard errors


def rounded(value: float) -> float:
    """A number with six significant digits, as in rows."""
    return float(f"{value:.6g}")


def finite(values: Any, shape: tuple[int, ...]) -> bool:
    """Whether values have a shape and are all finite."""
    return values.shape == shape and bool(np.isfinite(values).all())


def rms(errors: Matrix) -> float:
    """The root of the mean square."""
    return math.sqrt(float(np.mean(errors**2)))


def counts(flags: Mask, wrong: Mask, of: Mask) -> list[int]:
    """How many are flagged and wrong, flagged, wrong, and there at all."""
    return [int(np.sum(chosen & of)) for chosen in (flags & wrong, flags, wrong, of)]


def coverage(errors: Matrix, standard_errors: Matrix, of: Mask) -> float:
    """The share of cells that their intervals of 90 % contain."""
    return float(np.mean((np.abs(errors) <= _WIDTH * standard_errors)[of]))


def divergence(estimate: Matrix, covariance: Matrix) -> float:
    """tr(Σ̂ Σ⁻¹) − log det(Σ̂ Σ⁻¹) − p; infinite if the estimate is not positive definite."""
    product = np.linalg.solve(covariance, estimate)
    sign, logarithm = np.linalg.slogdet(product)
    if sign <= 0 or np.linalg.eigvalsh((estimate + estimate.T) / 2)[0] <= 0:
        return math.inf
    return float(np.trace(product) - logarithm - len(covariance))
