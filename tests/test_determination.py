"""An answer must be pinned down by what it rests on, not only meet enough of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from robustrank.certificate.evidence.determination import (
    all_are_cross_checked,
    determines_the_answer,
)

import robustrank as rr
from robustrank.operators import Tangent, UnstoredTangent, as_operator
from robustrank.simulate import Planted

Array = np.ndarray[Any, Any]


def bases(rng: np.random.Generator, n1: int, n2: int, r: int) -> tuple[Array, Array]:
    left, right = (np.linalg.qr(rng.standard_normal((n, r)))[0] for n in (n1, n2))
    return left, right


def entries(rng: np.random.Generator, n1: int, n2: int, m: int) -> Array:
    """Sensing matrices that each pick one entry."""
    A = np.zeros((m, n1 * n2))
    A[np.arange(m), rng.permutation(n1 * n2)[:m]] = 1.0
    return A.reshape(m, n1, n2)


@pytest.mark.parametrize("stored", [True, False])
def test_agrees_with_the_rank_of_the_jacobian(stored: bool) -> None:
    rng = np.random.default_rng(0)
    n1, n2, r = 12, 9, 2
    freedom = r * (n1 + n2 - r)
    seen = set()
    for m in (freedom - 1, freedom, freedom + 4, 3 * freedom):
        operator = as_operator(rng.standard_normal((m, n1, n2)))
        left, right = bases(rng, n1, n2, r)
        tangent = operator.tangent(left, right)
        full = bool(np.linalg.matrix_rank(tangent.rows.reshape(m, -1)) == freedom)
        map_: Any = tangent if stored else UnstoredTangent(operator, left, right)
        assert determines_the_answer(map_, left, right, np.ones(m)) == full
        seen.add(full)
    assert seen == {True, False}


def test_measurements_it_does_not_rest_on_do_not_count() -> None:
    rng = np.random.default_rng(1)
    operator = as_operator(rng.standard_normal((100, 8, 7)))
    left, right = bases(rng, 8, 7, 2)
    tangent = operator.tangent(left, right)
    assert determines_the_answer(tangent, left, right, np.ones(100))
    assert not determines_the_answer(tangent, left, right, (np.arange(100) < 20).astype(float))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_row_with_no_more_than_it_needs_is_checked_by_nothing(stored: bool, dtype: str) -> None:
    rng = np.random.default_rng(9)
    n1, n2, r = 15, 12, 2
    left, right = (basis.astype(dtype) for basis in bases(rng, n1, n2, r))
    everything = np.eye(n1 * n2, dtype=dtype).reshape(-1, n1, n2)
    row = np.arange(n1 * n2) // n2
    column = np.arange(n1 * n2) % n2
    for entries_of_the_first_row, expected in ((r, False), (r + 1, True), (n2, True)):
        A = everything[(row > 0) | (column < entries_of_the_first_row)]
        operator = as_operator(A)
        map_: Any = (
            operator.tangent(left, right) if stored else UnstoredTangent(operator, left, right)
        )
        ones = np.ones(len(A), dtype)
        assert determines_the_answer(map_, left, right, ones)
        assert all_are_cross_checked(map_, left, right, ones) is expected


def test_measurements_of_everything_check_each_other() -> None:
    rng = np.random.default_rng(5)
    n1, n2, r = 12, 9, 2
    freedom = r * (n1 + n2 - r)
    left, right = bases(rng, n1, n2, r)
    for m, expected in ((freedom, False), (freedom + 4, True), (3 * freedom, True)):
        tangent = as_operator(rng.standard_normal((m, n1, n2))).tangent(left, right)
        assert all_are_cross_checked(tangent, left, right, np.ones(m)) is expected


def test_a_row_that_an_outlier_decides_is_not_certified() -> None:
    """Of three entries of a row at rank 2 any one may be the wrong one: nobody can tell."""
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
    assert result.certificate.explained >= result.certificate.needed  # it was this close
    assert not result.converged


def test_products_without_storing_are_the_same() -> None:
    rng = np.random.default_rng(2)
    operator = as_operator(rng.standard_normal((30, 8, 7)))
    left, right = bases(rng, 8, 7, 2)
    stored, unstored = operator.tangent(left, right), UnstoredTangent(operator, left, right)
    assert isinstance(stored, Tangent)
    W, w = rng.standard_normal((15, 2)), rng.uniform(0, 1, 30)
    assert np.allclose(stored.apply(W), unstored.apply(W))
    assert np.allclose(stored.adjoint(w), unstored.adjoint(w))
    assert np.allclose(stored.gram(w, W), unstored.gram(w, W))


@pytest.mark.parametrize("solver", ["auto", "median-tgd"])
def test_sampled_entries_never_certify_a_wrong_matrix(solver: str) -> None:
    """Whole rows may be disbelieved, and the rest still be more than the degrees of freedom."""
    claims = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        M = np.outer(rng.standard_normal(40), rng.standard_normal(30))
        A = entries(rng, 40, 30, 900)
        y = A.reshape(900, -1) @ M.ravel()
        result = rr.recover(A, y, 1, solver=solver)
        wrong = np.linalg.norm(result.matrix - M) > 1e-6 * np.linalg.norm(M)
        assert not (result.status is rr.Status.RECOVERED and wrong)
        claims += result.certificate.explained >= result.certificate.needed
    assert claims > 0  # it was this close


def test_every_claim_is_looked_at(small: Planted) -> None:
    for solver in ("auto", "message-passing", "median-tgd"):
        assert rr.recover(small.A, small.y, 2, solver=solver).certificate.determined
