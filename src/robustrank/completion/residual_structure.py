"""Do the residuals look like noise, or is there another component in them?"""

from __future__ import annotations

import math

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.completion.sample import Sample
from robustrank.linalg import leading_svd_by_products, sample_quantile

_DRAWS = 2
# The standard deviation of the Tracy–Widom distribution, and how many of them noise may deviate.
_TRACY_WIDOM, _DEVIATIONS = 1.27, 6.3
_MIDDLE, _TAIL = 0.5, 0.9


def largest_structure_of_noise(shape: tuple[int, int]) -> float:
    """The largest ``residual_structure`` that noise has.

    The largest singular value of a matrix of independent numbers fluctuates by the Tracy–Widom law:
    by about one percent if it has hundreds of rows and columns, and more if it is small.
    """
    n1, n2 = (math.sqrt(size) for size in shape)
    deviation = 0.5 * _TRACY_WIDOM * math.cbrt(1 / n1 + 1 / n2) / (n1 + n2)
    return 1 + _DEVIATIONS * deviation


def tail_ratio(residual: Array) -> float:
    """The median of |residual| relative to its 0.9-quantile: 0.41 for normal numbers.

    It is 0.56 for uniform ones, 0.33 for Student's t with three degrees of freedom, and less for a
    mixture of small and large errors. Without residuals it is zero.
    """
    if residual.shape[0] == 0:
        return 0.0
    magnitudes = namespace(residual).abs(residual)
    tail = float(sample_quantile(magnitudes, _TAIL))
    return float(sample_quantile(magnitudes, _MIDDLE)) / tail if tail > 0 else 1.0


def residual_structure(sample: Sample, residual: Array, rng: np.random.Generator) -> float:
    """The largest singular value of the residuals, relative to that with random signs.

    Entries that are not observed count as zero. Independent noise gives about one, a little less
    after a fit; a component that the fit lacks gives more.
    """
    xp = namespace(residual)
    drawn = [
        _largest(sample, residual * xp.asarray(signs, **like(residual)), rng)
        for signs in rng.integers(0, 2, (_DRAWS, sample.size)) * 2.0 - 1
    ]
    return _largest(sample, residual, rng) / max(sum(drawn) / _DRAWS, 1e-300)


def _largest(sample: Sample, values: Array, rng: np.random.Generator) -> float:
    """The largest singular value of the matrix with these entries, in the order of the rows."""
    rows, columns = sample.in_both_orders(values)
    _, leading, _ = leading_svd_by_products(
        lambda V: sample.by_rows.sums(rows, V),
        lambda U: sample.by_columns.sums(columns, U),
        sample.shape,
        1,
        rng,
        example=rows[:1],
    )
    return float(leading[0])
