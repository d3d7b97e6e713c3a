"""Do the fitted measurements determine the matrix, and if not, which part is not identified?"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.certificate.parts import Labels, Selection, Values, name_parts
from robustrank.linalg import (
    ROUNDINGS,
    TangentMap,
    admissible,
    conjugate_gradient_iterates,
    damped_least_squares,
    degrees_of_freedom,
    frobenius_norm,
    preconditioner,
    share_maxima,
    solve_directly,
    solve_normal_equations,
    without_null_directions,
)

# In exact arithmetic, conjugate gradients need at most one step per degree of freedom.
_STEPS_PER_DEGREE = 10
_REFINEMENTS = 5
_TRACE_PROBES = 2
# A share that does not count: of an error of a measurement, which is not checked by the others if
# no more is left in any probe; of the change of a row or column, relative to the largest one; and
# of the trace.
NEGLIGIBLE = 1e-2
# If the others check a measurement, so little is left in one probe of a hundred, by chance, and in
# all five with a probability of 0.01⁵ = 1e-10.
_PROBES = 5
# With a preconditioner, the largest number of steps; they end at an accuracy of √epsilon.
_PRECONDITIONED_STEPS = 1000
_REWEIGHTINGS = 20
_ROUNDINGS = 100  # √10⁴, the rounding error of a sum of ten thousand products, in epsilons


def undetermined_part(tangent: TangentMap, fitted: Array) -> Array | None:
    """A change W = [dU; dV] of the matrix that no fitted measurement depends on; None if none is.

    A matrix can fit more measurements than it has degrees of freedom and still be wrong if they do
    not depend on some part of it: sampled entries that leave out a row, for example. The test draws
    a random tangent vector and solves for it from its fitted measurements; conjugate gradients
    recover it, except for the part on which no fitted measurement depends. ``fitted`` is (m,), one
    or zero; the factors of the tangent map are orthonormal.
    """
    left = tangent.U
    sought = _random_tangent_vector(tangent, np.random.default_rng(0))
    norm = namespace(left).linalg.vector_norm
    freedom = degrees_of_freedom(left.shape[0], tangent.V.shape[0], left.shape[1])
    # The component along a single undetermined direction is about 1/√d, and smaller than a
    # thousandth of that only by chance: 2 · 1e-3 / √(2π), in one of 1,250 cases.
    close = 1e-3 / math.sqrt(freedom) + _ROUNDINGS * epsilon(left)
    # Rounding errors of the map make a direction that no measurement depends on a weak one.
    weak = max(epsilon(left), _ROUNDINGS * tangent.epsilon**2)

    normal = tangent.normal_map(fitted)
    slight = epsilon(left) * namespace(fitted).sum(fitted)
    rest = sought
    for _ in range(_REFINEMENTS):  # rounding leaves a part of what is determined
        direct = solve_directly(tangent, fitted, normal(rest), slight)
        if direct is None:
            break
        rest = rest - direct
        if float(norm(rest)) < close:
            return None
    limit = _STEPS_PER_DEGREE * freedom
    if normal.blocks is not None:
        limit, weak = min(limit, _PRECONDITIONED_STEPS), math.sqrt(epsilon(left))
    iterates = conjugate_gradient_iterates(normal, normal(sought), preconditioner(normal, slight))
    _, energy_of_all = next(iterates)
    for found, energy in islice(iterates, limit):
        rest = without_null_directions(tangent, sought - found)
        if float(norm(rest)) < close:
            return None
        if not float(energy) > float(energy_of_all) * weak**2:  # the rest is not determined
            break
    return rest


def changed_parts(tangent: TangentMap, change: Array | None, decided: Values) -> Values:
    """Which rows and columns a change of the matrix is in, boolean, of those that are decided.

    In the others, measurements may allow any change. The change is that of ``undetermined_part``,
    up to a common change of basis of the decided rows and columns, which changes nothing there.
    """
    if change is None:
        return np.zeros_like(decided)
    U, V, W = (to_numpy(part).astype(float) for part in (tangent.U, tangent.V, change))
    (n1, r), n = U.shape, len(W)
    if not np.isfinite(W).all():
        return decided
    errors = _distances_from_common_change(W[:n1], W[n1:], U, V, decided)
    by_one_direction = NEGLIGIBLE / math.sqrt(degrees_of_freedom(n1, n - n1, r))
    least = max(by_one_direction, ROUNDINGS * math.sqrt(epsilon(change)))
    return np.asarray(decided & (errors > least / math.sqrt(n)))


def _distances_from_common_change(
    dU: Values, dV: Values, U: Values, V: Values, kept: Values
) -> Values:
    """The distance of each row of (dU, dV) from (U K, −V Kᵀ) with the K that fits most of them.

    Such a change leaves U Vᵀ as it is, to first order. With weights, K solves
    Uᵀ W U K + K Vᵀ W V = Uᵀ W dU − dVᵀ W V; the weights are those of the sum of distances.
    """
    weights, errors = kept.astype(float), np.zeros(len(kept))
    largest = np.max(np.abs(np.concatenate([dU, dV])[kept]), initial=0.0) or 1.0
    for _ in range(_REWEIGHTINGS):
        a, b = (part[:, None] for part in np.split(weights, [len(U)]))
        K = _solve_sylvester(U.T @ (a * U), V.T @ (b * V), U.T @ (a * dU) - dV.T @ (b * V))
        errors = np.linalg.norm(np.concatenate([dU - U @ K, dV + V @ K.T]), axis=1)
        weights = kept / np.maximum(errors, math.sqrt(np.finfo(float).eps) * largest)
    return errors


def _solve_sylvester(A: Values, B: Values, C: Values) -> Values:
    """The smallest K with A K + K B = C for positive semidefinite A and B, singular ones too."""
    (a, E), (b, F) = np.linalg.eigh(A), np.linalg.eigh(B)
    sums = a[:, None] + b
    solvable = sums > np.finfo(float).eps * len(sums) * np.max(sums, initial=0.0)
    inside = np.divide(E.T @ C @ F, sums, out=np.zeros_like(sums), where=solvable)
    return np.asarray(E @ inside @ F.T)


def unchecked(tangent: TangentMap, fitted: Array, labels: Labels) -> Selection:
    """Which fitted measurements have leverage one, so that an error in them would not be noticed.

    The fitted measurements may determine the matrix while some part of it depends on no more
    measurements than it has unknowns: for example, if the number of sampled entries of a row is the
    rank. Those measurements are fitted whatever their values. The test fits targets of random sign;
    a measurement that is fitted closely in every probe is not checked by the others. Measurements
    with the same label are repetitions, which get the same target: they do not check each other.
    """
    left = tangent.U
    xp = namespace(left)
    rng = np.random.default_rng(0)
    freedom = degrees_of_freedom(left.shape[0], tangent.V.shape[0], left.shape[1])
    slight = epsilon(left) * xp.sum(fitted)
    close_in_all = fitted > 0
    # Repetitions may differ in their sign, so targets have the sign of a random measurement.
    along = xp.sign(tangent.apply(_random_tangent_vector(tangent, rng)))
    for _ in range(_PROBES):
        signs = rng.integers(0, 2, labels.max() + 1)[labels] * 2.0 - 1
        target = along * xp.asarray(signs, **like(left))
        W = damped_least_squares(
            tangent,
            fitted,
            target,
            slight,
            tolerance=xp.asarray(NEGLIGIBLE**2, **like(left)),
            max_iterations=_STEPS_PER_DEGREE * freedom,
        )
        close_in_all = close_in_all & (xp.abs(target - tangent.apply(W)) < NEGLIGIBLE)
        if not bool(xp.any(close_in_all)):
            break
    return to_numpy(close_in_all)


def error_per_deviation(
    tangent: TangentMap, weights: Array, freedom: int, part: Array | None = None
) -> float:
    """The error of the matrix for noise of standard deviation one: the root of tr (JᵀWJ)⁻¹.

    The trace is estimated from random tangent vectors of norm one. If only a ``part`` of the rows
    and columns counts (n1 + n2, boolean), the factors are zero in the others, and so are the
    weights of measurements that depend on these.
    """
    xp = namespace(weights)
    total = 0.0
    for probe in range(_TRACE_PROBES):
        vector = _random_tangent_vector(tangent, np.random.default_rng(probe))
        if part is not None:
            vector = xp.where(part[:, None], vector, xp.zeros_like(vector))
            vector = vector / frobenius_norm(vector)
        W = solve_normal_equations(
            tangent,
            weights,
            vector,
            damping=epsilon(weights) * xp.sum(weights),
            tolerance=xp.asarray(NEGLIGIBLE, **like(weights)),
        )
        total += float(xp.sum(W * vector)) / _TRACE_PROBES
    return math.sqrt(max(freedom * total, 0.0))


def _random_tangent_vector(tangent: TangentMap, rng: np.random.Generator) -> Array:
    """A random [dU; dV] of norm one, orthogonal to directions that do not change the matrix."""
    left = tangent.U
    shape = left.shape[0] + tangent.V.shape[0], left.shape[1]
    W = namespace(left).asarray(rng.standard_normal(shape), **like(left))
    W = admissible(tangent, without_null_directions(tangent, W))
    return W / frobenius_norm(W)


def unidentified_part(tangent: TangentMap) -> str:
    """The part of the matrix that no measurement depends on, in words; empty if there is none."""
    left = tangent.U
    every = namespace(left).ones(tangent.measurements, **like(left))
    change = undetermined_part(tangent, every)
    if change is None:
        return ""
    shares = share_maxima(tangent, every)
    if shares is not None:
        largest = to_numpy(shares)
        unseen = np.flatnonzero(largest <= (_ROUNDINGS * tangent.epsilon) ** 2 * largest.max())
        if len(unseen):
            return name_parts(unseen, left.shape[0])
    return _described(*map(to_numpy, (left, tangent.V, change)))


def _described(U: Values, V: Values, W: Values) -> str:
    """Where a change W is, in rows or in columns, whichever are fewer."""
    n1 = len(U)
    left = np.concatenate([W[:n1], U], axis=1)  # the change is left · rightᵀ
    right = np.concatenate([V, W[n1:]], axis=1)
    if n1 == len(V) and _is_antisymmetric(left, right):
        return "the antisymmetric part"
    rows, columns = _changed_rows(left, right), _changed_rows(right, left)
    if rows.all() and columns.all():
        return "some combination of entries"
    if columns.mean() < rows.mean():
        return name_parts(n1 + np.flatnonzero(columns), n1)
    return name_parts(np.flatnonzero(rows), n1)


def _changed_rows(left: Values, right: Values) -> Selection:
    """Which rows of left · rightᵀ are not negligible."""
    sizes = np.sqrt(np.maximum(np.sum((left @ (right.T @ right)) * left, axis=1), 0))
    return np.asarray(sizes > NEGLIGIBLE * sizes.max())


def _is_antisymmetric(left: Values, right: Values) -> bool:
    """Whether left · rightᵀ equals minus its transpose, from the small Gram matrices."""
    square = np.sum((left.T @ left) * (right.T @ right))
    with_transpose = np.sum((left.T @ right) * (right.T @ left))
    return bool(square + with_transpose < NEGLIGIBLE**2 * square)
