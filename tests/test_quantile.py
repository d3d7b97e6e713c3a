"""The paper's sample quantile θ_p and median, from its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.linalg import (
    frobenius_norm,
    leading_svd,
    lower_median,
    median_among,
    sample_quantile,
)

finite = st.floats(-1e6, 1e6)
samples = st.lists(finite, min_size=1, max_size=60)
levels = st.one_of(st.floats(0.001, 0.999), st.integers(1, 99).map(lambda percent: percent / 100))


def by_definition(values: list[float], p: float) -> float:
    """inf{x : F(x) ≥ p}, F the empirical distribution function."""
    return min(x for x in values if sum(v <= x for v in values) / len(values) >= p)


@given(samples, levels)
def test_definition_generalized_quantile_function(values: list[float], p: float) -> None:
    assert float(sample_quantile(np.asarray(values), p)) == by_definition(values, p)


@given(samples)
def test_median_is_the_lower_of_two_middle_values(values: list[float]) -> None:
    assert float(lower_median(np.asarray(values))) == sorted(values)[(len(values) - 1) // 2]


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=60))
def test_median_among_some_is_one_of_their_two_middle_values(
    pairs: list[tuple[float, bool]],
) -> None:
    values, chosen = (np.asarray(part) for part in zip(*pairs, strict=True))
    theirs = sorted(values[chosen])
    if not theirs:
        return
    found, middle = float(median_among(values, chosen)), (len(theirs) - 1) // 2
    assert found in (theirs[middle], theirs[len(theirs) // 2])
    if (len(values) - len(theirs)) % 2 == 0:
        assert found == theirs[middle]


def test_median_among_some_along_a_leading_axis(xp: Any) -> None:
    values = xp.asarray([[5.0, 1.0, 9.0, 3.0, 7.0], [5.0, 1.0, 9.0, 3.0, 7.0]])
    chosen = xp.asarray([[True, True, True, False, False], [False, True, False, True, True]])
    assert [float(v) for v in median_among(values, chosen)] == [5.0, 3.0]


def test_median_differs_from_the_average_of_two_middle_values(xp: Any) -> None:
    values = xp.asarray([4.0, 1.0, 3.0, 2.0])
    assert float(lower_median(values)) == 2.0
    assert np.median([4.0, 1.0, 3.0, 2.0]) == 2.5


def test_quantile_level_that_rounds_badly() -> None:
    # 0.07 · 100 is 7.000000000000001 in floating point, yet 7/100 ≥ 0.07 holds.
    assert float(sample_quantile(np.arange(100.0), 0.07)) == 6.0


def test_infinite_values_sort_last(xp: Any) -> None:
    assert float(lower_median(xp.asarray([math.inf, 1.0, math.inf, 0.0, 2.0]))) == 2.0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_level_outside_the_open_interval_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="0 < p < 1"):
        sample_quantile(np.arange(3.0), p)


def test_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        lower_median(np.asarray([]))


@given(samples, st.data())
def test_lemma_order_statistics_move_no_more_than_the_values(
    values: list[float], data: st.DataObject
) -> None:
    moves = data.draw(st.lists(finite, min_size=len(values), max_size=len(values)))
    p = data.draw(levels)
    before, after = np.asarray(values), np.asarray(values) + np.asarray(moves)
    shift = abs(float(sample_quantile(before, p)) - float(sample_quantile(after, p)))
    assert shift <= np.max(np.abs(after - before))


@given(st.integers(10, 60), st.data())
def test_lemma_outliers_shift_a_quantile_by_at_most_their_share(
    m: int, data: st.DataObject
) -> None:
    clean = np.asarray(data.draw(st.lists(finite, min_size=m, max_size=m)))
    count = data.draw(st.integers(1, m // 3))
    s = count / m
    p = data.draw(st.floats(s + 0.01, 1 - s - 0.01))
    corrupted = clean.copy()
    corrupted[:count] = data.draw(st.lists(finite, min_size=count, max_size=count))
    middle = float(sample_quantile(corrupted, p))
    # p ± s is a hair away from where it rounds to.
    assert float(sample_quantile(clean, max(p - s - 1e-12, 1e-9))) <= middle
    assert middle <= float(sample_quantile(clean, p + s + 1e-12))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_norm_neither_overflows_nor_underflows(xp: Any, size: float) -> None:
    array = xp.asarray([[3.0, 0.0], [0.0, 4.0]], dtype=xp.float64) * size
    assert float(frobenius_norm(array)) == pytest.approx(5 * size)


def test_norm_of_zero_is_zero(xp: Any) -> None:
    assert float(frobenius_norm(xp.zeros((2, 3)))) == 0.0


def test_large_svd_agrees_with_the_dense_one() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((700, 5)) @ rng.standard_normal((5, 650))
    G += 0.01 * rng.standard_normal(G.shape)
    left, values, right = leading_svd(G, 5, rng)
    dense = np.linalg.svd(G, compute_uv=False)[:5]
    assert np.allclose(values, dense, rtol=1e-10)
    assert np.allclose(G @ right, left * values, atol=1e-8 * dense[0])
    assert left.shape == (700, 5)
    assert right.shape == (650, 5)


def test_svd_of_what_is_not_finite_is_nan(xp: Any) -> None:
    left, values, right = leading_svd(
        xp.asarray([[1.0, math.inf], [0.0, 1.0]]), 1, np.random.default_rng(0)
    )
    assert all(bool(xp.all(xp.isnan(part))) for part in (left, values, right))
