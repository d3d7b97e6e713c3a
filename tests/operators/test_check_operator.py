"""``check_operator`` names the property that a wrong family violates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.linalg import NormalMap, TangentView
from robustrank.operators import DenseOperator, OperatorCheck, StoredTangent, check_operator

M, N1, N2 = 37, 9, 7


class WrongAdjoint(DenseOperator):
    """A*(w) is one part in a thousand too large, in the products and in the SVD."""

    def adjoint(self, w: Any) -> Any:
        return 1.001 * super().adjoint(w)


class WrongRightHalf(DenseOperator):
    """Gᵀ U is wrong; G V is right."""

    def backproject(self, w: Any, U: Any, V: Any) -> tuple[Any, Any]:
        GV, GtU = super().backproject(w, U, V)
        return GV, -GtU


class NotLinear(DenseOperator):
    """A constant is added to every measurement."""

    def measure(self, U: Any, V: Any) -> Any:
        return super().measure(U, V) + 0.1


class WrongTangent(DenseOperator):
    """The tangent map is one part in a thousand too large."""

    def tangent(self, U: Any, V: Any, *, precise: bool = False) -> Any:
        return TangentView(super().tangent(U, V), factor=1.001)


class WrongGramTangent(StoredTangent):
    """``apply`` and ``adjoint`` are right, ``normal_map`` ignores the weights."""

    def normal_map(self, weights: Any) -> Any:
        return NormalMap(lambda W: self.adjoint(self.apply(W)))


class WrongGram(DenseOperator):
    """The Gram product of the tangent map is wrong."""

    def tangent(self, U: Any, V: Any, *, precise: bool = False) -> StoredTangent:
        right = super().tangent(U, V)
        return WrongGramTangent(right.stored, U, V)


class WrongValues(DenseOperator):
    """The singular values are one part in a thousand too large."""

    def leading_svd(self, w: Any, rank: Any, rng: Any, plus: Any = None, **options: Any) -> Any:
        left, values, right = super().leading_svd(w, rank, rng, plus)
        return left, 1.001 * values, right


class IgnoredSummand(DenseOperator):
    """``plus`` is ignored in the SVD."""

    def leading_svd(self, w: Any, rank: Any, rng: Any, plus: Any = None, **options: Any) -> Any:
        return super().leading_svd(w, rank, rng)


class WrongGain(DenseOperator):
    """The gain is the norm of a row instead of the size of an entry."""

    @property
    def gain(self) -> float:
        return super().gain * float(np.sqrt(N1 * N2))


VIOLATED: dict[type[DenseOperator], set[str]] = {
    DenseOperator: set(),
    WrongAdjoint: {"dot"},
    WrongRightHalf: {"dot", "svd"},
    NotLinear: {"dot", "linearity", "tangent"},
    WrongTangent: {"tangent"},
    WrongGram: {"tangent"},
    WrongValues: {"svd"},
    IgnoredSummand: {"svd"},
    WrongGain: {"gain"},
}


def violated(check: OperatorCheck) -> set[str]:
    exact = {"dot", "linearity", "svd", "tangent"}
    names = {name for name in exact if getattr(check, name) > check.tolerance}
    return names | ({"gain"} if check.gain > 0.5 else set())


@pytest.mark.parametrize("family", VIOLATED, ids=lambda family: family.__name__)
def test_violated_property_is_named(family: type[DenseOperator], dtype: str) -> None:
    flat = np.random.default_rng(5).standard_normal((M, N1 * N2)).astype(dtype)
    check = check_operator(family(flat, (N1, N2)))
    assert violated(check) == VIOLATED[family], check
    assert check.passed is (not VIOLATED[family])
    assert str(check).startswith("passed: dot " if check.passed else "FAILED: dot ")


def test_check_is_reproducible_and_depends_on_its_seed() -> None:
    operator = DenseOperator(np.random.default_rng(5).standard_normal((M, N1 * N2)), (N1, N2))
    assert check_operator(operator) == check_operator(operator)
    assert check_operator(operator) != check_operator(operator, seed=1)


def test_rank_of_the_check_is_limited_by_the_shape() -> None:
    operator = DenseOperator(np.random.default_rng(5).standard_normal((M, 4)), (4, 1))
    assert check_operator(operator, rank=5).passed
