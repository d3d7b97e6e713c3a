"""Do the fitted measurements determine every part of the result, and check each other?"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import robustrank as rr
from robustrank.backend import to_numpy
from robustrank.certificate import supported_part, undetermined_part
from robustrank.certificate.determination import (
    _distances_from_common_change,
    _solve_sylvester,
    unchecked,
)
from robustrank.linalg import TangentMap
from robustrank.operators import StoredTangent, UnstoredTangent, as_operator
from robustrank.simulate import Planted

Array = np.ndarray[Any, Any]


def bases(rng: np.random.Generator, n1: int, n2: int, r: int) -> tuple[Array, Array]:
    left, right = (np.linalg.qr(rng.standard_normal((n, r)))[0] for n in (n1, n2))
    return left, right


def sampled_entries(rng: np.random.Generator, n1: int, n2: int, m: int) -> Array:
    """Sensing matrices that each select one entry."""
    A = np.zeros((m, n1 * n2))
    A[np.arange(m), rng.permutation(n1 * n2)[:m]] = 1.0
    return A.reshape(m, n1, n2)


def tangent_map(A: Array, left: Array, right: Array, stored: bool) -> TangentMap:
    operator = as_operator(A)
    return operator.tangent(left, right) if stored else UnstoredTangent(operator, left, right)


@pytest.mark.parametrize("stored", [True, False])
def test_determined_if_the_jacobian_has_full_rank(stored: bool) -> None:
    rng = np.random.default_rng(0)
    n1, n2, r = 12, 9, 2
    freedom = r * (n1 + n2 - r)
    seen = set()
    for m in (freedom - 1, freedom, freedom + 4, 3 * freedom):
        A = rng.standard_normal((m, n1, n2))
        left, right = bases(rng, n1, n2, r)
        rows = tangent_map(A, left, right, stored=True)
        assert isinstance(rows, StoredTangent)
        full = bool(np.linalg.matrix_rank(rows.stored.reshape(m, -1)) == freedom)
        missing = undetermined_part(tangent_map(A, left, right, stored), np.ones(m))
        assert (missing is None) == full
        seen.add(full)
    assert seen == {True, False}


def test_direction_that_is_lost_only_by_cancellation_is_found_in_single_precision() -> None:
    """Symmetric A_i do not see the antisymmetric part; rounding must not make it visible."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((2200, 80))
    operator = as_operator(vectors[:, :, None] * vectors[:, None, :])
    basis, _ = bases(rng, 80, 80, 3)
    tangent = operator.tangent(basis, basis)
    assert tangent.epsilon > 1e-8
    assert undetermined_part(tangent, np.ones(2200)) is not None
    seen = as_operator(rng.standard_normal((2200, 80, 80))).tangent(basis, basis)
    assert seen.epsilon > 1e-8
    assert undetermined_part(seen, np.ones(2200)) is None


def test_measurements_that_are_not_fitted_do_not_count() -> None:
    rng = np.random.default_rng(1)
    operator = as_operator(rng.standard_normal((100, 8, 7)))
    tangent = operator.tangent(*bases(rng, 8, 7, 2))
    fitted = (np.arange(100) < 20).astype(float)
    assert undetermined_part(tangent, np.ones(100)) is None
    change = undetermined_part(tangent, fitted)
    assert change is not None
    along = np.abs(tangent.apply(change))
    assert along[:20].max() < 1e-6 < along[20:].max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_row_with_as_many_entries_as_the_rank_is_not_cross_checked(
    stored: bool, dtype: str
) -> None:
    rng = np.random.default_rng(9)
    n1, n2, r = 15, 12, 2
    left, right = (basis.astype(dtype) for basis in bases(rng, n1, n2, r))
    every_entry = np.eye(n1 * n2, dtype=dtype).reshape(-1, n1, n2)
    row = np.arange(n1 * n2) // n2
    column = np.arange(n1 * n2) % n2
    for entries_of_the_first_row, expected in ((r, False), (r + 1, True), (n2, True)):
        A = every_entry[(row > 0) | (column < entries_of_the_first_row)]
        tangent = tangent_map(A, left, right, stored)
        fitted = np.ones(len(A), dtype)
        assert undetermined_part(tangent, fitted) is None
        found = unchecked(tangent, fitted, np.arange(len(A)))
        assert (not found.any()) is expected


def test_random_measurements_beyond_the_degrees_of_freedom_are_cross_checked() -> None:
    rng = np.random.default_rng(5)
    n1, n2, r = 12, 9, 2
    freedom = r * (n1 + n2 - r)
    left, right = bases(rng, n1, n2, r)
    for m, expected in ((freedom, False), (freedom + 4, True), (3 * freedom, True)):
        tangent = as_operator(rng.standard_normal((m, n1, n2))).tangent(left, right)
        found = unchecked(tangent, np.ones(m), np.arange(m))
        assert (not found.any()) is expected


