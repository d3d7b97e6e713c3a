"""Damped least squares on a tangent map, against the same problem solved densely."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from robustrank.backend import (
    full_precision,
    inverse_positive_definite,
    like,
    solve_positive_definite,
    to_numpy,
)
from robustrank.linalg import (
    conjugate_gradient_iterates,
    damped_least_squares,
    plain_least_squares,
    solve_directly,
)
from robustrank.operators import UnstoredTangent, as_operator

M, N1, N2, R = 60, 9, 7, 3
Array = np.ndarray[Any, Any]


def problem(dtype: str = "float64") -> tuple[Array, Array, Array, Array, Array]:
    """Sensing data, orthonormal factors, weights (some of them zero) and a target."""
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.standard_normal((n, R)))[0] for n in (N1, N2))
    A, w, target = (rng.random(shape) for shape in ((M, N1, N2), M, M))
    w[:5] = 0
    A, U, V, w, target = (part.astype(dtype) for part in (A, U, V, w, target))
    return A, U, V, w, target


def dense_solution(A: Array, U: Array, V: Array, w: Array, target: Array, damping: float) -> Array:
    J = np.concatenate([A @ V, A.mT @ U], axis=1).reshape(len(A), -1).astype(float)
    normal = J.T @ (w[:, None] * J) + damping * np.eye(J.shape[1])
    return np.linalg.solve(normal, J.T @ (w * target)).reshape(N1 + N2, R)


@pytest.fixture(params=["by conjugate gradients", "by factorization"])
def _method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve as a large problem on the CPU or as a small one."""
    size = 300 if request.param == "by factorization" else 0
    monkeypatch.setattr("robustrank.linalg.least_squares._DIRECT_SIZE_ON_CPU", size)


def check_solution(xp: Any, dtype: str, damping: float) -> None:
    host = problem(dtype)
    A, U, V, w, target = (xp.asarray(part) for part in host)
    accuracy = {"float32": 1e-6, "float64": 1e-13}[dtype]
    stiff, near = (xp.asarray(np.asarray(number, dtype)) for number in (damping, accuracy))
    with full_precision(A):
        W = damped_least_squares(as_operator(A).tangent(U, V), w, target, stiff, near)
    assert like(W) == like(A)
    expected = dense_solution(*host, damping)
    atol = {"float32": 2e-3, "float64": 1e-9}[dtype] * np.abs(expected).max()
    assert np.allclose(to_numpy(W), expected, atol=atol)


@pytest.mark.usefixtures("_method")
@pytest.mark.parametrize("damping", [1e-3, 2.5])
def test_solution_agrees_with_the_dense_normal_equations(xp: Any, damping: float) -> None:
    check_solution(xp, "float64", damping)


@pytest.mark.usefixtures("_method")
@pytest.mark.parametrize("damping", [1e-3, 2.5])
def test_solution_in_single_precision(damping: float) -> None:
    check_solution(np, "float32", damping)


@pytest.mark.usefixtures("_method")
def test_batch_agrees_with_each_problem() -> None:
    A, U, V, w, target = problem()
    single = as_operator(A).tangent(U, V)
    rows = np.stack([single.stored, 2 * single.stored])  # type: ignore[attr-defined]
    tangent = type(single)(rows, np.stack([U, U]), np.stack([V, V]))  # type: ignore[call-arg]
    damping, near = np.asarray([2.5, 0.1]), np.asarray([1e-13, 1e-13])
    both = damped_least_squares(tangent, np.stack([w, w]), np.stack([target] * 2), damping, near)
    for k, scale in enumerate((1.0, 2.0)):
        expected = dense_solution(scale * A, U, V, w, target, float(damping[k]))
        assert np.allclose(both[k], expected, atol=1e-6)


