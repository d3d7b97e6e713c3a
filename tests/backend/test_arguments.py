"""Validation of numbers and random seeds given by the user."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from robustrank.backend import as_generator, check_count, check_positive


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_positive_numbers_are_accepted(value: Any) -> None:
    check_positive(alpha=value)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_numbers_that_are_not_positive_and_finite_raise(value: float) -> None:
    with pytest.raises(ValueError, match=f"alpha={value}; expected a positive finite number"):
        check_positive(beta=1, alpha=value)


@pytest.mark.parametrize("value", ["1", None, True, 1j])
def test_values_that_are_not_numbers_raise(value: Any) -> None:
    with pytest.raises(TypeError, match=r"alpha=.* is a .*; expected a number"):
        check_positive(alpha=value)


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
