"""The evidence for a fit, and the set of inliers for which it is largest."""

from __future__ import annotations

import math
from typing import NamedTuple

from robustrank.backend import Array, like, namespace

# The smallest standard deviation of a fit, in rounding errors of a typical measurement.
_ROUNDINGS = 16
_CLEARLY_LARGER = 5.0


class BestSet(NamedTuple):
    """The inliers with the most evidence; arrays have the leading axes of the residuals."""

    cutoff: Array  # inliers have |residual| / spread up to this
    evidence: Array
    deviation: Array  # the standard deviation of residual / spread among the inliers


def log_choices(total: Array, chosen: Array) -> Array:
    """The logarithm of the number of ways to choose some of ``total``, by Stirling's formula."""
    xp = namespace(total)
    tiny = float(xp.finfo(total.dtype).smallest_normal)
    share = xp.clip(chosen / xp.clip(total, min=1.0), min=0.0, max=1.0)
    entropy = -share * xp.log(share + tiny) - (1 - share) * xp.log(1 - share + tiny)
    spread = total * share * (1 - share)
    return total * entropy - 0.5 * xp.log(2 * math.pi * xp.clip(spread, min=1 / (2 * math.pi)))


def best_set(magnitudes: Array, spread: Array, null_deviation: Array, freedom: int) -> BestSet:
    """The set of inliers with the most evidence.

    The sets that are compared have the k smallest residuals, for each k that is a majority. N
    inliers fitted to a standard deviation of σ by d = ``freedom`` parameters have an evidence of
    (N − d) log(τ/σ), where τ is what the best trivial prediction leaves, minus the logarithm of the
    number of sets of N measurements. ``spread`` is the relative standard deviation of each
    measurement if it is an inlier. Measurements whose noise would exceed τ are not counted. If all
    have the same spread, a common size of the rejected measurements counts too. Arrays are (…, m).
    """
    xp = namespace(magnitudes)
    null_deviation = xp.asarray(null_deviation, **like(magnitudes))[..., None]
    scaled = magnitudes / spread
    order = xp.argsort(scaled, axis=-1)
    ordered = xp.take_along_axis(scaled, order, axis=-1)
    relative = xp.take_along_axis(spread + xp.zeros_like(scaled), order, axis=-1)
    m = scaled.shape[-1]
    middle = ordered[..., (m - 1) // 2][..., None]
    informative = xp.astype(relative * middle < null_deviation, scaled.dtype)
    count = xp.cumulative_sum(informative, axis=-1)
    total = count[..., -1:]
    # Infinite and huge residuals are never part of the best set.
    finite = xp.clip(ordered, max=float(xp.finfo(scaled.dtype).max) ** 0.25)
    squares = xp.cumulative_sum(informative * finite**2, axis=-1)
    beyond = count - freedom
    least = _ROUNDINGS * float(xp.finfo(scaled.dtype).eps) * null_deviation
    deviation = xp.maximum(xp.sqrt(squares / xp.clip(beyond, min=1.0)), least)
    levels = xp.cumulative_sum(informative * xp.log(null_deviation / relative), axis=-1)
    gain = levels / xp.clip(count, min=1.0) - xp.log(deviation)
    evidence = beyond * gain - log_choices(total, count)
    # Otherwise rows of one size could be rejected together, as if their noise were outliers.
    same = xp.max(spread, axis=-1, keepdims=True) == xp.min(spread, axis=-1, keepdims=True)
    rejected = _of_rejected(squares, count, null_deviation, deviation)
    evidence = evidence + xp.where(same, rejected, xp.zeros_like(rejected))
    eligible = (beyond > 0) & (2 * count > total) & (informative > 0)
    evidence = xp.where(eligible, evidence, xp.full_like(evidence, -math.inf))
    best = xp.argmax(evidence, axis=-1)[..., None]
    return BestSet(
        *(
            xp.take_along_axis(values, best, axis=-1)[..., 0]
            for values in (ordered, evidence, deviation)
        )
    )


def _of_rejected(squares: Array, count: Array, null_deviation: Array, deviation: Array) -> Array:
    """The evidence of outliers that are small: larger than the noise, but all smaller than τ.

    It counts only if they are clearly larger than the residuals of inliers: otherwise the tails of
    the noise would be rejected. The first two arguments are cumulative.
    """
    xp = namespace(squares)
    rejected = count[..., -1:] - count
    size = xp.sqrt((squares[..., -1:] - squares) / xp.clip(rejected, min=1.0))
    counts = (rejected > 0) & (size > _CLEARLY_LARGER * deviation) & (size < null_deviation)
    size = xp.where(counts, size, xp.ones_like(size))
    return xp.where(counts, rejected * xp.log(null_deviation / size), xp.zeros_like(size))
