"""Views of an operator: scaled, transposed, counted and batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision, like, to_numpy
from robustrank.operators import (
    BatchedOperator,
    CenteredOperator,
    CountedOperator,
    DenseOperator,
    Operator,
    RowScaledOperator,
    ScaledOperator,
    SubsetOperator,
    TransposedOperator,
    as_operator,
    can_be_batched,
    check_operator,
)
from robustrank.outofcore import StreamedOperator
from robustrank.outofcore.array_rows import ArrayRows

M, N1, N2 = 40, 9, 7
ROWS = np.arange(1, M, 2)


def factors(A: Any) -> np.ndarray[Any, Any]:
    """The factors that give all rows the norm of a typical one."""
    host = to_numpy(A)
    norms = np.linalg.norm(host.reshape(M, -1), axis=1)
    return np.asarray(np.sort(norms)[(M - 1) // 2] / norms, host.dtype)


def common(A: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The factors of a matrix of rank one."""
    dtype = to_numpy(A).dtype
    return np.linspace(0, 0.1, N1)[:, None].astype(dtype), np.ones((N2, 1), dtype)


# An operator for the sensing data A, and the sensing data to which it is equivalent.
VIEWS: dict[str, tuple[Callable[[Any], Operator], Callable[[Any], Any]]] = {
    "dense": (as_operator, lambda A: A),
    "scaled": (lambda A: ScaledOperator(as_operator(A), 0.3), lambda A: 0.3 * A),
    "transposed": (lambda A: TransposedOperator(as_operator(A)), lambda A: A.mT),
    "counted": (lambda A: CountedOperator(as_operator(A)), lambda A: A),
    "scaled transposed": (
        lambda A: ScaledOperator(TransposedOperator(as_operator(A)), -2.0),
        lambda A: -2 * A.mT,
    ),
    "row scaled": (
        lambda A: RowScaledOperator(as_operator(A), as_operator(A).asarray(factors(A))),
        lambda A: factors(A)[:, None, None] * A,
    ),
    "centered": (
        lambda A: CenteredOperator(
            as_operator(A), *(as_operator(A).asarray(it) for it in common(A))
        ),
        lambda A: A - common(A)[0] @ common(A)[1].T,
    ),
    "subset, row scaled and counted": (
        lambda A: SubsetOperator(
            RowScaledOperator(CountedOperator(as_operator(A)), as_operator(A).asarray(factors(A))),
            as_operator(A).asarray(ROWS),
        ),
        lambda A: (factors(A)[:, None, None] * A)[ROWS],
    ),
    "counted scaled": (
        lambda A: CountedOperator(ScaledOperator(as_operator(A), 0.3)),
        lambda A: 0.3 * A,
    ),
}


def sensing(dtype: str) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal((M, N1, N2)).astype(dtype)


@pytest.mark.parametrize("view", VIEWS)
def test_view_fulfills_the_contract(xp: Any, dtype: str, view: str) -> None:
    A = xp.asarray(sensing(dtype))
    operator = VIEWS[view][0](A)
    check = check_operator(operator)
    assert check.passed, check
    U, V = (operator.asarray(np.ones((n, 1), dtype)) for n in operator.matrix_shape)
    assert like(operator.measure(U, V)) == like(A)


