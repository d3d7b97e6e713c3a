"""Sampled entries as a family of measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.backend import like, to_numpy
from robustrank.linalg import share_counts, share_maxima
from robustrank.operators import CountedOperator, Entries, as_operator, check_operator
from robustrank.operators.entry_tangent import EntryShares

SHAPE = (20, 15)


@pytest.fixture
def positions() -> tuple[Any, Any]:
    """Positions in any order; some occur twice, and one row has none."""
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 19, 200), rng.integers(0, 15, 200)
    return rows, columns


def test_family_fulfills_the_contract(positions: tuple[Any, Any]) -> None:
    check = check_operator(Entries(*positions, SHAPE))
    assert check.passed, check


def test_measurements_are_entries_in_the_given_order(positions: tuple[Any, Any]) -> None:
    rng = np.random.default_rng(4)
    U, V = (rng.standard_normal((n, 2)) for n in SHAPE)
    measured = Entries(*positions, SHAPE).measure(U, V)
    np.testing.assert_allclose(measured, (U @ V.T)[positions], rtol=1e-13)


def test_entries_are_kept_in_both_orders(positions: tuple[Any, Any]) -> None:
    entries = Entries(*positions, SHAPE)
    for side, order, places, own, other in (
        (entries.by_rows, entries.row_order, entries.row_places, *positions),
        (entries.by_columns, entries.column_order, entries.column_places, *positions[::-1]),
    ):
        np.testing.assert_array_equal(side.owners, own[order])
        np.testing.assert_array_equal(side.others, other[order])
        np.testing.assert_array_equal(order[places], np.arange(len(own)))


@pytest.mark.parametrize(
    ("rows", "columns", "shape", "error", "message"),
    [
        ([0, 20], [0, 0], SHAPE, ValueError, "rows contains 20; expected indices from 0 to 19"),
        ([0, 1], [0, -1], SHAPE, ValueError, "columns contains -1"),
        ([0, 1], [0], SHAPE, ValueError, "rows has 2 elements and columns has 1"),
        ([0.0, 1.0], [0, 1], SHAPE, TypeError, "rows has dtype float64; expected integers"),
        ([[0, 1]], [[0, 1]], SHAPE, ValueError, "rows has 2 dimensions"),
        (np.zeros(0, int), np.zeros(0, int), SHAPE, ValueError, "rows is empty"),
        ([0], [0], (20,), ValueError, "expected \\(n1, n2\\)"),
        ([0], [0], (0, 15), ValueError, "n1=0; expected at least 1"),
        ([0], [0], (2**40, 2**40), ValueError, "expected fewer than"),
    ],
)
def test_invalid_positions(
    rows: Any, columns: Any, shape: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Entries(rows, columns, shape)


def test_indices_beyond_int32_are_allowed() -> None:
    entries = Entries([2**33, 5], [0, 1], (2**34, 2))
    assert entries.by_columns.others.tolist() == [2**33, 5]


def test_shares_are_those_of_the_dense_operator(xp: Any) -> None:
    rng = np.random.default_rng(8)
    rows, columns = rng.integers(5, size=40), rng.integers(4, size=40)
    dense = np.zeros((40, 5, 4))
    dense[np.arange(40), rows, columns] = 1
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (5, 4))
    U[2] = 0  # so that some entries depend on nothing
    V[1] = 0
    chosen, weights = (np.arange(40) % 3 > 0).astype(float), rng.uniform(0, 1, (2, 40))
    least = rng.uniform(0.2, 0.6, 9)
    found = EntryShares(*(xp.asarray(given) for given in (rows, columns, U, V)))
    expected: Any = as_operator(dense).tangent(U, V)
    maxima = found.maxima(xp.asarray(chosen))
    assert like(maxima) == like(xp.asarray(U))
    assert np.allclose(to_numpy(maxima), to_numpy(share_maxima(expected, chosen)))
    counts = to_numpy(found.counts(xp.asarray(least), xp.asarray(weights)))
    assert np.allclose(counts, to_numpy(share_counts(expected, least, weights)))
    counted = CountedOperator(Entries(rows, columns, (5, 4)))
    tangent = counted.tangent(U, V)
    assert np.array_equal(to_numpy(share_maxima(tangent, chosen)), to_numpy(maxima))
    assert np.array_equal(to_numpy(share_counts(tangent, least, weights)), counts)
    assert counted.counter.passes == 0
