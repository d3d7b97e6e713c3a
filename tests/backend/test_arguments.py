"""Validation of numbers and random seeds given by the user."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from robustrank.backend import (
    as_generator,
    as_seconds,
    check_count,
    check_not_negative,
    check_positive,
    shown,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_positive_numbers_are_accepted(value: Any) -> None:
    check_positive(alpha=value)
    check_not_negative(alpha=value)
    assert as_seconds(time_limit=value) == float(value)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_numbers_that_are_not_positive_and_finite_raise(value: float) -> None:
    with pytest.raises(ValueError, match=f"alpha={value}; expected a positive finite number"):
        check_positive(beta=1, alpha=value)


@pytest.mark.parametrize("value", [-1, -(10**400), math.inf, 10**400, math.nan])
def test_numbers_that_are_negative_or_not_finite_raise(value: float) -> None:
    check_not_negative(tolerance=0)
    with pytest.raises(
        ValueError, match=r"tolerance=.*; expected zero or a positive finite number"
    ):
        check_not_negative(tolerance=value)


@pytest.mark.parametrize("value", [math.inf, 10**400, Fraction(10**400, 3), np.float32(np.inf)])
def test_seconds_may_be_infinite(value: Any) -> None:
    assert as_seconds(time_limit=value) == math.inf


@pytest.mark.parametrize("value", [0, -1.5, math.nan, -(10**400), np.float64(-1)])
def test_seconds_that_are_not_positive_raise(value: Any) -> None:
    with pytest.raises(ValueError, match=r"time_limit=.*; expected a positive number of seconds"):
        as_seconds(time_limit=value)


@pytest.mark.parametrize("value", ["1", None, True, np.True_, 1j, np.ones(2), [1.0]])
def test_values_that_are_not_numbers_raise(value: Any) -> None:
    for check in (check_positive, check_not_negative, as_seconds):
        with pytest.raises(TypeError, match=r"alpha=.* is a .*; expected a number"):
            check(alpha=value)


def test_long_values_are_cut_in_messages() -> None:
    assert shown(1.5) == "1.5"
    assert shown("a") == "'a'"
    assert shown(10**100) == "1" + 58 * "0" + "…"
    with pytest.raises(ValueError, match=r"alpha=\(a number of thousands of digits\); expected"):
        as_seconds(alpha=-(10**5000))


@pytest.mark.parametrize("value", [1, np.int32(7)])
def test_counts_are_accepted(value: Any) -> None:
    check_count(rank=value)


@pytest.mark.parametrize("value", [0, -3])
def test_counts_below_one_raise(value: int) -> None:
    with pytest.raises(ValueError, match=f"rank={value}; expected at least 1"):
        check_count(rank=value)


@pytest.mark.parametrize("value", [2.0, "2", None, True])
def test_counts_that_are_not_integers_raise(value: Any) -> None:
    with pytest.raises(TypeError, match=r"rank=.* is a .*; expected an integer"):
        check_count(rank=value)


def test_generator_is_used_as_it_is_and_seeds_are_reproducible() -> None:
    generator = np.random.default_rng(1)
    assert as_generator(generator) is generator
    assert as_generator(3).random() == as_generator(np.int64(3)).random()
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, "1", True])
def test_invalid_seed_raises(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"expected an integer from 0 to 2\^63 - 1"):
        as_generator(seed)
