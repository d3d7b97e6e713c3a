"""Singular values of a low-rank matrix seen in white noise: how far to shrink them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robustrank.backend import Array, namespace


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Shrunk singular values, and how many numbers the shrinking lets through."""

    values: Array  # (r,)
    divergence: Array  # Σ ∂(denoised entry)/∂(noisy entry): the degrees of freedom it uses


def shrink(values: Array, noise: Array, shape: tuple[int, int]) -> Shrunk:
    """Shrink the leading singular values of a matrix plus noise of deviation ``noise`` per entry.

    There may be leading axes, of ``values`` and ``noise`` alike.

    The shrinking is the one that leaves the least squared error (Gavish and Donoho, 2017); what
    does not rise above the noise becomes zero. The divergence is that of a function of singular
    values (Candès, Sing-Long and Trzasko, 2013), in which the singular values of the noise are
    replaced by their limiting law, so that nobody has to compute them.
    """
    xp = namespace(values)
    small, big = sorted(shape)
    beta, unit = small / big, noise[..., None] * math.sqrt(big)
    t = values / unit
    above = t > 1 + math.sqrt(beta)
    t = xp.where(above, t, xp.full_like(t, 2 + math.sqrt(beta)))  # anything that divides
    root = xp.sqrt((t**2 - 1 - beta) ** 2 - 4 * beta)
    f = root / t
    # At the edge the slope is infinite; one value that happens to sit there must not decide.
    slope = 2 * (t**2 - 1 - beta) / xp.where(root > 0.1, root, xp.full_like(root, 0.1)) - f / t
    noise_values = (small - values.shape[-1]) * (t**2 - 1 + beta - root) / (2 * beta * t**2)
    each = slope + (big - small) * f / t + 2 * t * f * noise_values
    zero = xp.zeros_like(t)
    f, slope = xp.where(above, f, zero), xp.where(above, slope, zero)
    t = values / unit
    divergence = xp.sum(xp.where(above, each, zero), axis=-1) + _between(t, f, slope)
    return Shrunk(f * unit, divergence)


def _between(t: Array, f: Array, slope: Array) -> Array:
    """What each pair of the values given adds: 2 (t_i f_i − t_j f_j) / (t_i² − t_j²)."""
    xp = namespace(t)
    gap = t[..., :, None] ** 2 - t[..., None, :] ** 2
    apart = xp.abs(gap) > 1e-6 * t[..., :, None] ** 2
    quotient = (t * f)[..., :, None] - (t * f)[..., None, :]
    quotient = quotient / xp.where(apart, gap, xp.ones_like(gap))
    limit = (f + t * slope) / (2 * xp.where(t > 0, t, xp.ones_like(t)))  # where two coincide
    pairs = xp.where(apart, quotient, xp.broadcast_to(limit[..., :, None], gap.shape))
    # Every pair twice, none with itself.
    return xp.sum(pairs, axis=(-2, -1)) - xp.sum(limit, axis=-1)
