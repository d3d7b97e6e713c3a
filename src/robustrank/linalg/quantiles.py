"""Sample quantiles as the paper defines them: always one of the values, found by selection."""

from __future__ import annotations

import math

from robustrank.backend import Array, kth_smallest, namespace


def quantile_index(m: int, p: float) -> int:
    """The position of the sample p-quantile among m sorted values, counted from zero.

    The paper's θ_p is inf{x : F(x) ≥ p} with F the empirical distribution, so this is the smallest
    k with (k + 1)/m ≥ p. The division is compared after rounding: p·m alone would be off by one
    for p = 0.07 and m = 100.
    """
    if not 0 < p < 1:
        raise ValueError(f"p={p} is not a quantile level; expected 0 < p < 1")
    k = max(math.ceil(p * m) - 1, 0)
    if k > 0 and k / m >= p:
        k -= 1
    return k


def sample_quantile(values: Array, p: float) -> Array:
    """θ_p of the samples along the last axis: one of the values, never an average of two."""
    m = values.shape[-1]
    if m == 0:
        raise ValueError("an empty sample has no quantile")
    return kth_smallest(values, quantile_index(m, p))


def lower_median(values: Array) -> Array:
    """The paper's median, θ_½: ``sorted(values)[(m - 1) // 2]``."""
    return sample_quantile(values, 0.5)


def shortest_half(values: Array) -> tuple[Array, Array]:
    """The middle and half the length of the shortest interval with more than half of the values.

    Robust estimates of location and, for a normal distribution times 0.67, of scale: however far
    away the other half is, and on which side.
    """
    xp, m = namespace(values), values.shape[-1]
    ordered = xp.sort(values, axis=-1)
    half = m // 2
    low, high = ordered[..., : m - half], ordered[..., half:]
    shortest = xp.argmin(high - low, axis=-1)[..., None]
    low, high = (xp.take_along_axis(ends, shortest, axis=-1)[..., 0] for ends in (low, high))
    return (low + high) / 2, (high - low) / 2


def median_of_selected(values: Array, selected: Array) -> Array:
    """The lower or upper median of the selected values, which must not be negative.

    The other values are replaced alternately by infinity and zero, so that a single selection
    works however many are selected along each leading axis.
    """
    xp = namespace(values)
    parity = xp.cumulative_sum(xp.astype(~selected, xp.int32), axis=-1) % 2
    replacement = xp.where(parity == 1, xp.full_like(values, xp.inf), xp.zeros_like(values))
    return lower_median(xp.where(selected, values, replacement))
