"""Sample quantiles and medians agree with the paper's definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.linalg import (
    lower_median,
    median_of_selected,
    quantile_index,
    sample_quantile,
    shortest_half,
)

finite = st.floats(-1e6, 1e6)
samples = st.lists(finite, min_size=1, max_size=60)
levels = st.one_of(st.floats(0.001, 0.999), st.integers(1, 99).map(lambda percent: percent / 100))


def by_definition(values: list[float], p: float) -> float:
    """inf{x : F(x) ≥ p}, F the empirical distribution function."""
    return min(x for x in values if sum(v <= x for v in values) / len(values) >= p)


@given(samples, levels)
def test_quantile_agrees_with_its_definition(values: list[float], p: float) -> None:
    assert float(sample_quantile(np.asarray(values), p)) == by_definition(values, p)


@given(samples)
def test_median_is_the_lower_of_the_two_middle_values(values: list[float]) -> None:
    assert float(lower_median(np.asarray(values))) == sorted(values)[(len(values) - 1) // 2]


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=60))
def test_median_of_selected_is_one_of_their_two_middle_values(
    pairs: list[tuple[float, bool]],
) -> None:
    values, selected = (np.asarray(part) for part in zip(*pairs, strict=True))
    kept = sorted(values[selected])
    if not kept:
        return
    found, middle = float(median_of_selected(values, selected)), (len(kept) - 1) // 2
    assert found in (kept[middle], kept[len(kept) // 2])
    if (len(values) - len(kept)) % 2 == 0:
        assert found == kept[middle]


def test_median_of_selected_works_along_a_leading_axis(xp: Any) -> None:
    values = xp.asarray([[5.0, 1.0, 9.0, 3.0, 7.0], [5.0, 1.0, 9.0, 3.0, 7.0]])
    selected = xp.asarray([[True, True, True, False, False], [False, True, False, True, True]])
    assert [float(v) for v in median_of_selected(values, selected)] == [5.0, 3.0]


def test_median_is_not_the_average_of_the_two_middle_values(xp: Any) -> None:
    values = xp.asarray([4.0, 1.0, 3.0, 2.0])
    assert float(lower_median(values)) == 2.0
    assert np.median([4.0, 1.0, 3.0, 2.0]) == 2.5


def test_quantile_level_is_robust_to_rounding() -> None:
    # 0.07 · 100 is 7.000000000000001 in floating point, yet 7/100 ≥ 0.07 holds.
    assert float(sample_quantile(np.arange(100.0), 0.07)) == 6.0
    assert quantile_index(100, 0.07) == 6


def test_infinite_values_sort_last(xp: Any) -> None:
    assert float(lower_median(xp.asarray([math.inf, 1.0, math.inf, 0.0, 2.0]))) == 2.0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_level_outside_the_open_interval_raises(p: float) -> None:
    with pytest.raises(ValueError, match="0 < p < 1"):
        sample_quantile(np.arange(3.0), p)


def test_empty_sample_raises() -> None:
    with pytest.raises(ValueError, match="an empty sample has no quantile"):
        lower_median(np.asarray([]))


@given(samples, st.data())
def test_quantile_changes_by_at_most_the_largest_change_of_a_value(
    values: list[float], data: st.DataObject
) -> None:
    changes = data.draw(st.lists(finite, min_size=len(values), max_size=len(values)))
    p = data.draw(levels)
    before, after = np.asarray(values), np.asarray(values) + np.asarray(changes)
    shift = abs(float(sample_quantile(before, p)) - float(sample_quantile(after, p)))
    assert shift <= np.max(np.abs(after - before))


@given(st.integers(10, 60), st.data())
def test_outliers_shift_a_quantile_by_at_most_their_fraction(m: int, data: st.DataObject) -> None:
    clean = np.asarray(data.draw(st.lists(finite, min_size=m, max_size=m)))
    count = data.draw(st.integers(1, m // 3))
    s = count / m
    p = data.draw(st.floats(s + 0.01, 1 - s - 0.01))
    corrupted = clean.copy()
    corrupted[:count] = data.draw(st.lists(finite, min_size=count, max_size=count))
    middle = float(sample_quantile(corrupted, p))
    # The small numbers make up for the rounding of p ± s.
    assert float(sample_quantile(clean, max(p - s - 1e-12, 1e-9))) <= middle
    assert middle <= float(sample_quantile(clean, p + s + 1e-12))


@given(samples)
def test_shortest_half_is_the_shortest_of_all(values: list[float]) -> None:
    middle, length = map(float, shortest_half(np.asarray(values)))
    ordered, count = sorted(values), len(values) // 2 + 1
    lengths = [ordered[i + count - 1] - ordered[i] for i in range(len(values) - count + 1)]
    assert length == min(lengths) / 2
    assert sum(abs(v - middle) <= length * (1 + 1e-9) + 1e-9 for v in values) >= count


def test_shortest_half_ignores_any_minority(xp: Any) -> None:
    values = np.concatenate([5 + 0.1 * np.random.default_rng(0).standard_normal(60), np.zeros(55)])
    middle, length = shortest_half(xp.asarray(np.stack([values, -values])))
    assert [float(it) for it in middle] == pytest.approx([5, -5], abs=0.1)
    assert [float(it) for it in length] == pytest.approx([0.2, 0.2], abs=0.1)
