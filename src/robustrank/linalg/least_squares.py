"""Least squares on the tangent space, by conjugate gradients or a factorization."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from robustrank.backend import (
    Array,
    epsilon,
    inverse_positive_definite,
    like,
    namespace,
    on_gpu,
    solve_positive_definite,
)
from robustrank.linalg.low_rank import Point, relative_length, retract
from robustrank.linalg.tangent import (
    NormalMap,
    TangentMap,
    as_vector,
    from_vector,
    normal_matrix,
    quadratic_forms,
)
from robustrank.linalg.vectors import weighted

# Up to 3,000 unknowns, a factorization on a GPU takes as long as a few products that are each
# launched from Python.
_DIRECT_SIZE = 3000
# On a CPU, the limit is 300: up to there, a step of conjugate gradients is mostly overhead.
_DIRECT_SIZE_ON_CPU = 300
_MAX_ITERATIONS = 200
# A damping of this number of rounding errors keeps a normal matrix invertible: √256, that of a sum
# of a few hundred products.
ROUNDINGS = 16
_ACCURACY = 1e-3  # of a solve with noise, whose error matters more


def damped_least_squares(
    tangent: TangentMap,
    weights: Array,
    target: Array,
    damping: Array,
    tolerance: Array,
    max_iterations: int = _MAX_ITERATIONS,
) -> Array:
    """The W that minimizes Σ w_i (J(W)_i − target_i)² + damping ‖W‖², to a relative tolerance.

    The factors of the tangent map J must be orthonormal. All arrays may have a leading axis.
    """
    right = tangent.adjoint(weighted(target, weights))
    return solve_normal_equations(tangent, weights, right, damping, tolerance, max_iterations)


def plain_least_squares(
    tangent: TangentMap, weights: Array, target: Array, accuracy: float = _ACCURACY
) -> Array:
    """The W that minimizes Σ w_i (J(W)_i − target_i)², to a relative accuracy.

    The damping is a few roundings: moving U and V without moving the matrix must cost something.
    """
    xp = namespace(target)
    damping = ROUNDINGS * epsilon(target) * xp.sum(weights)
    tolerance = xp.asarray(accuracy, **like(target))
    return damped_least_squares(tangent, weights, target, damping, tolerance)


def gauss_newton_step(
    tangent: TangentMap,
    point: Point,
    weights: Array,
    residual: Array,
    *,
    damping: float = 0.0,
    accuracy: float = _ACCURACY,
    diagonal: float = 1.0,
) -> tuple[Point, float]:
    """The point after one damped Gauss–Newton step, and the relative length of the step.

    ``damping`` is relative to the mean diagonal of the normal matrix, which is Σ w_i times
    ``diagonal``; at least a few roundings. ``accuracy`` is that of the linear solve.
    """
    xp, rounding = namespace(residual), epsilon(residual)
    W = damped_least_squares(
        tangent,
        weights,
        residual,
        max(damping, ROUNDINGS * rounding) * diagonal * xp.sum(weights),
        xp.asarray(max(accuracy, math.sqrt(rounding)), **like(residual)),
    )
    return retract(point, W, int(point.values.shape[0])), relative_length(W, point)


def solve_normal_equations(
    tangent: TangentMap,
    weights: Array,
    right: Array,
    damping: Array,
    tolerance: Array,
    max_iterations: int = _MAX_ITERATIONS,
) -> Array:
    """The W with J*(w J(W)) + damping W = ``right``, to a relative tolerance.

    Where a factorization would take longer, it is found by conjugate gradients. The normal matrix
    is often close to a multiple of the identity, so few products are needed. If it has diagonal
    blocks to offer, their inverses are the preconditioner.
    """
    xp = namespace(right)
    direct = solve_directly(tangent, weights, right, damping)
    if direct is not None:
        # Where the factorization failed, take a gradient step whose length assumes that the normal
        # matrix is a multiple of the identity. Testing for failure first would synchronize the GPU.
        gradient = right / (xp.sum(weights, axis=-1) + damping)[..., None, None]
        return xp.where(xp.isfinite(direct), direct, gradient)
    normal = tangent.normal_map(weights)
    iterates = conjugate_gradient_iterates(
        lambda W: normal(W) + damping[..., None, None] * W, right, preconditioner(normal, damping)
    )
    W, energy = next(iterates)
    target_energy = energy * tolerance**2
    done = energy <= target_energy
    for _ in range(max_iterations):
        if bool(xp.all(done)):
            break
        closer, energy = next(iterates)
        W = xp.where(done[..., None, None], W, closer) if done.ndim else closer
        done = done | (energy <= target_energy)  # final, whatever rounding does to it later
    return W if normal.blocks is None else without_null_directions(tangent, W)


def solve_directly(
    tangent: TangentMap, weights: Array, right: Array, damping: Array
) -> Array | None:
    """The W with J*(w J(W)) + damping W = ``right`` by Cholesky; NaN where rounding makes it fail.

    None where conjugate gradients would be faster or the normal matrix is not available.

    Some directions change the factors and not the matrix, so no measurement depends on them. The
    solution has no component along them; giving them a positive stiffness changes nothing else.
    """
    matrix = _definite_normal_matrix(tangent, weights, damping)
    if matrix is None:
        return None
    return from_vector(solve_positive_definite(matrix, as_vector(right)), right.shape[-1])


_NEWTON_STEPS = 10
# With very few inliers leverages are only known roughly; none is taken to be larger.
MOST_LEVERAGE = 0.95
# Where residuals are compared with their own noise, leverages are only limited by rounding.
LEVERAGE_LIMIT = 1 - 1e-6


def share_left(freedom: float, count: int) -> float:
    """The share 1 − d/N of the noise of N inliers that a fit of d degrees of freedom leaves."""
    return 1 - min(freedom / max(count, 1), MOST_LEVERAGE)


def unit_leverages(tangent: TangentMap, weights: Array) -> Array | None:
    """The leverage of each measurement in weighted least squares, divided by its weight, (m,).

    The leverage is how much of a change of the measurement its fitted value follows. None where
    least squares would be solved iteratively; NaN where the factorization fails.
    """
    xp = namespace(weights)
    damping = ROUNDINGS * epsilon(weights) * xp.sum(weights, axis=-1)
    matrix = _definite_normal_matrix(tangent, weights, damping)
    if matrix is None:
        return None
    inverse = inverse_positive_definite(matrix)
    return quadratic_forms(tangent, (inverse + xp.matrix_transpose(inverse)) / 2)


def leverages(
    tangent: TangentMap, weights: Array, freedom: int, most: float = MOST_LEVERAGE
) -> Array:
    """The leverage of each measurement in weighted least squares, (m,), at most ``most``.

    For large problems the fit without a measurement is taken to know all of them equally well.
    """
    xp = namespace(weights)
    unit = unit_leverages(tangent, weights)
    if unit is None:
        own = _typical_leverages(weights, freedom)
    else:
        own = weights * unit
        own = xp.where(xp.isfinite(own), own, _typical_leverages(weights, freedom))
    return xp.clip(own, min=0.0, max=most)


def _typical_leverages(weights: Array, freedom: int) -> Array:
    """Leverages w κ / (1 + w κ), where κ is such that their sum is the degrees of freedom.

    κ is the variance with which the other measurements predict a typical one, in units of the
    noise variance. Newton's method approaches it from below.
    """
    xp = namespace(weights)
    variance = freedom / xp.clip(xp.sum(weights), min=freedom / MOST_LEVERAGE)
    least = float(xp.finfo(weights.dtype).smallest_normal) ** 0.5
    for _ in range(_NEWTON_STEPS):
        own = weights * variance / (1 + weights * variance)
        slope = xp.clip(xp.sum(own * (1 - own)) / variance, min=least)
        variance = variance + xp.clip((freedom - xp.sum(own)) / slope, min=0.0)
    return weights * variance / (1 + weights * variance)


def _definite_normal_matrix(tangent: TangentMap, weights: Array, damping: Array) -> Array | None:
    """The matrix of the damped normal equations, positive definite; None if it is too large."""
    r, n = tangent.U.shape[-1], tangent.U.shape[-2] + tangent.V.shape[-2]
    if r * n > (_DIRECT_SIZE if on_gpu(weights) else _DIRECT_SIZE_ON_CPU):
        return None
    xp = namespace(weights)
    matrix = normal_matrix(tangent, weights)
    if matrix is None:
        return None
    null = null_directions(tangent.U, tangent.V)
    stiffness = xp.sum(weights, axis=-1)[..., None, None]
    matrix += xp.matrix_transpose(null) @ (stiffness * null)
    matrix += damping[..., None, None] * xp.eye(matrix.shape[-1], **like(weights))
    return matrix


def preconditioner(normal: NormalMap, damping: Array) -> Callable[[Array], Array]:
    """An approximate inverse of a damped normal map: the identity if it has no blocks to offer."""
    if normal.blocks is None:
        return lambda residual: residual
    blocks = normal.blocks()
    xp, r = namespace(blocks), blocks.shape[-1]
    eye = xp.eye(r, **like(blocks))
    average = xp.mean(xp.sum(blocks * eye, axis=(-2, -1))) / r
    # Rows of W on which no measurement depends have a block of zeros, and others a singular one.
    least = damping + math.sqrt(epsilon(blocks)) * average
    least = xp.where(least > 0, least, xp.ones_like(least))
    inverse = inverse_positive_definite(blocks + least * eye)
    return lambda residual: (inverse @ residual[..., None])[..., 0]


def without_null_directions(tangent: TangentMap, W: Array) -> Array:
    """W without its part along the directions that change the factors and not the matrix."""
    left, right, xp = tangent.U, tangent.V, namespace(W)
    transpose, n1 = xp.matrix_transpose, left.shape[-2]
    dU, dV = W[..., :n1, :], W[..., n1:, :]
    null = (transpose(left) @ dU - transpose(dV) @ right) / 2
    return xp.concat([dU - left @ null, dV + right @ transpose(null)], axis=-2)


def null_directions(left: Array, right: Array) -> Array:
    """(r², r (n1 + n2)) orthonormal: W = [left E; −right Eᵀ] as a vector, for every unit E."""
    xp = namespace(left)
    r = left.shape[-1]
    eye = xp.eye(r, **like(left))
    # Axes: (i, j) for E = e_i e_jᵀ, then the column of W, then its row.
    upper = eye[None, :, :, None] * xp.matrix_transpose(left)[..., :, None, None, :]
    lower = eye[:, None, :, None] * xp.matrix_transpose(right)[..., None, :, None, :]
    both = xp.concat([upper, -lower], axis=-1) / math.sqrt(2)
    return xp.reshape(both, (*left.shape[:-2], r * r, -1))


def conjugate_gradient_iterates(
    normal: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array] = lambda residual: residual,
) -> Iterator[tuple[Array, Array]]:
    """Approximations W to the solution of normal(W) = right, starting with zero.

    Each comes with the squared norm of its residual, in the norm of the preconditioner. W is a
    matrix, or many of them along leading axes; a matrix no longer changes if its residual is zero
    or ``normal`` maps it to zero. ``precondition`` is an approximate inverse of ``normal``.
    """
    W = namespace(right).zeros_like(right)
    residual = right
    direction = precondition(residual)
    energy = _inner(residual, direction)
    while True:
        yield W, energy
        image = normal(direction)
        length = _ratio(energy, _inner(direction, image))
        W = W + length * direction
        residual = residual - length * image
        improved = precondition(residual)
        previous, energy = energy, _inner(residual, improved)
        direction = improved + _ratio(energy, previous) * direction


def _inner(a: Array, b: Array) -> Array:
    if type(a) is np.ndarray and a.ndim == 2:  # in a tenth of the time
        return np.asarray(np.vdot(a, b))
    return namespace(a).sum(a * b, axis=(-2, -1))


def _ratio(a: Array, b: Array) -> Array:
    """a / b as a factor of matrices; zero where b is zero."""
    if type(b) is np.ndarray and b.ndim == 0:
        return a / b if b else 0.0
    xp = namespace(a)
    nonzero = b != 0
    ratio = a / xp.where(nonzero, b, xp.ones_like(b))
    return xp.where(nonzero, ratio, xp.zeros_like(ratio))[..., None, None]
