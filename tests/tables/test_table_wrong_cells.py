"""Which cells contradict the others of their row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tables import correlated, some

from robustrank.tables.normal import Normal
from robustrank.tables.units import Mask
from robustrank.tables.wrong_cells import (
    Cells,
    consistent_cells,
    log_density_of_wrong,
    row_scales,
)

NORMAL = Normal(np.zeros(6), np.full((6, 6), 0.95) + 0.05 * np.eye(6))


def cells_of(shape: tuple[int, int] = (200, 6), share: float = 0.05) -> tuple[Cells, Mask]:
    rng = np.random.default_rng(0)
    table = rng.multivariate_normal(NORMAL.mean, NORMAL.covariance, shape[0])
    wrong = some(shape, 0.1)
    table[wrong] -= 5 * np.sign(table[wrong])
    usable = ~some(shape, 0.1, seed=1)
    return Cells(table, usable, np.ones(6, bool), share), wrong & usable


def test_cells_far_from_their_prediction_are_rejected_and_no_others() -> None:
    cells, wrong = cells_of()
    rejected = cells.usable & ~consistent_cells(NORMAL, cells).used
    assert np.mean(rejected[wrong]) > 0.95
    assert np.mean(rejected[cells.usable & ~wrong]) < 0.02


def test_unusable_cells_and_untested_columns_are_never_changed() -> None:
    cells, _ = cells_of()
    tested = np.arange(6) != 3
    used = consistent_cells(NORMAL, Cells(cells.table, cells.usable, tested, cells.share)).used
    assert not np.any(used & ~cells.usable)
    np.testing.assert_array_equal(used[:, 3], cells.usable[:, 3])


def test_at_most_half_of_the_cells_of_a_row_are_rejected() -> None:
    table = correlated(rows=50) * 1000
    usable = ~some(table.shape, 0.3)
    used = consistent_cells(NORMAL, Cells(table, usable, np.ones(6, bool), 0.4)).used
    assert np.all(2 * used.sum(axis=1) >= usable.sum(axis=1))


def test_blocks_of_rows_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, _ = cells_of()
    whole = consistent_cells(NORMAL, cells).used
    monkeypatch.setattr("robustrank.tables.normal._BLOCK", 100)
    np.testing.assert_array_equal(consistent_cells(NORMAL, cells).used, whole)


def test_log_odds_compare_the_two_densities() -> None:
    cells = Cells(np.array([[2.0, 0.5]]), np.ones((1, 2), bool), np.array([True, False]), 0.1)
    found = cells.log_odds(np.full((1, 2), 9.0), np.full((1, 2), 4.0))
    normal = math.exp(-9 / 8) / math.sqrt(8 * math.pi)
    expected = math.log(0.1 / 0.9 / (math.pi * 5) / normal)
    assert found[0, 0] == pytest.approx(expected)
    assert np.isneginf(found[0, 1])


def test_the_density_of_wrong_cells_has_the_integral_one() -> None:
    values = np.tan(np.linspace(-math.pi / 2, math.pi / 2, 100_001)[1:-1])
    density = np.exp(log_density_of_wrong(values))
    assert np.trapezoid(density, values) == pytest.approx(1, abs=1e-3)


def test_rows_with_usual_noise_have_the_scale_one_and_others_more() -> None:
    cells, _ = cells_of(share=0.05)
    table = cells.table.copy()
    table[:100] *= 10
    given = NORMAL.given(table, cells.usable)
    scales = row_scales(cells.usable, given.a, given.diagonal)
    assert np.all(scales >= 1)
    assert np.median(scales[:100]) > 10
    assert np.median(scales[100:]) < 1.5
