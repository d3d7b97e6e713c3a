"""Weight functions: from the sizes of residuals to a weight for each measurement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.linalg import lower_median
from robustrank.solvers import SoftWeights, TruncatedWeights, UniformWeights, WeightFunction

# Whose weights do not change when all residuals are multiplied by the same number.
EQUIVARIANT: list[WeightFunction] = [TruncatedWeights(6.0), TruncatedWeights(1.0), UniformWeights()]
FUNCTIONS: list[WeightFunction] = [*EQUIVARIANT, SoftWeights(1.5, 2.0, 4.0)]
magnitudes = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(np.asarray)


@given(magnitudes, st.floats(1, 20))
def test_truncation_is_the_event_of_algorithm_1(values: Any, alpha: float) -> None:
    median = lower_median(values)
    weights = TruncatedWeights(alpha).weights(values, median)
    assert [bool(w) for w in weights] == [v <= alpha * median for v in values.tolist()]


@pytest.mark.parametrize("function", EQUIVARIANT, ids=repr)
@given(values=magnitudes, exponent=st.integers(-200, 200))
def test_weights_do_not_depend_on_the_scale(
    function: WeightFunction, values: Any, exponent: int
) -> None:
    scaled = values * 4.0**exponent
    if np.any((scaled == 0) & (values > 0)):
        return  # underflow is not a change of scale
    assert np.array_equal(
        function.weights(values, lower_median(values)),
        function.weights(scaled, lower_median(scaled)),
    )


@given(values=magnitudes, exponent=st.integers(-100, 100))
def test_soft_weights_depend_only_on_residuals_relative_to_the_width(
    values: Any, exponent: int
) -> None:
    unit = 2.0**exponent
    weights, scaled = (
        SoftWeights(1.5 * factor, 2.0, 4.0).weights(factor * values, lower_median(factor * values))
        for factor in (1.0, unit)
    )
    assert np.allclose(weights, scaled)


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
@given(values=magnitudes)
def test_at_least_half_of_the_weights_are_positive(function: WeightFunction, values: Any) -> None:
    weights = function.weights(values, lower_median(values))
    assert np.count_nonzero(weights) >= len(values) / 2
    assert np.all((weights >= 0) & (weights <= 1))


def test_weights_keep_dtype_and_library(xp: Any, dtype: str) -> None:
    values = xp.asarray([1.0, 2.0, 30.0], dtype=getattr(xp, dtype))
    for function in FUNCTIONS:
        assert function.weights(values, lower_median(values)).dtype == values.dtype


@pytest.mark.parametrize("function", [TruncatedWeights(1.5), SoftWeights(2.0, 1.0, 1.5)], ids=repr)
def test_weights_are_zero_beyond_the_cutoff(function: WeightFunction) -> None:
    values = np.linspace(0, 10, 101)
    cutoff = function.cutoff(float(lower_median(values)))
    assert cutoff is not None
    assert np.array_equal(function.weights(values, lower_median(values)) > 0, values <= cutoff)


def test_uniform_weights_have_no_cutoff() -> None:
    assert UniformWeights().cutoff(3.0) is None


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_batched_weights_equal_those_of_each_problem(function: WeightFunction) -> None:
    values = np.abs(np.random.default_rng(0).standard_cauchy((3, 50)))
    batched = function.weights(values, lower_median(values))
    for row, weights in zip(values, batched, strict=True):
        assert np.array_equal(weights, function.weights(row, lower_median(row)))


@pytest.mark.parametrize("alpha", [0.5, 0.0, -1.0, math.nan, math.inf])
def test_truncation_below_the_median_raises(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"expected (≥ 1|a positive finite number)"):
        TruncatedWeights(alpha)
