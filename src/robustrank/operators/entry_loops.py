"""Loops over sampled entries that are sorted by rows, for numba to compile.

Row i of a block has the entries ``starts[i]`` to ``starts[i + 1]``; ``others`` are their columns.
Each row is computed by one thread from its own entries only, so the result does not depend on the
number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Factors are gathered for this many entries at a time, so that sums over entries are vectorized.
_BLOCK = 64


def dot(starts: Any, others: Any, P: Any, Q: Any, result: Any) -> None:
    """The entries of P Qᵀ."""
    r = P.shape[1]
    for i in range(P.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            total = 0.0
            for k in range(r):
                total += P[i, k] * Q[others[e], k]
            result[e] = total


def sums(starts: Any, others: Any, z: Any, Q: Any, result: Any) -> None:
    """Σ z q over the entries of each row, where q is the row of Q that belongs to the entry."""
    r = Q.shape[1]
    for i in range(result.shape[0]):
        for k in range(r):
            result[i, k] = 0.0
        for e in range(starts[i], starts[i + 1]):
            for k in range(r):
                result[i, k] += z[e] * Q[others[e], k]


def cross_sums(starts: Any, others: Any, w: Any, P: Any, Q: Any, dQ: Any, result: Any) -> None:
    """Σ w (p · dq) q over the entries of each row."""
    r = Q.shape[1]
    for i in range(result.shape[0]):
        for k in range(r):
            result[i, k] = 0.0
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            total = 0.0
            for k in range(r):
                total += P[i, k] * dQ[j, k]
            total *= w[e]
            for k in range(r):
                result[i, k] += total * Q[j, k]


def normal_matrices(starts: Any, others: Any, w: Any, Q: Any, result: Any) -> None:
    """Σ w q qᵀ over the entries of each row."""
    r = Q.shape[1]
    gathered = np.empty((r, _BLOCK))
    for i in range(result.shape[0]):
        for k in range(r):
            for h in range(r):
                result[i, k, h] = 0.0
        for first in range(starts[i], starts[i + 1], _BLOCK):
            count = min(_BLOCK, starts[i + 1] - first)
            for e in range(count):
                for k in range(r):
                    gathered[k, e] = Q[others[first + e], k]
            for k in range(r):
                for h in range(k + 1):
                    total = 0.0
                    for e in range(count):
                        total += w[first + e] * gathered[k, e] * gathered[h, e]
                    result[i, k, h] += total
        for k in range(r):
            for h in range(k):
                result[i, h, k] = result[i, k, h]


def fit(
    starts: Any,
    others: Any,
    values: Any,
    P: Any,
    Q: Any,
    narrowness: float,
    ridge: float,
    result: Any,
) -> None:
    """Each row of P fitted again to its entries, given Q: weighted least squares with a ridge.

    The weights are (1 + (narrowness · residual)²)^−2, with the residuals of P Qᵀ.
    """
    r = Q.shape[1]
    gathered = np.empty((r, _BLOCK))
    w = np.empty(_BLOCK)
    normal = np.empty((r, r))
    x = np.empty(r)
    for i in range(result.shape[0]):
        for k in range(r):
            x[k] = 0.0
            for h in range(r):
                normal[k, h] = 0.0
            normal[k, k] = ridge
        for first in range(starts[i], starts[i + 1], _BLOCK):
            count = min(_BLOCK, starts[i + 1] - first)
            for e in range(count):
                w[e] = values[first + e]
                for k in range(r):
                    gathered[k, e] = Q[others[first + e], k]
            for k in range(r):
                p = P[i, k]
                for e in range(count):
                    w[e] -= p * gathered[k, e]
            for e in range(count):
                ratio = narrowness * w[e]
                half = 1.0 / (1.0 + ratio * ratio)
                w[e] = half * half
            for k in range(r):
                total = 0.0
                for e in range(count):
                    total += w[e] * values[first + e] * gathered[k, e]
                x[k] += total
                for h in range(k + 1):
                    total = 0.0
                    for e in range(count):
                        total += w[e] * gathered[k, e] * gathered[h, e]
                    normal[k, h] += total
        # Cholesky decomposition; a direction in which there is no data keeps the value zero.
        for k in range(r):
            d = normal[k, k]
            before = d
            for h in range(k):
                d -= normal[k, h] * normal[k, h]
            normal[k, k] = np.sqrt(d) if d > 1e-14 * before else 0.0
            for a in range(k + 1, r):
                total = normal[a, k]
                for h in range(k):
                    total -= normal[a, h] * normal[k, h]
                normal[a, k] = total / normal[k, k] if normal[k, k] > 0.0 else 0.0
        for k in range(r):
            total = x[k]
            for h in range(k):
                total -= normal[k, h] * x[h]
            x[k] = total / normal[k, k] if normal[k, k] > 0.0 else 0.0
        for k in range(r - 1, -1, -1):
            total = x[k]
            for h in range(k + 1, r):
                total -= normal[h, k] * x[h]
            x[k] = total / normal[k, k] if normal[k, k] > 0.0 else 0.0
        for k in range(r):
            result[i, k] = x[k]
