"""Optimal shrinkage of the singular values of a low-rank matrix in white noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, epsilon, namespace

# At the edge the slope is infinite; this limits the effect of a value that happens to be there.
_LEAST_ROOT = 0.1


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Shrunken singular values, and the degrees of freedom that the shrinkage uses."""

    values: Array  # (r,)
    divergence: Array  # Σ ∂(denoised entry)/∂(noisy entry)


def shrink(values: Array, noise: Array, shape: tuple[int, int]) -> Shrunk:
    """Shrink the leading singular values of a matrix plus noise of deviation ``noise`` per entry.

    Both arguments may have leading axes.

    The shrinkage minimizes the squared error (Gavish and Donoho, 2017); values that do not rise
    above the noise become zero. The divergence is that of a function of singular values (Candès,
    Sing-Long and Trzasko, 2013), with the singular values of the noise replaced by their limiting
    distribution, so that they need not be computed.
    """
    xp = namespace(values)
    small, big = sorted(shape)
    beta, unit = small / big, noise[..., None] * math.sqrt(big)
    given = values / unit
    above = given > 1 + math.sqrt(beta)
    # The others have a placeholder that avoids division by zero.
    t = xp.where(above, given, xp.full_like(given, 2 + math.sqrt(beta)))
    root = xp.sqrt((t**2 - 1 - beta) ** 2 - 4 * beta)
    f = root / t
    slope = 2 * (t**2 - 1 - beta) / xp.clip(root, min=_LEAST_ROOT) - f / t
    noise_values = (small - values.shape[-1]) * (t**2 - 1 + beta - root) / (2 * beta * t**2)
    each = slope + (big - small) * f / t + 2 * t * f * noise_values
    zero = xp.zeros_like(t)
    f, slope = xp.where(above, f, zero), xp.where(above, slope, zero)
    divergence = xp.sum(xp.where(above, each, zero), axis=-1) + _between(given, f, slope)
    return Shrunk(f * unit, divergence)


def _between(t: Array, f: Array, slope: Array) -> Array:
    """The contribution of each pair of values: 2 (t_i f_i − t_j f_j) / (t_i² − t_j²)."""
    xp = namespace(t)
    gap = t[..., :, None] ** 2 - t[..., None, :] ** 2
    apart = xp.abs(gap) > math.sqrt(epsilon(t)) * t[..., :, None] ** 2
    quotient = (t * f)[..., :, None] - (t * f)[..., None, :]
    quotient = quotient / xp.where(apart, gap, xp.ones_like(gap))
    limit = (f + t * slope) / (2 * xp.where(t > 0, t, xp.ones_like(t)))  # where two coincide
    pairs = xp.where(apart, quotient, xp.broadcast_to(limit[..., :, None], gap.shape))
    # Every pair twice, none with itself.
    return xp.sum(pairs, axis=(-2, -1)) - xp.sum(limit, axis=-1)
