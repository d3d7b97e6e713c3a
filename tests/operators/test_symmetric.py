"""Measurements of a symmetric matrix: the operator, and its tangent map at a symmetric matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.operators.rank_one import RankOneOperator
from robustrank.backend import full_precision, like, to_numpy
from robustrank.linalg import admissible, as_vector, normal_matrix, share_counts, share_maxima
from robustrank.operators import (
    Bilinear,
    CountedOperator,
    Operator,
    SymmetricOperator,
    as_operator,
    check_operator,
)

M, N, R = 40, 6, 2
Array = np.ndarray[Any, Any]


def host_arrays(dtype: str = "float64") -> tuple[Array, Array, Array]:
    """a, b and the sensing data a_i b_iᵀ, which is not symmetric."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((M, N)).astype(dtype) for _ in range(2))
    return a, b, np.einsum("mi,mj->mij", a, b)


def symmetric_point(dtype: str = "float64") -> tuple[Array, Array]:
    """Orthonormal factors of a symmetric matrix with a positive and a negative eigenvalue."""
    U = np.linalg.qr(np.random.default_rng(2).standard_normal((N, R)))[0].astype(dtype)
    return U, U * np.asarray([1, -1], dtype)


# The same measurements in different families; all are given (a, b, A) as arrays of one library.
FAMILIES: dict[str, Callable[[Any, Any, Any], Operator]] = {
    "dense": lambda _a, _b, A: as_operator(A),
    "bilinear": lambda a, b, _A: Bilinear(a, b),
    "products": lambda a, b, _A: RankOneOperator(a, b),
    "counted products": lambda a, b, _A: CountedOperator(RankOneOperator(a, b)),
}


def on_disk(A: Array, folder: Path) -> Array:
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")  # type: ignore[no-any-return]


@pytest.mark.parametrize("family", FAMILIES)
def test_symmetric_operator_fulfills_the_contract(dtype: str, family: str) -> None:
    """For all factors; the tangent map only for symmetric changes, which are tested below."""
    operator = SymmetricOperator(FAMILIES[family](*host_arrays(dtype)))
    check = check_operator(operator)
    assert max(check.dot, check.linearity) < check.tolerance, check


@pytest.mark.parametrize("family", FAMILIES)
def test_leading_components_are_those_of_the_symmetric_part(dtype: str, family: str) -> None:
    a, b, A = host_arrays(dtype)
    operator = SymmetricOperator(FAMILIES[family](a, b, A))
    rng, n = np.random.default_rng(1), operator.matrix_shape[0]
    w = rng.standard_normal(len(a)).astype(dtype)
    X, Y = rng.standard_normal((2, n, 2)).astype(dtype)
    left, values, right = operator.leading_svd(w, 3, rng, plus=(X, Y))
    whole = operator.backproject(w, np.eye(n, dtype=dtype), np.eye(n, dtype=dtype))[0] + X @ Y.T
    whole = (whole + whole.T) / 2
    expected = np.linalg.svd(whole, compute_uv=False)[:3]
    tolerance = float(1e4 * np.finfo(dtype).eps) * float(expected[0])
    component = left * values @ right.T
    np.testing.assert_allclose(values, expected, atol=tolerance)
    np.testing.assert_allclose(component, component.T, atol=tolerance / 100)
    np.testing.assert_allclose(left.T @ whole @ right, np.diag(values), atol=tolerance)


