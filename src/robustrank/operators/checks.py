"""The checks that every operator must pass, shipped so that a new family can use them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robustrank.backend import Array, epsilon, full_precision, to_numpy
from robustrank.operators.base import Operator


@dataclass(frozen=True)
class OperatorCheck:
    """How far an operator is from each law it must keep, relative to the sizes involved."""

    dot: float  # <A(U Vᵀ), w> against <U, A*(w) V> and against <V, A*(w)ᵀ U>
    linearity: float  # A(U [aV1 + bV2]ᵀ) against a A(U V1ᵀ) + b A(U V2ᵀ)
    svd: float  # the leading triplets of A*(w) + U Vᵀ against its products with them
    tangent: float  # A(dU Vᵀ + U dVᵀ) against the tangent map, and that against its adjoint
    subset: float  # A restricted to some rows against the same entries of A
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether every law holds to rounding."""
        return max(self.dot, self.linearity, self.svd, self.tangent, self.subset) <= self.tolerance


def check_operator(operator: Operator, rank: int = 2, seed: int = 0) -> OperatorCheck:
    """Measure how well ``operator`` keeps the laws of its contract, on random factors."""
    with full_precision(operator.asarray([1.0])):
        return _check(operator, rank, seed)


def _check(operator: Operator, rank: int, seed: int) -> OperatorCheck:
    rng = np.random.default_rng(seed)
    m, (n1, n2) = operator.measurements, operator.matrix_shape
    rank = min(rank, n1, n2)

    def draw(*shape: int) -> Array:
        return operator.asarray(rng.standard_normal(shape).astype(_numpy_dtype(operator)))

    U, V, V2, w = draw(n1, rank), draw(n2, rank), draw(n2, rank), draw(m)
    measured = operator.measure(U, V)
    GV, GtU = operator.backproject(w, U, V)
    inner, size = _dot(measured, w), _norm(measured) * _norm(w)
    dot = max(abs(inner - _dot(U, GV)), abs(inner - _dot(V, GtU))) / size

    combined = operator.measure(U, 2.0 * V - 3.0 * V2)
    expected = 2.0 * measured - 3.0 * operator.measure(U, V2)
    linearity = _norm(combined - expected) / _norm(expected)

    left, values, right = operator.leading_svd(w, rank, rng, plus=(U, V))
    G_right, Gt_left = operator.backproject(w, left, right)
    G_right, Gt_left = G_right + U @ (V.T @ right), Gt_left + V @ (U.T @ left)
    svd = max(_norm(G_right - left * values), _norm(Gt_left - right * values)) / _norm(values)

    half = slice(0, (m + 1) // 2)
    subset = _norm(operator.rows(half).measure(U, V) - measured[half]) / _norm(measured)
    # Sums of n1·n2 rounded terms: the error grows like the root of their number.
    tolerance = 50 * epsilon(measured) * float(np.sqrt(n1 * n2))
    tangent = _tangent_error(operator, U, V, draw(n1 + n2, rank), w)
    return OperatorCheck(dot, linearity, svd, tangent, subset, tolerance)


def _tangent_error(operator: Operator, U: Array, V: Array, W: Array, w: Array) -> float:
    n1 = U.shape[0]
    map_ = operator.tangent(U, V)
    along = map_.apply(W)
    expected = operator.measure(W[:n1, :], V) + operator.measure(U, W[n1:, :])
    forward = _norm(along - expected) / _norm(expected)
    back = abs(_dot(along, w) - _dot(W, map_.adjoint(w))) / (_norm(along) * _norm(w))
    return max(forward, back)


def _numpy_dtype(operator: Operator) -> str:
    return "float32" if "32" in str(operator.dtype) else "float64"


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(to_numpy(a).astype(float), to_numpy(b).astype(float)))


def _norm(a: Array) -> float:
    return float(np.linalg.norm(to_numpy(a).astype(float)))