@pytest.mark.parametrize("view", VIEWS)
def test_view_agrees_with_the_equivalent_sensing_data(view: str, dtype: str) -> None:
    A = sensing(dtype)
    make, equivalent = VIEWS[view]
    operator, plain = make(A), as_operator(np.ascontiguousarray(equivalent(A)))
    assert (operator.shape, operator.dtype) == (plain.shape, plain.dtype)
    rng = np.random.default_rng(2)
    U, V = (rng.standard_normal((n, 2)).astype(dtype) for n in operator.matrix_shape)
    w = rng.standard_normal(operator.measurements).astype(dtype)
    close: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}
    if dtype == "float32":
        close = {"rtol": 1e-4, "atol": 1e-4}
    assert np.allclose(operator.measure(U, V), plain.measure(U, V), **close)
    for found, expected in zip(
        operator.backproject(w, U, V), plain.backproject(w, U, V), strict=True
    ):
        assert np.allclose(found, expected, **close)
    for plus in (None, (U, V)):
        _, values, _ = operator.leading_svd(w, 2, rng, plus)
        assert np.allclose(values, plain.leading_svd(w, 2, rng, plus)[1], **close)
    # The gain without a common part assumes that the rest is not correlated with it.
    assert operator.gain == pytest.approx(plain.gain, rel=1e-2 if view == "centered" else 1e-5)
    assert np.allclose(operator.row_norms(), np.linalg.norm(equivalent(A), axis=(1, 2)), **close)
    along = operator.tangent(U, V).apply(np.concatenate([U, -2 * V]))
    assert np.allclose(along, plain.tangent(U, V).apply(np.concatenate([U, -2 * V])), **close)


class ExactNorms(DenseOperator):
    """A family that knows the norms of its rows."""

    def row_norms(self, probes: int = 32, rng: int = 0) -> Any:
        return np.linalg.norm(self.flat, axis=1)


@pytest.mark.parametrize(
    ("view", "factor"),
    [
        (TransposedOperator, 1.0),
        (CountedOperator, 1.0),
        (lambda inner: ScaledOperator(inner, -3.0), 3.0),
    ],
)
def test_view_uses_the_row_norms_of_the_family(
    view: Callable[[Operator], Operator], factor: float
) -> None:
    A = sensing("float64")
    norms = view(ExactNorms(A.reshape(M, -1), (N1, N2))).row_norms()
    assert np.allclose(norms, factor * np.linalg.norm(A, axis=(1, 2)))


@pytest.mark.slow_with_jax
def test_batched_operator_agrees_with_each_member(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    A, B, U, V, w, W = (
        rng.standard_normal(shape).astype(dtype)
        for shape in ((20, 5, 4), (20, 5, 4), (2, 5, 2), (2, 4, 2), (2, 20), (2, 9, 2))
    )
    first, second = (as_operator(xp.asarray(data)) for data in (A, B))
    units = np.linspace(0.5, 2, 20)
    scaled = RowScaledOperator(ScaledOperator(first, 0.5), xp.asarray(units.astype(dtype)))
    batched = BatchedOperator([CountedOperator(scaled), second])
    arrays = [xp.asarray(part) for part in (U, V, w, W)]
    with full_precision(arrays[0]):
        together = [to_numpy(part) for part in results(batched, *arrays)]
    for k, data in enumerate((units[:, None, None] * A / 2, B)):
        member = as_operator(data.astype(dtype))
        alone = results(member, U[k], V[k], w[k], W[k])
        for batch, single in zip(together, alone, strict=True):
            assert np.allclose(batch[k], single, atol=1e-5)
        assert np.allclose(to_numpy(batched.row_norms())[k], to_numpy(member.row_norms()))
        # That of the first is the gain before its rows were scaled.
        assert float(batched.gain[k]) == pytest.approx(as_operator((A / 2, B)[k]).gain)


def results(operator: Operator, U: Any, V: Any, w: Any, W: Any) -> list[Any]:
    """Everything that an operator computes from these arrays."""
    tangent = operator.tangent(U, V)
    return [
        operator.measure(U, V),
        *operator.backproject(w, U, V),
        operator.leading_svd(w, 2, np.random.default_rng(0))[1],
        tangent.apply(W),
        tangent.adjoint(w),
        tangent.normal_map(w)(W),
    ]


def test_only_dense_operators_can_be_batched() -> None:
    A = sensing("float64")
    dense = as_operator(A)
    assert can_be_batched(CountedOperator(ScaledOperator(dense, 2.0)))
    for other in (
        TransposedOperator(dense),
        StreamedOperator(ArrayRows(A), (N1, N2)),
        BatchedOperator([dense, dense]),
    ):
        assert not can_be_batched(other)
        with pytest.raises(TypeError, match="cannot be batched; expected a DenseOperator"):
            BatchedOperator([other])