LAYOUTS: dict[str, Callable[[Array, Path], Array]] = {
    "in memory": lambda A, _: A,
    "Fortran order": lambda A, _: np.asfortranarray(A),
    "memory-mapped": on_disk,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_symmetric_operator_agrees_with_symmetric_sensing_data(layout: str, tmp_path: Path) -> None:
    _, _, A = host_arrays()
    operator = SymmetricOperator(as_operator(LAYOUTS[layout](A, tmp_path)))
    plain = as_operator((A + A.mT) / 2)
    rng = np.random.default_rng(3)
    U, V = (rng.standard_normal((N, R)) for _ in range(2))
    w = rng.standard_normal(M)
    assert operator.shape == plain.shape
    assert np.allclose(operator.measure(U, V), plain.measure(U, V))
    for found, expected in zip(
        operator.backproject(w, U, V), plain.backproject(w, U, V), strict=True
    ):
        assert np.allclose(found, expected)
    for plus in (None, (U, U)):  # a symmetric matrix is added
        values = operator.leading_svd(w, 2, rng, plus)[1]
        assert np.allclose(values, plain.leading_svd(w, 2, rng, plus)[1])
    left, right = symmetric_point()
    W = admissible(operator.tangent(left, right), rng.standard_normal((2 * N, R)))
    found, expected = (op.tangent(left, right) for op in (operator, plain))
    assert np.allclose(found.apply(W), expected.apply(W))
    assert np.allclose(found.adjoint(w), admissible(found, expected.adjoint(w)))


@pytest.mark.parametrize("family", FAMILIES)
def test_tangent_is_the_derivative_along_symmetric_changes(xp: Any, family: str) -> None:
    a, b, A = (xp.asarray(part) for part in host_arrays())
    operator = SymmetricOperator(FAMILIES[family](a, b, A))
    rng = np.random.default_rng(4)
    W, w = (rng.standard_normal(shape) for shape in ((2 * N, R), (M,)))
    left, right = (xp.asarray(part) for part in symmetric_point())
    with full_precision(a):
        tangent = operator.tangent(left, right)
        allowed = admissible(tangent, xp.asarray(W))
        along, back = tangent.apply(xp.asarray(W)), tangent.adjoint(xp.asarray(w))
        gram = tangent.normal_map(xp.asarray(w))(xp.asarray(W))
        expected_gram = tangent.adjoint(xp.asarray(w) * along)
        # The measurements are quadratic in the step, so a central difference is exact.
        there, opposite = (
            operator.measure(left + step * allowed[:N, :], right + step * allowed[N:, :])
            for step in (0.5, -0.5)
        )
    assert like(along) == like(a)
    assert np.allclose(to_numpy(along), to_numpy(there - opposite))
    inner = float(np.vdot(to_numpy(along), w))
    assert inner == pytest.approx(float(np.vdot(W, to_numpy(back))), rel=1e-10)
    assert np.allclose(to_numpy(gram), to_numpy(expected_gram))


def test_admissible_changes_are_the_symmetric_part_of_a_change(xp: Any) -> None:
    U, V = symmetric_point()
    W = np.random.default_rng(5).standard_normal((2 * N, R))
    tangent = SymmetricOperator(as_operator(xp.asarray(host_arrays()[2]))).tangent(
        xp.asarray(U), xp.asarray(V)
    )

    def change(W: Array) -> Array:
        return W[:N] @ V.T + U @ W[N:].T  # type: ignore[no-any-return]

    allowed = to_numpy(admissible(tangent, xp.asarray(W)))
    expected = (change(W) + change(W).T) / 2
    assert np.allclose(change(allowed), expected)
    assert not np.allclose(change(W), expected)
    assert np.allclose(to_numpy(admissible(tangent, xp.asarray(allowed))), allowed)


@pytest.mark.parametrize("family", ["dense", "bilinear"])
def test_normal_matrix_solves_for_admissible_changes_only(xp: Any, family: str) -> None:
    rng = np.random.default_rng(6)
    W, w = rng.standard_normal((2 * N, R)), rng.uniform(0, 1, M)
    left, right = (xp.asarray(part) for part in symmetric_point())
    operator = FAMILIES[family](*map(xp.asarray, host_arrays()))
    tangent = SymmetricOperator(operator).tangent(left, right)
    matrix = to_numpy(normal_matrix(tangent, xp.asarray(w)))
    allowed = to_numpy(as_vector(admissible(tangent, xp.asarray(W))))
    gram = to_numpy(as_vector(tangent.normal_map(xp.asarray(w))(xp.asarray(W))))
    assert np.allclose(matrix @ allowed, gram)
    other = to_numpy(as_vector(xp.asarray(W))) - allowed
    assert np.allclose(matrix @ other, w.sum() * other)
    assert np.allclose(matrix, matrix.T)
    scaled = replace(tangent, factor=0.5, factors=xp.asarray(np.full(M, 3.0)))
    gram = to_numpy(as_vector(scaled.normal_map(xp.asarray(w))(xp.asarray(W))))
    assert np.allclose(1.5**2 * (matrix @ allowed), gram)
    assert np.allclose(to_numpy(normal_matrix(scaled, xp.asarray(w))) @ allowed, gram)


@pytest.mark.parametrize("family", FAMILIES)
def test_shares_are_those_of_the_symmetric_sensing_data(xp: Any, family: str) -> None:
    a, b, A = host_arrays()
    U, V = symmetric_point()
    S = (A + A.mT) / 2
    expected = np.concatenate([np.sum((S @ V) ** 2, 2), np.sum((S @ U) ** 2, 2)], axis=1)
    arrays = [xp.asarray(part) for part in (U, V)]
    operator = FAMILIES[family](*map(xp.asarray, (a, b, A)))
    tangent = SymmetricOperator(operator).tangent(*arrays)
    shares = expected / expected.sum(axis=1, keepdims=True)
    chosen = np.arange(M) % 3 > 0
    found = to_numpy(share_maxima(tangent, xp.asarray(chosen.astype(float))))
    assert np.allclose(found, shares[chosen].max(axis=0))
    least, weights = np.full(2 * N, 1 / (2 * N)), np.stack([chosen, np.linspace(1, 2, M)])
    counts = to_numpy(share_counts(tangent, xp.asarray(least), xp.asarray(weights)))
    assert np.allclose(counts, weights @ (shares > least))


def test_passes_of_a_symmetric_problem_are_counted() -> None:
    a, b, A = host_arrays()
    w, point = np.ones(M), symmetric_point()
    stored = CountedOperator(SymmetricOperator(as_operator(A)))
    tangent = stored.tangent(*point)
    assert stored.counter.passes == 2  # without compiled kernels, one for each factor
    tangent.adjoint(w)
    assert stored.counter.passes == 2
    unstored = CountedOperator(SymmetricOperator(RankOneOperator(a, b)))
    tangent = unstored.tangent(*point)
    assert unstored.counter.passes == 0
    along = tangent.apply(np.ones((2 * N, R)))
    assert unstored.counter.passes == 1
    expected = SymmetricOperator(as_operator(A)).tangent(*point).apply(np.ones((2 * N, R)))
    assert np.allclose(along, expected)


@pytest.mark.parametrize("symmetric_already", [False, True])
def test_the_gain_is_that_of_the_symmetric_parts(symmetric_already: bool) -> None:
    """A*(A(M)) is about m gain² M, for sensing matrices that are symmetric and for others."""
    rng = np.random.default_rng(3)
    A, half = rng.standard_normal((900, 12, 12)), rng.standard_normal((12, 2))
    if symmetric_already:
        A = (A + A.transpose(0, 2, 1)) / 2
    operator = SymmetricOperator(as_operator(A))
    measured = operator.measure(half, half)
    norm = np.linalg.norm(half @ half.T)
    assert np.sum(measured**2) / (900 * norm**2) == pytest.approx(operator.gain**2, rel=0.15)
