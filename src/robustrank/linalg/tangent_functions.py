"""What follows from the products and the rows of a tangent map, for every map."""

from __future__ import annotations

from collections.abc import Iterator

from robustrank.backend import Array, like, namespace, on_gpu
from robustrank.linalg.tangent_map import TangentMap
from robustrank.linalg.tangent_view import TangentView, halves_swapped

_BLOCK_ROWS, _BLOCK_ROWS_ON_GPU = 512, 4096
# Entries of a block of rows that are computed, and not stored.
_BLOCK_ENTRIES = 2**20


def normal_matrix(tangent: TangentMap, weights: Array) -> Array | None:
    """The matrix of ``normal_map(weights)`` acting on ``as_vector(W)``; None if not available.

    If some W are not admissible, it is block diagonal and positive definite on the others.
    """
    if isinstance(tangent, TangentView):
        return _normal_matrix_of_view(tangent, weights)
    if tangent.rows is None:
        return None
    total: Array | None = None
    for block, rows in row_blocks(tangent):
        part = _normal_matrix_of_rows(rows, weights[..., block])
        total = part if total is None else total + part
    return total


def quadratic_forms(tangent: TangentMap, matrix: Array) -> Array | None:
    """``j @ matrix @ j`` for each measurement, if ``apply(W)`` is j · ``as_vector(W)``.

    The matrix is symmetric. None where ``normal_matrix`` is.
    """
    if isinstance(tangent, TangentView):
        return _quadratic_forms_of_view(tangent, matrix)
    if tangent.rows is None:
        return None
    xp = namespace(matrix)
    parts = [
        xp.sum((flat @ matrix) * flat, axis=-1)
        for _, rows in row_blocks(tangent)
        for _, flat in _flat_blocks(rows)
    ]
    return xp.concat(parts, axis=-1)


def admissible(tangent: TangentMap, W: Array) -> Array:
    """The part of W along which the matrix may change: all of it, unless it is symmetric."""
    if not isinstance(tangent, TangentView):
        return W
    if tangent.transposed:
        return tangent.outward(admissible(tangent.inner, tangent.inward(W)))
    if tangent.symmetric or tangent.mask is not None:
        return tangent.inward(W)
    return admissible(tangent.inner, W)


def share_maxima(tangent: TangentMap, chosen: Array) -> Array | None:
    """The largest share of each row and column of the matrix; see ``Shares.maxima``."""
    if not isinstance(tangent, TangentView):
        return None if tangent.shares is None else tangent.shares.maxima(chosen)
    tangent.before(0)
    maxima = share_maxima(tangent.inner, tangent.scattered(chosen))
    if maxima is None or not tangent.transposed:
        return maxima
    return halves_swapped(maxima, tangent.V.shape[-2])


def share_counts(tangent: TangentMap, least: Array, weights: Array) -> Array | None:
    """The weight of measurements with a share above ``least``; see ``Shares.counts``."""
    if not isinstance(tangent, TangentView):
        return None if tangent.shares is None else tangent.shares.counts(least, weights)
    tangent.before(0)
    if tangent.chosen is not None:
        each = [tangent.scattered(weights[k, :]) for k in range(weights.shape[0])]
        weights = namespace(weights).stack(each, axis=0)
    if not tangent.transposed:
        return share_counts(tangent.inner, least, weights)
    counts = share_counts(tangent.inner, halves_swapped(least, tangent.U.shape[-2]), weights)
    return None if counts is None else halves_swapped(counts, tangent.V.shape[-2])


def row_blocks(tangent: TangentMap) -> Iterator[tuple[slice, Array]]:
    """The rows of a map: all at once if they are stored, else a block at a time."""
    m, rows = tangent.measurements, tangent.rows
    if rows is None:
        return
    if tangent.reads:
        yield slice(0, m), rows(slice(0, m))
        return
    unknowns = tangent.U.shape[1] * (tangent.U.shape[0] + tangent.V.shape[0])
    for block in blocks_of(m, max(1, _BLOCK_ENTRIES // unknowns)):
        yield block, rows(block)


def blocks_of(size: int, height: int) -> Iterator[slice]:
    """The numbers below ``size`` in blocks."""
    for first in range(0, size, height):
        yield slice(first, min(first + height, size))


def _normal_matrix_of_rows(rows: Array, weights: Array) -> Array:
    """Σ w_i j_i j_iᵀ, accumulated in blocks so that the rows are not copied."""
    xp, size = namespace(rows), rows.shape[-1] * rows.shape[-2]
    total = xp.zeros((*rows.shape[:-3], size, size), **like(weights))
    for block, flat in _flat_blocks(rows):
        # A product of a matrix with its own transpose takes half the time.
        scaled = xp.sqrt(weights[..., block, None]) * flat
        total += xp.matrix_transpose(scaled) @ scaled
    return total


def _flat_blocks(rows: Array) -> Iterator[tuple[slice, Array]]:
    """Blocks of rows, (k, r (n1 + n2))."""
    *leading, m, r, n = rows.shape
    flat = namespace(rows).reshape(rows, (*leading, m, r * n))
    for block in blocks_of(m, _BLOCK_ROWS_ON_GPU if on_gpu(rows) else _BLOCK_ROWS):
        yield block, flat[..., block, :]


def _normal_matrix_of_view(view: TangentView, weights: Array) -> Array | None:
    view.before(1)
    if view.transposed or view.mask is not None:
        return None
    inner = view.scattered(view.squared(weights))
    matrix = normal_matrix(view.inner, inner if view.factor is None else view.factor * inner)
    if matrix is None:
        return None
    if view.factor is not None:
        matrix = view.factor * matrix
    if not view.symmetric:
        return matrix
    stiffness = namespace(weights).sum(weights, axis=-1)[..., None, None]
    return view.symmetric_matrix_part(matrix) + view.stiffness(matrix, stiffness)


def _quadratic_forms_of_view(view: TangentView, matrix: Array) -> Array | None:
    view.before(1)
    if view.transposed or view.mask is not None:
        return None
    if view.symmetric:
        matrix = view.symmetric_matrix_part(matrix)
    forms = quadratic_forms(view.inner, matrix if view.factor is None else view.factor * matrix)
    if forms is None:
        return None
    forms = view.squared(view.kept(forms))
    return forms if view.factor is None else view.factor * forms
