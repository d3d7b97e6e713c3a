"""``Stream``: when the model of batches of rows is fitted anew, and when it is replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.api.streaming import Stream
from robustrank.completion import LowRankStream
from robustrank.tables import TableStream

Matrix = np.ndarray[Any, Any]
WIDE, RANK = 240, 4


def wide(rows: int, seed: int, noise: float = 0.0) -> tuple[Matrix, Matrix]:
    """Rows of rank 4 about a mean, with a moving block of wrong cells, and their axes."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((WIDE, RANK)))[0]
    table = 10 + 10 * rng.standard_normal((rows, RANK)) @ axes.T
    table += noise * rng.standard_normal(table.shape)
    block = (np.arange(WIDE) - 24 * np.arange(rows)[:, None]) % WIDE < 72
    return np.where(block, 10 + rng.standard_normal(table.shape), table), axes


def angle(stream: Stream, axes: Matrix) -> float:
    found = np.linalg.eigh(stream.rows.moments()[1])[1][:, -RANK:]
    return float(np.linalg.norm(axes - found @ (found.T @ axes), 2))


def after(stream: Stream, table: Matrix, size: int) -> Stream:
    for first in range(0, len(table), size):
        stream = stream.updated(table[first : first + size])
    return stream


@pytest.fixture(scope="module")
def exact() -> Stream:
    return after(Stream(0.999, RANK, 0), wide(200, 0)[0], 20)


def test_wide_rows_of_low_rank(exact: Stream) -> None:
    assert isinstance(exact.model, LowRankStream)
    assert exact.kept is None
    assert angle(exact, wide(200, 0)[1]) < 1e-9


def test_an_abrupt_change_is_followed_within_five_rows_for_each_component(exact: Stream) -> None:
    later, axes = wide(60, 1)
    before = after(exact, later[: 5 * RANK - 1], 3)
    assert angle(before, axes) > 0.5
    stream = before.updated(later[5 * RANK - 1 : 5 * RANK])
    assert angle(stream, axes) < 1e-6
    assert angle(after(stream, later[5 * RANK :], 10), axes) < 1e-6


def test_without_forgetting_rows_that_contradict_stay_outliers() -> None:
    later, _ = wide(60, 1)
    keeping = after(Stream(1.0, RANK, 0), wide(200, 0)[0], 20)
    stream = after(keeping, later, 10)
    assert angle(stream, wide(200, 0)[1]) < 1e-9
    assert stream.rows.explain(later).wrong_rows.all()


def test_rows_that_do_not_agree_with_each_other_are_forgotten(exact: Stream) -> None:
    junk = np.random.default_rng(2).standard_normal((90, WIDE))
    stream = after(exact, junk, 45)
    assert angle(stream, wide(200, 0)[1]) < 1e-9
    assert len(stream.rejected) == 0


def test_a_few_outlying_rows_are_not_a_change(exact: Stream) -> None:
    table, axes = wide(60, 0)
    table[::4] = wide(60, 1)[0][::4]
    stream = after(exact, table, 6)
    assert angle(stream, axes) < 1e-9
    assert len(stream.rejected) == 0


def test_wide_rows_with_noise() -> None:
    """The error decreases with the number of rows."""
    table, axes = wide(300, 3, noise=0.05)
    early = Stream(1.0, RANK, 0).updated(table[:60])
    assert isinstance(early.model, LowRankStream)
    assert not early.model.exact
    assert angle(after(early, table[60:], 60), axes) < angle(early, axes) / 1.5 < 0.05


def test_wide_rows_without_low_rank_have_a_model_at_once() -> None:
    table = np.random.default_rng(4).standard_normal((8, WIDE))
    model = Stream(1.0, RANK, 0).updated(table).model
    assert isinstance(model, TableStream)
    assert np.isfinite(model.explain(table).expected).all()


def test_first_rows_give_the_model_of_clean() -> None:
    rng = np.random.default_rng(5)
    table = rng.standard_normal((900, 2)) @ rng.standard_normal((2, 5))
    table += 0.5 * rng.standard_normal(table.shape)
    stream = after(Stream(1.0, None, 0), table[:400], 400)
    fitted = rr.clean(table[:400]).table
    assert fitted is not None
    np.testing.assert_allclose(stream.rows.moments()[1], fitted.model.predictive_covariance)
    assert stream.kept is not None
    assert after(stream, table[400:], 100).kept is None


def test_a_table_that_changes() -> None:
    rng = np.random.default_rng(6)
    axes = rng.standard_normal((2, 2, 6))
    table = rng.standard_normal((800, 2)) @ axes[0] + 0.3 * rng.standard_normal((800, 6))
    later = 30 + rng.standard_normal((400, 2)) @ axes[1] + 0.3 * rng.standard_normal((400, 6))
    stream = after(Stream(0.5 ** (1 / 500), None, 0), np.vstack([table, later]), 50)
    covariance = np.cov(later.T)
    difference = stream.rows.moments()[1] - covariance
    assert np.linalg.norm(difference) < 0.2 * np.linalg.norm(covariance)


def test_a_stream_without_rows() -> None:
    with pytest.raises(ValueError, match="no rows yet"):
        _ = Stream(1.0, None, 0).rows
