"""The number of factors grows until only noise is left."""

from __future__ import annotations

import numpy as np
import pytest
from tables import some

from robustrank.tables import Normal, Values, few_factors, first_units
from robustrank.tables.factors import FactorNormal
from robustrank.tables.few_factors import _leaves_noise
from robustrank.tables.model import Data, first_model, model_of, refitted


def low_rank(rank: int, noise: float = 0.02, shape: tuple[int, int] = (120, 60)) -> Values:
    rng = np.random.default_rng(rank)
    left, right = (rng.standard_normal((size, rank)) for size in shape)
    return np.asarray(left @ right.T + noise * np.sqrt(rank) * rng.standard_normal(shape))


def found(table: Values) -> FactorNormal | Normal | None:
    return few_factors(table, first_units(table))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_number_of_factors_is_the_rank(rank: int) -> None:
    table = low_rank(rank)
    table[some(table.shape, 0.05)] += 10
    table[some(table.shape, 0.05, seed=1)] = np.nan
    normal = found(table)
    assert isinstance(normal, FactorNormal)
    assert normal.most == rank


def test_scattered_rows_are_no_factors() -> None:
    table = low_rank(2)
    table[:30] = 5 * np.random.default_rng(0).standard_normal((30, 60))
    normal = found(table)
    assert isinstance(normal, FactorNormal)
    assert normal.most == 2


def test_a_cluster_of_rows_with_more_noise_is_one_factor() -> None:
    """The noise of the other rows is not made larger by it."""
    table = low_rank(2)
    rng = np.random.default_rng(0)
    table[:30] = 5 * rng.choice([-1, 1], 60) + 0.3 * rng.standard_normal((30, 60))
    normal, units = found(table), first_units(table)
    assert isinstance(normal, FactorNormal)
    assert normal.most <= 3
    assert np.median(np.sqrt(normal.noise) * units.scale) < 0.06  # 0.028 without the cluster


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (low_rank(2, noise=0.0), "nothing is left that could be noise"),
        (low_rank(10), "the rank is not low"),
        (low_rank(1, shape=(120, 9)), "there are too few columns"),
    ],
)
def test_other_tables_have_no_few_factors(table: Values, why: str) -> None:
    assert found(table) is None, why


@pytest.mark.parametrize("seed", range(4))
def test_what_rounding_leaves_is_not_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = low_rank(3, noise=0.0, shape=(200, 100))
    table[:60] = 8 * rng.choice([-1, 1], 100) + 0.2 * rng.standard_normal((60, 100))
    wrong = np.asarray(rng.random(table.shape) < 0.1)
    wrong[:60] = False
    table[wrong] += 20 * rng.choice([-1, 1], np.count_nonzero(wrong))
    assert found(table) is None


def test_what_too_few_factors_leave_is_not_noise() -> None:
    table = low_rank(3)
    units = first_units(table)
    data, first = Data.of(table, units), first_model(table, units).normal
    leaves = [
        _leaves_noise(refitted(model_of(units, FactorNormal.of(first, k)), table), data, k)
        for k in (2, 3)
    ]
    assert leaves == [False, True]
