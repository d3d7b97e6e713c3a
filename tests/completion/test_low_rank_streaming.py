"""Rows of low rank that arrive in batches."""

from __future__ import annotations

import numpy as np
import pytest

from robustrank.completion import LowRankStream
from robustrank.tables import Units, Values

COLUMNS, RANK = 60, 3
RNG = np.random.default_rng(0)
AXES = np.linalg.qr(RNG.standard_normal((COLUMNS, RANK)))[0]
LEFT = 8 * RNG.standard_normal((1000, RANK))
UNITS = Units(np.zeros(COLUMNS), np.ones(COLUMNS), np.full(COLUMNS, np.inf), np.zeros(COLUMNS))


def rows(noise: float = 0.0, wrong: int = 15) -> Values:
    table = LEFT @ AXES.T + noise * np.random.default_rng(1).standard_normal((1000, COLUMNS))
    place = (np.arange(COLUMNS) - 5 * np.arange(1000)[:, None]) % COLUMNS < wrong
    return np.where(place, np.random.default_rng(2).standard_normal(place.shape), table)


def begun(table: Values, noise: float = 0.0) -> LowRankStream:
    """The stream that begins with 40 rows."""
    left = LEFT[:40] + noise * np.random.default_rng(3).standard_normal((40, RANK))
    cutoff = 4 * noise or 1e-8
    factors, undecided = (left, AXES), np.arange(10, 20)
    found = LowRankStream.of(table[:40], UNITS, factors, undecided, cutoff, 1.0, exact=noise == 0)
    assert found is not None
    return found


def angle(stream: LowRankStream) -> float:
    basis = np.linalg.qr(stream.right)[0]
    return float(np.linalg.norm(AXES - basis @ (basis.T @ AXES), 2))


def test_exact_rows_are_split_exactly() -> None:
    table = rows()
    stream = begun(table).updated(table[40:])
    explained = stream.explain(table)
    assert angle(stream) < 1e-12
    np.testing.assert_allclose(explained.expected, LEFT @ AXES.T, atol=1e-9)
    np.testing.assert_array_equal(explained.wrong, np.abs(table - LEFT @ AXES.T) > 1e-8)
    assert not explained.wrong_rows.any()


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_missing_entries_are_completed(noise: float) -> None:
    truth, hidden = LEFT @ AXES.T, np.random.default_rng(8).random((1000, COLUMNS)) < 0.2
    table = np.where(hidden, np.nan, rows(noise, wrong=6))
    stream = begun(table, noise).updated(table[40:])
    error = (stream.explain(table).expected - truth)[hidden]
    assert np.sqrt(np.mean(error**2)) < noise + 1e-9
    assert not stream.explain(table).wrong[hidden].any()


def test_with_noise_batches_improve_the_row_space() -> None:
    table = rows(noise=0.02)
    stream = start = begun(table, 0.02)
    for first in range(40, 1000, 60):
        stream = stream.updated(table[first : first + 60])
    values, vectors = np.linalg.eigh(np.cov(rows(0.02, wrong=0).T))
    best = np.linalg.norm(AXES - vectors[:, -RANK:] @ (vectors[:, -RANK:].T @ AXES), 2)
    assert angle(stream) < 1.5 * best < angle(start) / 1.5
    assert np.sqrt(np.median(stream.squares / stream.entries)) == pytest.approx(0.02, rel=0.1)
    assert values[-RANK] > 1


def test_forgetting_follows_a_drift() -> None:
    angles = np.linspace(0, 1, 1000)[:, None]
    drift = np.linalg.qr(np.random.default_rng(4).standard_normal((COLUMNS, RANK)))[0]
    table = LEFT @ AXES.T + 0.1 * angles * (LEFT @ drift.T)
    table += 0.05 * np.random.default_rng(5).standard_normal(table.shape)
    errors = []
    for forgetting in (1.0, 0.98):
        stream = begun(table, 0.05)
        for first in range(40, 1000, 20):
            stream = stream.updated(table[first : first + 20], forgetting)
        basis, last = np.linalg.qr(stream.right)[0], np.linalg.qr(AXES + 0.1 * drift)[0]
        errors.append(np.linalg.norm(last - basis @ (basis.T @ last), 2))
    assert errors[1] < errors[0] / 1.5


def test_rows_of_another_space_are_wrong_and_change_nothing() -> None:
    stream = begun(rows())
    strange = np.random.default_rng(6).standard_normal((20, COLUMNS))
    explained = stream.explain(strange)
    assert explained.wrong_rows.all()
    assert (explained.row_log_odds > 0).all()
    after = stream.updated(strange)
    np.testing.assert_array_equal(after.scores, stream.scores)
    assert after.shares[1] == pytest.approx(20 / 60, abs=0.02)


def test_rows_with_too_few_entries_are_not_judged() -> None:
    stream = begun(rows())
    few = np.full((1, COLUMNS), np.nan)
    few[0, :RANK] = 100.0
    explained = stream.explain(few)
    assert not explained.wrong_rows.any()
    np.testing.assert_allclose(explained.expected[0], stream.moments()[0])


def test_no_stream_where_the_coordinates_explain_nothing() -> None:
    table = np.random.default_rng(7).standard_normal((40, COLUMNS))
    for undecided in (np.arange(COLUMNS), np.arange(0)):
        factors = LEFT[:40], AXES
        assert LowRankStream.of(table, UNITS, factors, undecided, 1e-8, 1.0, exact=True) is None
