"""Which measurements are believed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.backend import lower_median
from robustrank.trust import KeepAll, MedianTruncation, TrustRule, trusted

RULES: list[TrustRule] = [MedianTruncation(6.0), MedianTruncation(1.0), KeepAll()]
magnitudes = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(np.asarray)


@given(magnitudes, st.floats(1, 20))
def test_truncation_event_of_algorithm_1(values: Any, alpha: float) -> None:
    median = lower_median(values)
    weights = MedianTruncation(alpha).weights(values, median)
    assert [bool(w) for w in weights] == [v <= alpha * median for v in values.tolist()]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(values=magnitudes, exponent=st.integers(-200, 200))
def test_rules_follow_the_scale(rule: TrustRule, values: Any, exponent: int) -> None:
    scaled = values * 4.0**exponent
    if np.any((scaled == 0) & (values > 0)):
        return  # underflow is not a change of scale
    assert np.array_equal(
        rule.weights(values, lower_median(values)), rule.weights(scaled, lower_median(scaled))
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(values=magnitudes)
def test_at_least_half_is_believed(rule: TrustRule, values: Any) -> None:
    weights = rule.weights(values, lower_median(values))
    assert np.count_nonzero(weights) >= len(values) / 2
    assert np.all((weights >= 0) & (weights <= 1))


def test_weights_keep_dtype_and_library(xp: Any, dtype: str) -> None:
    values = xp.asarray([1.0, 2.0, 30.0], dtype=getattr(xp, dtype))
    for rule in RULES:
        assert rule.weights(values, lower_median(values)).dtype == values.dtype


def test_cutoff_is_where_belief_ends() -> None:
    values = np.linspace(0, 10, 101)
    rule = MedianTruncation(1.5)
    cutoff = rule.cutoff(float(lower_median(values)))
    assert cutoff is not None
    assert np.array_equal(rule.weights(values, lower_median(values)) > 0, values <= cutoff)
    assert KeepAll().cutoff(3.0) is None


def test_infinite_value_without_weight_counts_as_zero(xp: Any) -> None:
    values, weights = xp.asarray([math.inf, -math.inf, 2.0]), xp.asarray([0.0, 0.0, 0.5])
    assert [float(v) for v in trusted(values, weights)] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("alpha", [0.5, 0.0, -1.0, math.nan, math.inf])
def test_truncation_below_the_median_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"expected (≥ 1|a positive number)"):
        MedianTruncation(alpha)
