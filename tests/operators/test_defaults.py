"""The defaults of ``Operator``: a family needs no more than the four abstract members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.operators.rank_one import RankOneOperator
from robustrank.backend import full_precision, library, like, namespace, to_numpy
from robustrank.linalg import leading_svd_by_products
from robustrank.linalg.low_rank import _lanczos
from robustrank.operators import Operator, UnstoredTangent, as_operator, check_operator

Array = np.ndarray[Any, Any]


class RankOneRows(RankOneOperator):
    """A_i = a_i b_iᵀ with NumPy arrays: no member but the abstract ones is overridden."""

    asarray = Operator.asarray


def host_arrays(m: int, n1: int, n2: int, dtype: str = "float64") -> tuple[Array, Array, Array]:
    """a, b and the same sensing data as an (m, n1, n2) array."""
    rng = np.random.default_rng(9)
    a, b = (rng.standard_normal((m, n)).astype(dtype) for n in (n1, n2))
    return a, b, np.einsum("mi,mj->mij", a, b)


def test_operator_has_four_abstract_members() -> None:
    members = Operator.__abstractmethods__
    assert members == {"shape", "dtype", "measure", "backproject"}
    assert RankOneRows.__abstractmethods__ == frozenset()


@pytest.mark.parametrize("shape", [(50, 9, 7), (50, 7, 9), (10, 3, 2), (30, 5, 1), (30, 1, 1)])
def test_defaults_fulfill_the_contract(shape: tuple[int, int, int], dtype: str) -> None:
    a, b, A = host_arrays(*shape, dtype)
    operator = RankOneRows(a, b)
    check = check_operator(operator)
    assert check.passed, check
    dense = as_operator(A)
    assert (operator.measurements, operator.matrix_shape) == (shape[0], shape[1:])
    assert repr(operator).startswith(f"RankOneRows({shape[0]} measurements of a {shape[1]} × ")
    rng = np.random.default_rng(1)
    U, V, W = (rng.standard_normal((n, 2)).astype(dtype) for n in (*shape[1:], sum(shape[1:])))
    w = rng.standard_normal(shape[0]).astype(dtype)
    tangent, stored = operator.tangent(U, V), dense.tangent(U, V)
    assert isinstance(tangent, UnstoredTangent)
    assert tangent.probed
    rtol = {"float32": 1e-4, "float64": 1e-11}[dtype]
    for found, expected in (
        (tangent.apply(W), stored.apply(W)),
        (tangent.adjoint(w), stored.adjoint(w)),
        (tangent.normal_map(w)(W), stored.normal_map(w)(W)),
    ):
        assert np.linalg.norm(found - expected) <= rtol * np.linalg.norm(expected)


@pytest.mark.slow_with_jax
@pytest.mark.parametrize(("dtype", "shape"), [("float64", (40, 9, 7)), ("float32", (40, 7, 9))])
def test_defaults_work_with_every_array_library(
    xp: Any, dtype: str, shape: tuple[int, int, int]
) -> None:
    a, b, _ = host_arrays(*shape, dtype)
    operator = RankOneOperator(xp.asarray(a), xp.asarray(b))
    check = check_operator(operator)
    assert check.passed, check
    assert library(operator.row_norms(probes=1)) == library(operator.a)
    U, V = (operator.asarray(np.ones((n, 1), dtype)) for n in shape[1:])
    assert like(operator.tangent(U, V).apply(namespace(U).concat([U, V]))) == like(operator.a)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize(
    ("shape", "lanczos"),
    [((30, 12, 9), False), ((30, 9, 12), False), ((30, 620, 610), True), ((30, 610, 620), True)],
)
def test_default_svd_agrees_with_the_dense_one(
    shape: tuple[int, int, int],
    lanczos: bool,
    plus: bool,
    dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, b, _ = host_arrays(*shape, dtype)
    w = np.linspace(1, 2, shape[0]).astype(dtype) ** 8  # well separated singular values
    rng = np.random.default_rng(2)
    X, Y = (rng.standard_normal((n, 2)).astype(dtype) for n in shape[1:])
    G = a.T.astype(float) @ (w[:, None] * b) + plus * (X @ Y.T)
    used = []

    def spy(*args: Any) -> Any:
        used.append(True)
        return _lanczos(*args)

    monkeypatch.setattr("robustrank.linalg.low_rank._lanczos", spy)
    operator = RankOneRows(a, b)
    left, values, right = operator.leading_svd(w, 3, rng, plus=(X, Y) if plus else None)
    assert bool(used) is lanczos
    assert left.dtype == values.dtype == right.dtype == dtype
    assert (left.shape, values.shape, right.shape) == ((shape[1], 3), (3,), (shape[2], 3))
    rtol = {"float32": 1e-4, "float64": 1e-11}[dtype]
    assert np.allclose(values, np.linalg.svd(G, compute_uv=False)[:3], rtol=rtol)
    for product, expected in ((G @ right, left * values), (G.T @ left, right * values)):
        assert np.linalg.norm(product - expected) < rtol * values[0]
    for basis in (left, right):
        assert np.allclose(basis.T @ basis, np.eye(3), atol=rtol)


@pytest.mark.parametrize("shape", [(8, 6), (6, 8), (605, 610)])
def test_svd_by_products_works_with_every_array_library(
    xp: Any, dtype: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.standard_normal((n, 4)))[0] for n in shape)
    G = ((left * [5.0, 3.0, 2.0, 0.5]) @ right.T).astype(dtype)
    matrix, transposed = xp.asarray(G), xp.asarray(G.T.copy())
    example = xp.asarray(np.ones(3, dtype))
    with full_precision(example):
        triplets = leading_svd_by_products(
            lambda V: matrix @ V, lambda U: transposed @ U, shape, 2, rng, example
        )
    for part in triplets:
        assert like(part) == like(matrix)
    u, values, v = (to_numpy(part).astype(float) for part in triplets)
    rtol = {"float32": 1e-4, "float64": 1e-12}[dtype]
    assert np.allclose(values, [5.0, 3.0], rtol=rtol)
    expected = (left[:, :2] * [5.0, 3.0]) @ right[:, :2].T
    assert np.linalg.norm((u * values) @ v.T - expected) < 10 * rtol


@pytest.mark.parametrize("probes", [8, 32, 512])
@pytest.mark.parametrize("shape", [(2000, 9, 12), (2000, 30, 2)])
def test_row_norms_have_the_stated_accuracy(shape: tuple[int, int, int], probes: int) -> None:
    """Their relative error is about (2 · probes)^(−1/2)."""
    a, b, A = host_arrays(*shape)
    a *= 10.0 ** np.linspace(-3, 3, shape[0])[:, None]  # rows of very different sizes
    exact = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    stated = (2 * probes) ** -0.5
    ratios = RankOneRows(a, b).row_norms(probes) / exact
    spread = float(np.sqrt(np.mean((ratios - 1) ** 2)))
    assert 0.5 * stated < spread < 2 * stated
    gaussian = as_operator(np.random.default_rng(4).standard_normal(A.shape))
    ratios = Operator.row_norms(gaussian, probes) / np.linalg.norm(gaussian.flat, axis=1)  # type: ignore[attr-defined]
    assert np.sqrt(np.mean((ratios - 1) ** 2)) < 2 * stated


def test_row_norms_are_reproducible() -> None:
    operator = RankOneRows(*host_arrays(20, 5, 4)[:2])
    assert np.array_equal(operator.row_norms(), operator.row_norms())
    assert not np.array_equal(operator.row_norms(), operator.row_norms(rng=1))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e5])
def test_gain_is_close_to_the_root_mean_square_entry(size: float) -> None:
    a, b, A = host_arrays(500, 9, 7)
    gain = RankOneRows(size * a, b).gain
    assert gain == pytest.approx(size * np.sqrt(np.mean(A**2)), rel=0.2)


def test_gain_is_probed_once() -> None:
    operator = RankOneRows(*host_arrays(20, 5, 4)[:2])
    first = operator.gain
    operator.a = None
    assert operator.gain == first
