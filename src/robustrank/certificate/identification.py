"""Which part of the matrix does no measurement depend on?"""

from __future__ import annotations

import numpy as np

from robustrank.backend import Array, namespace, to_numpy
from robustrank.certificate.determination import undetermined_part
from robustrank.certificate.parts import name_parts
from robustrank.linalg import TangentMap, share_maxima

# A row or column is part of the change if its share of the largest one is above this.
_NEGLIGIBLE = 1e-2
_ANTISYMMETRIC = 1e-3
_ROUNDINGS = 100


def unidentified_part(tangent: TangentMap, example: Array) -> str:
    """The part of the matrix that no measurement depends on, in words; empty if there is none.

    ``example`` is an array of shape (m,).
    """
    change = undetermined_part(tangent, namespace(example).ones_like(example))
    if change is None:
        return ""
    return _unseen(tangent, example) or _described(tangent, to_numpy(change))


def _unseen(tangent: TangentMap, example: Array) -> str:
    """The rows and columns on which no measurement depends at all, if the map is stored."""
    shares = share_maxima(tangent, namespace(example).ones_like(example))
    if shares is None:
        return ""
    largest = to_numpy(shares)
    negligible = (_ROUNDINGS * tangent.epsilon) ** 2 * largest.max()
    parts = np.flatnonzero(largest <= negligible)
    return name_parts([int(part) for part in parts], tangent.U.shape[0])


def _described(tangent: TangentMap, W: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    U, V = to_numpy(tangent.U), to_numpy(tangent.V)
    n1 = len(U)
    left = np.concatenate([W[:n1], U], axis=1)  # the change is left · rightᵀ
    right = np.concatenate([V, W[n1:]], axis=1)
    if n1 == len(V) and _is_antisymmetric(left, right):
        return "the antisymmetric part"
    # Without shares: where the change is, in rows or in columns, whichever are fewer.
    rows = np.sqrt(np.maximum(np.sum((left @ (right.T @ right)) * left, axis=1), 0))
    columns = np.sqrt(np.maximum(np.sum((right @ (left.T @ left)) * right, axis=1), 0))
    seen_rows, seen_columns = rows > _NEGLIGIBLE * rows.max(), columns > _NEGLIGIBLE * columns.max()
    parts = np.flatnonzero(seen_rows)
    if seen_columns.mean() < seen_rows.mean():
        parts = n1 + np.flatnonzero(seen_columns)
    if min(seen_rows.mean(), seen_columns.mean()) == 1:
        return "some combination of entries"
    return name_parts([int(part) for part in parts], n1)


def _is_antisymmetric(left: Array, right: Array) -> bool:
    """Whether left · rightᵀ equals minus its transpose, from the small Gram matrices."""
    square = np.sum((left.T @ left) * (right.T @ right))
    with_transpose = np.sum((left.T @ right) * (right.T @ left))
    return bool(square + with_transpose < _ANTISYMMETRIC**2 * square)
