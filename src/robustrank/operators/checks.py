"""The checks that every operator must pass, public so that a new family can use them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robustrank.backend import Array, epsilon, full_precision, to_numpy
from robustrank.linalg import lower_median
from robustrank.operators.base import Operator, draw

# An estimate of ‖A_i‖ by random probes is off by about 10 %; a wrong formula by a factor.
_NORM_TOLERANCE = 0.5


@dataclass(frozen=True)
class OperatorCheck:
    """The violation of each property that an operator must have, relative to the sizes involved.

    Attributes
    ----------
    dot
        <A(U Vᵀ), w> against <U, A*(w) V> and against <V, A*(w)ᵀ U>.
    linearity
        A(U [a V1 + b V2]ᵀ) against a A(U V1ᵀ) + b A(U V2ᵀ).
    svd
        The leading triplets of A*(w) + U Vᵀ against products with them.
    tangent
        The tangent map against A(dU Vᵀ + U dVᵀ), its adjoint and its Gram product.
    gain
        The relative difference of ``gain`` from an estimate by random matrices; up to 0.5 is
        accepted.
    tolerance
        The largest accepted violation of the other properties.

    See Also
    --------
    robustrank.operators.check_operator : Returns this check.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> A = rr.operators.as_operator(np.random.default_rng(1).standard_normal((200, 12, 9)))
    >>> check = rr.operators.check_operator(A)
    >>> check.dot <= check.tolerance, check.passed
    (True, True)
    """

    dot: float  # <A(U Vᵀ), w> against <U, A*(w) V> and against <V, A*(w)ᵀ U>
    linearity: float  # A(U [aV1 + bV2]ᵀ) against a A(U V1ᵀ) + b A(U V2ᵀ)
    svd: float  # the leading triplets of A*(w) + U Vᵀ against products with them
    tangent: float  # the tangent map against A(dU Vᵀ + U dVᵀ), its adjoint and its Gram product
    gain: float  # relative difference from an estimate by random probes; up to 0.5 is accepted
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether every property holds to rounding, and the gain to within half."""
        exact = max(self.dot, self.linearity, self.svd, self.tangent)
        return exact <= self.tolerance and self.gain <= _NORM_TOLERANCE

    def __str__(self) -> str:
        values = ", ".join(f"{f.name} {getattr(self, f.name):.1e}" for f in fields(self))
        return f"{'passed' if self.passed else 'FAILED'}: {values}"


def check_operator(operator: Operator, rank: int = 2, seed: int = 0) -> OperatorCheck:
    """Test with random factors whether an operator is linear and its methods are consistent.

    Parameters
    ----------
    operator
        The operator.
    rank
        The rank of the random factors.
    seed
        Random seed.

    Returns
    -------
    OperatorCheck
        ``passed`` says whether the operator has all properties; the other attributes say which one
        is violated.

    See Also
    --------
    robustrank.operators.Operator : The methods that are tested.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> A = rr.operators.Bilinear(rng.standard_normal((200, 12)), rng.standard_normal((200, 9)))
    >>> rr.operators.check_operator(A).passed
    True
    """
    with full_precision(operator.asarray([1.0])):
        return _check(operator, rank, np.random.default_rng(seed))


def _check(operator: Operator, rank: int, rng: np.random.Generator) -> OperatorCheck:
    m, (n1, n2) = operator.shape
    rank = min(rank, n1, n2)
    U, V, V2 = (draw(operator, rng, n, rank) for n in (n1, n2, n2))
    w = draw(operator, rng, m)
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

    probed = float(lower_median(Operator.row_norms(operator))) / float(np.sqrt(n1 * n2))
    # Sums of n1·n2 rounded terms: the error grows like the square root of their number.
    tolerance = 50 * epsilon(measured) * float(np.sqrt(n1 * n2))
    tangent = _tangent_error(operator, U, V, draw(operator, rng, n1 + n2, rank), w)
    gain = abs(float(operator.gain) / probed - 1)
    return OperatorCheck(dot, linearity, svd, tangent, gain, tolerance)


def _tangent_error(operator: Operator, U: Array, V: Array, W: Array, w: Array) -> float:
    n1 = U.shape[0]
    tangent = operator.tangent(U, V)
    along, back = tangent.apply(W), tangent.adjoint(w)
    expected = operator.measure(W[:n1, :], V) + operator.measure(U, W[n1:, :])
    forward = _norm(along - expected) / _norm(expected)
    adjoint = abs(_dot(along, w) - _dot(W, back)) / (_norm(along) * _norm(w))
    gram = tangent.adjoint(w * along)
    normal = _norm(tangent.normal_map(w)(W) - gram) / _norm(gram)
    return max(forward, adjoint, normal)


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(to_numpy(a).astype(float), to_numpy(b).astype(float)))


def _norm(a: Array) -> float:
    return float(np.linalg.norm(to_numpy(a).astype(float)))
