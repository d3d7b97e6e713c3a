"""The tangent map of sampled entries, compared with the dense matrix of the map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.linalg import as_vector, damped_least_squares, null_directions, point_of
from robustrank.operators import Entries, EntryTangent
from robustrank.simulate import plant_entries

Matrix = np.ndarray[Any, Any]

N1, N2, RANK = 9, 7, 2


def tangent_map(*, by_rows: bool) -> EntryTangent:
    """The map of entries in the order of the rows, or in that in which they were given."""
    planted = plant_entries(N1, N2, RANK, 45, rng=1)
    point = point_of(planted.left, planted.right)
    entries = Entries(planted.rows, planted.columns, (N1, N2))
    if not by_rows:
        return entries.tangent(point.left, point.right)
    places = entries.row_places[entries.column_order]
    return EntryTangent(entries.by_rows, entries.by_columns, places, point.left, point.right)


def weights(of: EntryTangent) -> Matrix:
    return np.random.default_rng(3).random(of.measurements)


def dense(of: EntryTangent) -> Matrix:
    """The matrix of W → entries, from the definition."""
    at, columns = of.by_rows, []
    places = slice(None) if of.row_places is None else of.row_places
    for unit in np.eye((N1 + N2) * RANK):
        W = unit.reshape(-1, RANK)
        change = W[:N1] @ of.V.T + of.U @ W[N1:].T
        columns.append(change[at.owners, at.others][places])
    return np.stack(columns, axis=1)


def solve(of: EntryTangent, w: Matrix, values: Matrix, damping: float, limit: int = 500) -> Matrix:
    found = damped_least_squares(of, w, values, np.asarray(damping), np.asarray(1e-12), limit)
    return np.asarray(found)


@pytest.fixture(params=[True, False], ids=["by rows", "as given"])
def of(request: Any) -> EntryTangent:
    return tangent_map(by_rows=request.param)


def test_apply_is_the_derivative(of: EntryTangent) -> None:
    W = np.random.default_rng(1).standard_normal((N1 + N2, RANK))
    np.testing.assert_allclose(of.apply(W), dense(of) @ W.ravel())


def test_adjoint_and_normal_map_with_weights(of: EntryTangent) -> None:
    rng, J, w = np.random.default_rng(1), dense(of), weights(of)
    values, W = rng.standard_normal(of.measurements), rng.standard_normal((N1 + N2, RANK))
    np.testing.assert_allclose(of.adjoint(w * values).ravel(), J.T @ (w * values))
    np.testing.assert_allclose(of.normal_map(w)(W).ravel(), J.T @ (w * (J @ W.ravel())))


def test_normal_map_of_many_entries(of: EntryTangent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustrank.operators.entry_tangent._FEW_ENTRIES", 0)
    J, w = dense(of), weights(of)
    W = np.random.default_rng(1).standard_normal((N1 + N2, RANK))
    np.testing.assert_allclose(of.normal_map(w)(W).ravel(), J.T @ (w * (J @ W.ravel())))


def test_normal_matrix(of: EntryTangent) -> None:
    w = weights(of)
    W = np.random.default_rng(1).standard_normal((N1 + N2, RANK))
    found = of.normal_matrix(w)
    assert found is not None
    np.testing.assert_allclose(found @ as_vector(W), as_vector(of.normal_map(w)(W)))


def test_blocks_are_those_of_the_diagonal(of: EntryTangent) -> None:
    J, w = dense(of), weights(of)
    normal = J.T @ (w[:, None] * J)
    blocks = of.normal_map(w).blocks
    assert blocks is not None
    for k, block in enumerate(blocks()):
        own = slice(RANK * k, RANK * k + RANK)
        np.testing.assert_allclose(block, normal[own, own])


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_solution_is_that_of_weighted_least_squares(of: EntryTangent, damping: float) -> None:
    J, w = dense(of), weights(of)
    values = np.random.default_rng(2).standard_normal(of.measurements)
    found = solve(of, w, values, damping)
    rows = np.sqrt(w)[:, None] * J, np.sqrt(damping) * np.eye(J.shape[1])
    right = np.concatenate([np.sqrt(w) * values, np.zeros(J.shape[1])])
    expected = np.linalg.lstsq(np.concatenate(rows), right, rcond=None)[0]
    np.testing.assert_allclose(J @ found.ravel(), J @ expected, atol=1e-7)
    np.testing.assert_allclose(null_directions(of.U, of.V) @ as_vector(found), 0, atol=1e-12)


def test_entries_without_weight_do_not_matter(of: EntryTangent) -> None:
    w = np.ones(of.measurements)
    w[::9] = 0
    values = np.random.default_rng(2).standard_normal(of.measurements)
    found = solve(of, w, values, 0.1)
    np.testing.assert_array_equal(found, solve(of, w, np.where(w > 0, values, 1e6), 0.1))


def test_no_weight_at_all_gives_no_change(of: EntryTangent) -> None:
    nothing = np.zeros(of.measurements)
    assert not solve(of, nothing, nothing + 1, 0.0, 10).any()
