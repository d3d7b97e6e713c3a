"""Which measurements are believed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.linalg import lower_median
from robustrank.solvers.weights import (
    TruncatedWeights,
    UniformWeights,
    WeightFunction,
    left_out,
    mean_leverage,
    weighted,
)

RULES: list[WeightFunction] = [TruncatedWeights(6.0), TruncatedWeights(1.0), UniformWeights()]
magnitudes = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(np.asarray)


@given(magnitudes, st.floats(1, 20))
def test_truncation_event_of_algorithm_1(values: Any, alpha: float) -> None:
    median = lower_median(values)
    weights = TruncatedWeights(alpha).weights(values, median)
    assert [bool(w) for w in weights] == [v <= alpha * median for v in values.tolist()]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(values=magnitudes, exponent=st.integers(-200, 200))
def test_rules_follow_the_scale(rule: WeightFunction, values: Any, exponent: int) -> None:
    scaled = values * 4.0**exponent
    if np.any((scaled == 0) & (values > 0)):
        return  # underflow is not a change of scale
    assert np.array_equal(
        rule.weights(values, lower_median(values)), rule.weights(scaled, lower_median(scaled))
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(values=magnitudes)
def test_at_least_half_is_believed(rule: WeightFunction, values: Any) -> None:
    weights = rule.weights(values, lower_median(values))
    assert np.count_nonzero(weights) >= len(values) / 2
    assert np.all((weights >= 0) & (weights <= 1))


def test_weights_keep_dtype_and_library(xp: Any, dtype: str) -> None:
    values = xp.asarray([1.0, 2.0, 30.0], dtype=getattr(xp, dtype))
    for rule in RULES:
        assert rule.weights(values, lower_median(values)).dtype == values.dtype


def test_cutoff_is_where_belief_ends() -> None:
    values = np.linspace(0, 10, 101)
    rule = TruncatedWeights(1.5)
    cutoff = rule.cutoff(float(lower_median(values)))
    assert cutoff is not None
    assert np.array_equal(rule.weights(values, lower_median(values)) > 0, values <= cutoff)
    assert UniformWeights().cutoff(3.0) is None


def test_infinite_value_without_weight_counts_as_zero(xp: Any) -> None:
    values, weights = xp.asarray([math.inf, -math.inf, 2.0]), xp.asarray([0.0, 0.0, 0.5])
    assert [float(v) for v in weighted(values, weights)] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("alpha", [0.5, 0.0, -1.0, math.nan, math.inf])
def test_truncation_below_the_median_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"expected (≥ 1|a positive number)"):
        TruncatedWeights(alpha)


def test_residuals_as_if_left_out_are_those_of_a_fit_without_the_measurement() -> None:
    rng = np.random.default_rng(0)
    d, N, m = 30, 60, 80
    J, y = rng.standard_normal((m, d)), rng.standard_normal(m)
    weights = (np.arange(m) < N).astype(float)

    def residual(rows: Any) -> Any:
        return y - J @ np.linalg.lstsq(J[rows], y[rows], rcond=None)[0]

    used = np.flatnonzero(weights)
    predicted = left_out(np.abs(residual(used)), weights, mean_leverage(weights, d))
    without = np.array([abs(residual(used[used != i])[i]) for i in range(m)])
    assert np.allclose(predicted[N:], without[N:])  # those were left out as it is
    assert 0.8 < np.median(predicted[:N] / without[:N]) < 1.25
    # As they are, the residuals of what was used look half as large.
    assert np.median(np.abs(residual(used))[:N] / without[:N]) < 0.6


@pytest.mark.parametrize("believed", [0, 1, 29, 30])
def test_few_believed_measurements_leave_residuals_finite(believed: int) -> None:
    weights = (np.arange(60) < believed).astype(float)
    fair = left_out(np.ones(60), weights, mean_leverage(weights, 30))
    assert np.isfinite(fair).all()
    assert (fair >= 1).all()
