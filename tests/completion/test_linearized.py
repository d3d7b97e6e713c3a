"""A sample linearized at a low-rank matrix, compared with the dense matrix of the map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from completion_samples import planted_sample

from robustrank.completion.linearized import Linearized
from robustrank.linalg import point_of

Matrix = np.ndarray[Any, Any]


def linearized(weighted: bool = True) -> Linearized:
    planted, sample = planted_sample(9, 7, 2, 45)
    weights = np.random.default_rng(3).random(sample.size) if weighted else np.ones(sample.size)
    point = point_of(planted.left, planted.right)
    return Linearized(sample, point, *sample.in_both_orders(weights))


def dense(of: Linearized) -> Matrix:
    """The matrix of W → entries in the order of the rows, from the definition."""
    n1, n2 = of.sample.shape
    r = of.point.left.shape[1]
    at, columns = of.sample.by_rows, []
    for unit in np.eye((n1 + n2) * r):
        W = unit.reshape(-1, r)
        change = W[:n1] @ of.point.right.T + of.point.left @ W[n1:].T
        columns.append(change[at.owners, at.others])
    return np.stack(columns, axis=1)


def test_apply_is_the_derivative_in_both_orders() -> None:
    of = linearized()
    W = np.random.default_rng(1).standard_normal((16, 2))
    by_rows, by_columns = of.apply(W)
    np.testing.assert_allclose(by_rows, dense(of) @ W.ravel())
    np.testing.assert_allclose(by_columns, of.sample.in_both_orders(by_rows)[1])


def test_adjoint_and_normal_have_the_weights() -> None:
    of, rng = linearized(), np.random.default_rng(1)
    J, w = dense(of), of.row_weights
    values, W = rng.standard_normal(of.sample.size), rng.standard_normal((16, 2))
    adjoint = of.adjoint(of.sample.in_both_orders(values))
    np.testing.assert_allclose(adjoint.ravel(), J.T @ (w * values))
    np.testing.assert_allclose(of.normal(W).ravel(), J.T @ (w * (J @ W.ravel())))


def test_blocks_are_those_of_the_diagonal() -> None:
    of = linearized()
    J = dense(of)
    normal = J.T @ (of.row_weights[:, None] * J)
    for k, block in enumerate(of.blocks):
        own = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(block, normal[own, own])


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_solution_is_that_of_weighted_least_squares(damping: float) -> None:
    of = linearized()
    J, w = dense(of), of.row_weights
    values = np.random.default_rng(2).standard_normal(of.sample.size)
    found = of.solve(of.sample.in_both_orders(values), damping, 1e-12, 500)
    rows = np.sqrt(w)[:, None] * J, np.sqrt(damping) * np.eye(J.shape[1])
    right = np.concatenate([np.sqrt(w) * values, np.zeros(J.shape[1])])
    expected = np.linalg.lstsq(np.concatenate(rows), right, rcond=None)[0]
    np.testing.assert_allclose(J @ found.ravel(), J @ expected, atol=1e-7)
    np.testing.assert_allclose(of.point.right.T @ found[9:], 0, atol=1e-12)


def test_entries_without_weight_do_not_matter() -> None:
    of = linearized(weighted=False)
    weights = np.ones(of.sample.size)
    weights[::9] = 0
    part = Linearized(of.sample, of.point, *of.sample.in_both_orders(weights))
    values = np.random.default_rng(2).standard_normal(of.sample.size)
    found = [
        part.solve(of.sample.in_both_orders(given), 0.1, 1e-12, 500)
        for given in (values, np.where(weights > 0, values, 1e6))
    ]
    np.testing.assert_array_equal(*found)


def test_no_weight_at_all_gives_no_change() -> None:
    of = linearized()
    nothing = np.zeros(of.sample.size)
    part = Linearized(of.sample, of.point, nothing, nothing)
    assert not part.solve((nothing + 1, nothing + 1), 0.0, 1e-6, 10).any()
