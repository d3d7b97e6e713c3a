"""``symmetric=True`` and ``psd=True``: what is certified, and what is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.api.running import positive_semidefinite
from robustrank.backend import to_numpy
from robustrank.inputs import as_operator
from robustrank.linalg import point_of
from robustrank.problem import Problem
from robustrank.result import History
from robustrank.search.results import assemble
from robustrank.solvers import GaussNewton, Outcome
from robustrank.solvers.base import linearize, state_at

N, R, M = 12, 2, 150
Array = np.ndarray[Any, Any]


def planted(
    eigenvalues: tuple[float, float] = (2.0, -1.0), noise: float = 0.0, symmetric: bool = True
) -> tuple[Array, Array, Array]:
    """A, y and M; A_i = a_i a_iᵀ, so that the antisymmetric part of a matrix is not measured."""
    rng = np.random.default_rng(3)
    L = np.linalg.qr(rng.standard_normal((N, R)))[0]
    matrix = L * eigenvalues @ L.T
    a, b = rng.standard_normal((2, M, N))
    A = a[:, :, None] * (a if symmetric else b)[:, None, :]
    y = np.einsum("ijk,jk->i", A, matrix)
    y[:15] *= -3
    return A, y + noise * rng.standard_normal(M), matrix


def error(found: Any, true: Array) -> float:
    return float(np.linalg.norm(to_numpy(found) - true) / np.linalg.norm(true))


CASES: dict[str, tuple[dict[str, Any], tuple[float, float]]] = {
    "symmetric": ({"symmetric": True}, (2.0, -1.0)),
    "positive semidefinite": ({"psd": True}, (2.0, 1.0)),
    "both": ({"symmetric": True, "psd": True}, (2.0, 1.0)),
}


@pytest.mark.parametrize("sensing", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("case", CASES)
def test_known_symmetry_is_used(case: str, noise: float, sensing: str) -> None:
    options, eigenvalues = CASES[case]
    A, y, matrix = planted(eigenvalues, noise, sensing == "symmetric")
    result = rr.recover(A, y, R, **options)
    assert result.status is (rr.Status.ESTIMATED if noise else rr.Status.RECOVERED)
    assert error(result.matrix, matrix) < (0.02 if noise else 1e-9)
    assert np.array_equal(result.matrix, result.matrix.T)
    assert result.certificate.degrees_of_freedom == R * N - R * (R - 1) // 2
    if options.get("psd"):
        assert np.array_equal(result.left, result.right)


def test_without_it_symmetric_measurements_do_not_identify_the_matrix() -> None:
    A, y, _ = planted()
    result = rr.recover(A, y, R)
    assert result.status is rr.Status.NOT_IDENTIFIED
    assert result.certificate.unidentified == "the antisymmetric part"
    assert "symmetric=True" in result.status.advice


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_negative_eigenvalue_is_not_certified_as_positive_semidefinite(noise: float) -> None:
    A, y, _ = planted((2.0, -1.0), noise)
    result = rr.recover(A, y, R, psd=True)
    assert result.status is rr.Status.INCONCLUSIVE
    assert result.certificate.objections == ("the matrix is not positive semidefinite",)
    assert "The matrix is not positive semidefinite." in repr(result)


# With JAX, compilation takes too long; its operators and tangent maps are tested on their own.
@pytest.mark.parametrize("xp", ["strict", "torch"], indirect=True)
def test_symmetric_result_with_other_libraries(xp: Any) -> None:
    A, y, matrix = planted((2.0, 1.0))
    result = rr.recover(xp.asarray(A), xp.asarray(y), R, psd=True)
    assert result.status is rr.Status.RECOVERED
    assert error(result.matrix, matrix) < 1e-8


@pytest.mark.parametrize("name", ["symmetric", "psd"])
def test_matrix_must_be_square(name: str) -> None:
    A = np.random.default_rng(0).standard_normal((60, 4, 3))
    options: dict[str, Any] = {name: True}
    with pytest.raises(ValueError, match=r"symmetric=True needs a square matrix; .* 4 × 3"):
        rr.recover(A, np.arange(1.0, 61), 1, **options)


@pytest.mark.parametrize("options", [{"symmetric": True}, {"psd": True}])
def test_recover_many_gives_the_same_results(options: dict[str, Any]) -> None:
    problems = [planted((2.0, second))[:2] for second in (1.0, -1.0)]
    together = list(rr.recover_many(problems, R, batch=2, **options))
    for (A, y), result in zip(problems, together, strict=True):
        alone = rr.recover(A, y, R, **options)
        assert result.status is alone.status
        assert np.allclose(result.matrix, alone.matrix)
        assert result.certificate.objections == alone.certificate.objections


def test_interrupted_result_of_recover_many_is_positive_semidefinite() -> None:
    A, y, _ = planted((2.0, 1.0))

    class Interrupting(rr.solvers.GaussNewton):
        def step(self, problem: Any, state: Any) -> Any:
            raise KeyboardInterrupt

    results = rr.recover_many([(A, y)], R, solver=Interrupting(), psd=True)
    with pytest.raises(rr.Interrupted) as caught:
        next(results)
    assert caught.value.result.stopped is rr.StopReason.INTERRUPTED
    single = rr.recover(A, y, R, solver="gauss-newton", symmetric=True)
    assert caught.value.result.shape == single.shape


@pytest.mark.parametrize(
    ("smallest", "noise", "certified"),
    [(-1e-9, 0.0, True), (-1e-3, 0.0, False), (-1e-3, 0.01, True), (-0.5, 0.01, False)],
)
def test_slightly_negative_eigenvalues_are_removed(
    smallest: float, noise: float, certified: bool
) -> None:
    """Up to what rounding or noise explain; otherwise the matrix is not as assumed."""
    A, y, _ = planted((2.0, 1.0), noise)
    result = rr.recover(A, y, R, symmetric=True)
    scales = np.sqrt(np.abs([1.0, smallest]))
    L = np.linalg.qr(np.random.default_rng(1).standard_normal((N, R)))[0] * scales
    indefinite = rr.Result(**vars(result) | {"left": L, "right": L * [1.0, -1.0]})
    found = positive_semidefinite(indefinite)
    assert found.certified is certified
    assert found.rank == (1 if certified else 2)
    if certified:
        assert np.allclose(found.matrix, L[:, :1] @ L[:, :1].T)


def test_an_eigenvalue_of_zero_is_not_negative() -> None:
    A, y, _ = planted((2.0, 1.0), 0.0)
    result = rr.recover(A, y, R, symmetric=True)
    L = np.zeros((N, R))
    L[:, 0] = 1.0
    found = positive_semidefinite(replace(result, left=L, right=L))
    assert found.rank == R
    assert found.certified


def equivalent_factors(matrix: Array) -> tuple[Array, Array]:
    """A column and a row whose product has the given symmetric part, of eigenvalues ±."""
    values, vectors = np.linalg.eigh(matrix)
    u, v = vectors[:, -1] * np.sqrt(values[-1]), vectors[:, 0] * np.sqrt(-values[0])
    return (u + v)[:, None], (u - v)[:, None]


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("with_start", [True, False])
def test_a_matrix_that_is_not_symmetric_is_no_solution(with_start: bool, noise: float) -> None:
    """It may have a lower rank and fit all measurements."""
    A, y, matrix = planted(noise=noise)
    start = equivalent_factors(matrix)
    product = start[0] @ start[1].T
    np.testing.assert_allclose((product + product.T) / 2, matrix, atol=1e-12)
    result = rr.recover(A, y, rank=1, symmetric=True, start=start if with_start else None)
    assert not result.certified
    assert np.array_equal(result.matrix, result.matrix.T)


def test_a_fit_that_is_not_symmetric_is_not_certified() -> None:
    A, y, matrix = planted()
    problem = Problem(as_operator(A), y, 1, symmetric=True)
    unit = problem.with_unit_rows
    root = np.sqrt(unit.units.matrix)
    left, right = (factor / root for factor in equivalent_factors(matrix))
    _, residual = linearize(unit.normalized(), point_of(left, right))
    weights = np.where(np.abs(residual) < 1e-9, 1.0, 0.0)
    assert weights.sum() == M - 15
    state = state_at(point_of(left, right), residual, weights)
    result = assemble(problem, GaussNewton(), Outcome(state, None, History(()), 1))
    assert "the fit is not symmetric" in result.certificate.objections