def test_a_row_that_depends_on_an_outlier_is_not_decided() -> None:
    """With three entries of a row at rank 2, nobody can tell which one is wrong."""
    rng = np.random.default_rng(6)
    left, right = bases(rng, 20, 15, 2)
    M = left @ np.diag([3.0, 2.0]) @ right.T
    chosen = np.ones((20, 15), bool)
    chosen[0, 3:] = False
    places = np.flatnonzero(chosen.ravel())
    A = np.eye(300)[places].reshape(-1, 20, 15)
    y = M.ravel()[places]
    y[1] += 1.0
    result = rr.recover(A, y, 2)
    assert result.certificate.exact_fits >= result.certificate.required  # the count is not enough
    assert result.status is rr.Status.RECOVERED
    assert 0 in result.undecided_rows
    assert result.certificate.decided_rows == 20 - len(result.undecided_rows)
    decided = np.setdiff1d(np.arange(20), result.undecided_rows)
    assert len(decided) > 15
    assert len(result.undecided_columns) == 0
    np.testing.assert_allclose(result.matrix[decided], M[decided], atol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "median-tgd"])
def test_sampled_entries_never_certify_a_wrong_matrix(solver: str) -> None:
    """Whole rows may be rejected although the other rows have more than enough exact fits."""
    enough = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        M = np.outer(rng.standard_normal(40), rng.standard_normal(30))
        A = sampled_entries(rng, 40, 30, 900)
        y = A.reshape(900, -1) @ M.ravel()
        result = rr.recover(A, y, 1, solver=solver)
        missed = result.matrix - M
        missed[result.undecided_rows] = 0
        missed[:, result.undecided_columns] = 0
        wrong = np.linalg.norm(missed) > 1e-6 * np.linalg.norm(M)
        assert not (result.status is rr.Status.RECOVERED and wrong)
        enough += result.certificate.exact_fits >= result.certificate.required
    assert enough > 0  # the count alone would have certified it


@pytest.mark.parametrize("solver", ["auto", "message-passing", "median-tgd"])
@pytest.mark.parametrize(
    ("check", "failed"),
    [
        ("changed_parts", lambda *arguments: arguments[-1]),
        ("unchecked", lambda _, fitted, *__: to_numpy(fitted) > 0),
    ],
)
def test_every_result_is_checked_before_it_is_certified(
    check: str, failed: Any, solver: str, small: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not rr.recover(small.A, small.y, 2, solver=solver).certificate.objections
    module = import_module(supported_part.__module__)
    monkeypatch.setattr(module, "undetermined_part", lambda tangent, _: tangent.U)
    monkeypatch.setattr(module, "changed_parts", lambda *_: np.zeros(35, bool))
    monkeypatch.setattr(module, check, failed)
    result = rr.recover(small.A, small.y, 2, solver=solver)
    assert result.certificate.objections
    assert not result.certified


def test_sylvester_equation() -> None:
    rng = np.random.default_rng(1)
    A, B, C = (rng.standard_normal((3, 3)) for _ in range(3))
    A, B = A @ A.T, B @ B.T
    expected = scipy.linalg.solve_sylvester(A, B, C)
    np.testing.assert_allclose(_solve_sylvester(A, B, C), expected, rtol=1e-8)


def test_sylvester_equation_that_is_singular() -> None:
    """The smallest solution, where SciPy would return numbers of the size 1e16."""
    A, B = np.diag([2.0, 0.0]), np.diag([3.0, 0.0])
    K = _solve_sylvester(A, B, np.ones((2, 2)))
    np.testing.assert_allclose(K, [[1 / 5, 1 / 2], [1 / 3, 0]])


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-21), ("float64", 1e-170)])
def test_rows_of_the_factors_may_be_tiny(dtype: str, tiny: float) -> None:
    """The square of their size is not a number of the dtype."""
    rng = np.random.default_rng(1)
    U, V = (rng.standard_normal((n, 2)) for n in (9, 7))
    K = rng.standard_normal((2, 2))
    dU, dV = U @ K, -V @ K.T
    dU[4] += [1.0, 2.0]  # no common change
    U[3], dU[3] = tiny * U[3], tiny * dU[3]
    dU, dV, U, V = (part.astype(dtype).astype(float) for part in (dU, dV, U, V))
    errors = _distances_from_common_change(dU, dV, U, V, np.ones(16, bool))
    expected = np.where(np.arange(16) == 4, np.sqrt(5), 0.0)
    np.testing.assert_allclose(errors, expected, atol=1e-4)
    assert errors[3] < 1e-4 * tiny