def test_unstored_map_gives_the_same_solution() -> None:
    A, U, V, w, target = problem()
    tangent = UnstoredTangent(as_operator(A), U, V)
    W = damped_least_squares(tangent, w, target, np.asarray(2.5), np.asarray(1e-13))
    assert np.allclose(W, dense_solution(A, U, V, w, target, 2.5), atol=1e-6)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_factorization_is_used_for_few_unknowns_only(
    on_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that is faster: up to 3,000 unknowns on a GPU, and up to 300 on a CPU."""
    A, U, V, w, target = problem()
    stored, unstored = as_operator(A).tangent(U, V), UnstoredTangent(as_operator(A), U, V)
    right, damping = stored.adjoint(w * target), np.asarray(2.5)
    monkeypatch.setattr("robustrank.linalg.least_squares.on_gpu", lambda _: on_gpu)
    W = solve_directly(stored, w, right, damping)
    assert W is not None
    assert np.allclose(W, dense_solution(A, U, V, w, target, 2.5), atol=1e-6)
    assert solve_directly(unstored, w, right, damping) is None  # it has no normal matrix
    limit = "_DIRECT_SIZE" if on_gpu else "_DIRECT_SIZE_ON_CPU"
    monkeypatch.setattr(f"robustrank.linalg.least_squares.{limit}", (N1 + N2) * R - 1)
    assert solve_directly(stored, w, right, damping) is None  # too many unknowns


def test_failed_factorization_is_replaced_by_a_gradient_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "robustrank.linalg.least_squares.solve_positive_definite",
        lambda _, right: np.full_like(right, np.nan),
    )
    A, U, V, w, target = problem()
    tangent = as_operator(A).tangent(U, V)
    W = damped_least_squares(tangent, w, target, np.asarray(3.0), np.asarray(0.01))
    assert np.allclose(W, tangent.adjoint(w * target) / (w.sum() + 3.0))


def test_solve_positive_agrees_with_a_general_solver(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((2, 6, 6))
    matrix = (root @ root.mT + np.eye(6)).astype(dtype)
    right = rng.standard_normal((2, 6)).astype(dtype)
    with full_precision(xp.asarray(matrix)):
        found = to_numpy(solve_positive_definite(xp.asarray(matrix), xp.asarray(right)))
        inverse = to_numpy(inverse_positive_definite(xp.asarray(matrix)))
    expected = np.linalg.solve(matrix.astype(float), right[..., None].astype(float))[..., 0]
    atol = 1e-3 if dtype == "float32" else 1e-9
    assert np.allclose(found, expected, atol=atol)
    assert np.allclose(inverse, np.linalg.inv(matrix.astype(float)), atol=atol)


def test_solve_positive_does_not_solve_with_an_indefinite_matrix(xp: Any) -> None:
    solution = to_numpy(solve_positive_definite(xp.asarray(-np.eye(3)), xp.asarray(np.ones(3))))
    assert not np.any(solution == 1)


def test_conjugate_gradients_solve_in_as_many_steps_as_unknowns(xp: Any) -> None:
    rng = np.random.default_rng(4)
    root = rng.standard_normal((6, 6))
    matrix = root @ root.T + np.eye(6)
    right = rng.standard_normal((3, 6, 1))
    right[1] = 0  # of a batch, one problem is solved from the beginning
    operator = xp.asarray(matrix)
    iterates = conjugate_gradient_iterates(lambda W: operator @ W, xp.asarray(right))
    steps = [next(iterates) for _ in range(8)]
    W, energy = (to_numpy(part) for part in steps[6])
    assert np.allclose(W, np.linalg.solve(matrix, right), atol=1e-8)
    assert np.all(energy <= 1e-12)
    assert np.all(to_numpy(steps[0][0]) == 0)
    assert np.all(to_numpy(steps[-1][0])[1] == 0)


def test_energy_is_the_squared_norm_of_the_residual() -> None:
    matrix, right = np.diag([1.0, 4.0, 9.0]), np.ones((3, 1))
    for W, energy in islice(conjugate_gradient_iterates(lambda W: matrix @ W, right), 3):
        assert float(energy) == pytest.approx(float(np.sum((right - matrix @ W) ** 2)))


def test_conjugate_gradients_stop_where_the_matrix_is_zero(xp: Any) -> None:
    right = xp.asarray([[1.0], [2.0]])
    # A warning would be an error here.
    iterates = conjugate_gradient_iterates(
        lambda W: xp.asarray([[0.0, 0.0], [0.0, 0.0]]) @ W, right
    )
    for W, energy in islice(iterates, 4):
        assert to_numpy(W).tolist() == [[0.0], [0.0]]
        assert float(energy) == 5.0


@pytest.mark.usefixtures("_method")
def test_plain_least_squares_agree_with_those_of_lapack() -> None:
    A, U, V, w, target = problem()
    J = np.concatenate([A @ V, A.mT @ U], axis=1).reshape(M, -1)
    root = np.sqrt(w)
    expected = np.linalg.lstsq(root[:, None] * J, root * target, rcond=1e-10)[0]
    W = plain_least_squares(as_operator(A).tangent(U, V), w, target, 1e-12)
    assert np.allclose(W, expected.reshape(N1 + N2, R), atol=1e-6 * np.abs(expected).max())
