"""What the used cells of a row say about the others, against formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tables import correlated, some

from robustrank.tables.normal import Given, Normal, Unused, blocks
from robustrank.tables.units import Mask, Values


def normal_of(table: Values) -> Normal:
    return Normal(table.mean(axis=0), np.cov(table.T))


def conditional(normal: Normal, row: Values, known: Mask) -> tuple[Values, Values]:
    """The expected values of a row, and their covariance, given its known cells."""
    S = normal.covariance
    gain = S[:, known] @ np.linalg.inv(S[np.ix_(known, known)])
    expected = normal.mean + gain @ (row - normal.mean)[known]
    return expected, S - gain @ S[known]


@pytest.fixture(params=[0.0, 0.2, 0.6], ids=lambda share: f"{share:g} unused")
def case(request: pytest.FixtureRequest) -> tuple[Normal, Values, Mask, Given]:
    table = correlated()
    used = ~some(table.shape, request.param)
    used[5] = False  # a row without any used cell
    used[6] = True
    normal = normal_of(table)
    return normal, table, used, normal.given(table, used)


def test_a_used_cell_is_predicted_as_if_it_were_not_used(
    case: tuple[Normal, Values, Mask, Given],
) -> None:
    normal, table, used, given = case
    for i, j in np.argwhere(used):
        known = used[i].copy()
        known[j] = False
        expected, covariance = conditional(normal, table[i], known)
        assert given.expected()[i, j] == pytest.approx(expected[j], abs=1e-9)
        assert given.variance()[i, j] == pytest.approx(covariance[j, j], rel=1e-9)


def test_unused_cells_are_predicted_by_the_used_ones(
    case: tuple[Normal, Values, Mask, Given],
) -> None:
    normal, table, used, given = case
    for i, row in enumerate(table):
        expected, covariance = conditional(normal, row, used[i])
        rest = ~used[i]
        np.testing.assert_allclose(given.completed[i, rest], expected[rest], atol=1e-9)
        np.testing.assert_allclose(given.variance()[i, rest], np.diagonal(covariance)[rest])
        np.testing.assert_array_equal(given.completed[i, used[i]], row[used[i]])


def test_log_density_and_distance_are_those_of_the_used_cells(
    case: tuple[Normal, Values, Mask, Given],
) -> None:
    normal, table, used, given = case
    for i, row in enumerate(table):
        known = used[i]
        S = normal.covariance[np.ix_(known, known)]
        centered = (row - normal.mean)[known]
        distance = float(centered @ np.linalg.solve(S, centered))
        logarithm = -(np.linalg.slogdet(2 * math.pi * S)[1] + distance) / 2
        assert given.distances()[i] == pytest.approx(distance, abs=1e-9)
        assert given.log_density()[i] == pytest.approx(logarithm, abs=1e-9)


def test_the_unknown_part_is_the_sum_of_the_covariances_of_unused_cells(
    case: tuple[Normal, Values, Mask, Given],
) -> None:
    normal, _, used, given = case
    total = np.zeros_like(normal.covariance)
    for known in used:
        rest = np.ix_(~known, ~known)
        across = normal.covariance[np.ix_(known, ~known)]
        explained = np.linalg.solve(normal.covariance[np.ix_(known, known)], across)
        total[rest] += normal.covariance[rest] - across.T @ explained
    np.testing.assert_allclose(normal.unknown(given), total, atol=1e-9)


def test_columns_of_the_inverse_covariance_of_the_used_cells(
    case: tuple[Normal, Values, Mask, Given],
) -> None:
    normal, _, used, _ = case
    unused = Unused.of(normal.precision, used)
    for i, known in enumerate(used):
        inverse = np.linalg.inv(normal.covariance[np.ix_(known, known)])
        for k, j in enumerate(np.flatnonzero(known)):
            found = unused.column(np.array([i]), np.array([j]))[0]
            np.testing.assert_allclose(found[known], inverse[k], atol=1e-8)


def test_blocks_contain_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustrank.tables.normal._BLOCK", 100)
    used = ~some((50, 8), 0.5)
    found = list(blocks(used))
    assert len(found) > 5
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(50))


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    table = correlated()
    used = ~some(table.shape, 0.4)
    normal = normal_of(table)
    whole, unknown = (given := normal.given(table, used)), normal.unknown(given)
    monkeypatch.setattr("robustrank.tables.normal._BLOCK", 100)
    parts = normal.given(table, used)
    np.testing.assert_allclose(parts.a, whole.a, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(normal.unknown(parts), unknown, rtol=1e-10, atol=1e-12)
