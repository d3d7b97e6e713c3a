"""Loops over sensing matrices and over the rows of a tangent map; imports numba.

Sums over measurements are made in chunks of a fixed number of rows, so that they have the same
bits for every number of threads. Arithmetic is in the dtype of the vectors, whatever the matrix is
stored in.
"""

from __future__ import annotations

from typing import Any

from robustrank.backend.prefetch import LINE_BYTES, prefetch


def fill(A: Any, Ut: Any, Vt: Any, rows: Any, core: Any) -> None:
    """(A_i V)ᵀ beside (A_iᵀ U)ᵀ in ``rows``, and the numbers u_kᵀ A_i v_k in ``core``."""
    m, n1, n2 = A.shape
    r = Ut.shape[0]
    whole = n1 - n1 % 4
    zero = Ut.dtype.type(0)
    line = LINE_BYTES // A.itemsize
    lines = (4 * n2 + line - 1) // line
    share = (lines + r - 1) // r
    for i in range(m):
        rows[i, :, n1:] = 0
        for k in range(r):
            core[i, k] = 0
        # Four rows of A_i stay in the innermost cache for all r columns. Meanwhile the next four
        # are loaded.
        for a in range(0, whole, 4):
            following = (i * n1 + a + 4) * n2
            for k in range(r):
                for part in range(k * share, min((k + 1) * share, lines)):
                    prefetch(A, following + part * line)
                v, back = Vt[k], rows[i, k, n1:]
                s0, s1, s2, s3 = zero, zero, zero, zero
                u0, u1, u2, u3 = Ut[k, a], Ut[k, a + 1], Ut[k, a + 2], Ut[k, a + 3]
                for b in range(n2):
                    x0, x1, x2, x3 = A[i, a, b], A[i, a + 1, b], A[i, a + 2, b], A[i, a + 3, b]
                    s0 += x0 * v[b]
                    s1 += x1 * v[b]
                    s2 += x2 * v[b]
                    s3 += x3 * v[b]
                    back[b] += x0 * u0 + x1 * u1 + x2 * u2 + x3 * u3
                rows[i, k, a] = s0
                rows[i, k, a + 1] = s1
                rows[i, k, a + 2] = s2
                rows[i, k, a + 3] = s3
                core[i, k] += s0 * u0 + s1 * u1 + s2 * u2 + s3 * u3
        for a in range(whole, n1):
            for k in range(r):
                s0 = zero
                for b in range(n2):
                    s0 += A[i, a, b] * Vt[k, b]
                    rows[i, k, n1 + b] += A[i, a, b] * Ut[k, a]
                rows[i, k, a] = s0
                core[i, k] += s0 * Ut[k, a]


def dot(J: Any, x: Any, result: Any) -> None:
    """J x."""
    for i in range(J.shape[0]):
        total = x.dtype.type(0)
        for j in range(J.shape[1]):
            total += J[i, j] * x[j]
        result[i] = total


def gather(J: Any, w: Any, chunk: int, parts: Any) -> None:
    """wᵀ J, one part for each chunk of rows."""
    for c in range(parts.shape[0]):
        part = parts[c]
        first, last = c * chunk, min((c + 1) * chunk, J.shape[0])
        whole = first + (last - first) // 4 * 4
        for i in range(first, whole, 4):  # so that the part is read and written less often
            row0, row1, row2, row3 = J[i], J[i + 1], J[i + 2], J[i + 3]
            w0, w1, w2, w3 = w[i], w[i + 1], w[i + 2], w[i + 3]
            for j in range(J.shape[1]):
                part[j] += w0 * row0[j] + w1 * row1[j] + w2 * row2[j] + w3 * row3[j]
        for i in range(whole, last):
            row, weight = J[i], w[i]
            for j in range(J.shape[1]):
                part[j] += weight * row[j]


def normal(J: Any, w: Any, x: Any, chunk: int, parts: Any) -> None:
    """Jᵀ diag(w) J x, one part for each chunk of rows; each row is read once and used twice."""
    zero = x.dtype.type(0)
    for c in range(parts.shape[0]):
        part = parts[c]
        first, last = c * chunk, min((c + 1) * chunk, J.shape[0])
        whole = first + (last - first) // 4 * 4
        for i in range(first, whole, 4):  # so that x and the part are read less often
            row0, row1, row2, row3 = J[i], J[i + 1], J[i + 2], J[i + 3]
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(J.shape[1]):
                s0 += row0[j] * x[j]
                s1 += row1[j] * x[j]
                s2 += row2[j] * x[j]
                s3 += row3[j] * x[j]
            s0, s1, s2, s3 = s0 * w[i], s1 * w[i + 1], s2 * w[i + 2], s3 * w[i + 3]
            for j in range(J.shape[1]):
                part[j] += s0 * row0[j] + s1 * row1[j] + s2 * row2[j] + s3 * row3[j]
        for i in range(whole, last):
            row = J[i]
            s0 = zero
            for j in range(J.shape[1]):
                s0 += row[j] * x[j]
            s0 *= w[i]
            for j in range(J.shape[1]):
                part[j] += s0 * row[j]
