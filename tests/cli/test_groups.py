"""What the measurements of a faulty sensor have in common."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robustrank.cli.groups import described, groups_of

FITTED = np.random.default_rng(0).normal(size=40) * 3
NOISE = np.random.default_rng(1).normal(size=40)


def fault(values: Any, fitted: Any = FITTED, noise: float = 0.0) -> str:
    """The words for values of a sensor, all of which are rejected."""
    values = np.asarray(values, float)
    rejected: Any = SimpleNamespace(
        outliers=np.ones(len(values), bool), residual=values - fitted, noise=noise
    )
    (line,) = described(groups_of(["S1"] * len(values), values, rejected))
    return line.partition("; ")[2]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (FITTED + 1.5, "value ≈ fitted + 1.5"),
        (FITTED - 1.5, "value ≈ fitted − 1.5"),
        (-FITTED, "value ≈ -1 × fitted"),
        (1.2 * FITTED, "value ≈ 1.2 × fitted"),
        (1.2 * FITTED - 2, "value ≈ 1.2 × fitted − 2"),
        (np.zeros(40), "value ≈ 0"),
        (np.full(40, 7.25), "value ≈ 7.25"),
        (1e6 * NOISE, ""),
        (3 * NOISE, ""),
    ],
)
def test_the_simplest_explanation_is_named(values: Any, words: str) -> None:
    assert fault(values) == words


@pytest.mark.parametrize("wrong", [99.0, -1.5e308, np.inf])
@pytest.mark.parametrize(("gain", "offset"), [(1.0, 1.5), (-1.0, 0.0), (1.2, -2.0), (0.0, 7.0)])
def test_a_minority_of_other_values_changes_nothing(
    gain: float, offset: float, wrong: float
) -> None:
    values = gain * FITTED + offset
    expected = fault(values)
    values[[1, 5, 7, 12, 13, 14, 20, 21, 30, 31, 32, 33]] = wrong
    assert fault(values) == expected


def test_noise_does_not_add_a_parameter() -> None:
    assert fault(FITTED + 1.5 + 0.05 * NOISE, noise=0.05).startswith("value ≈ fitted + 1.")
    assert fault(2 * FITTED + 0.05 * NOISE, noise=0.05) == "value ≈ 2 × fitted"


def test_few_values_tell_little() -> None:
    assert fault(FITTED[:4] + 1.5, FITTED[:4]) == ""
    assert fault(FITTED[:5] + 1.5, FITTED[:5]) == "value ≈ fitted + 1.5"
    assert fault(1.2 * FITTED[:9] - 2, FITTED[:9]) != "value ≈ 1.2 × fitted − 2"


def test_values_at_random_rarely_have_a_line() -> None:
    rng = np.random.default_rng(3)
    for count, most in ((5, 0.15), (10, 0.05), (20, 0.05)):
        draws = [rng.normal(size=(2, count)) for _ in range(100)]
        assert sum(fault(values, fitted) != "" for values, fitted in draws) <= most * 100


def test_values_that_are_mostly_infinite_have_no_line() -> None:
    values = FITTED + 1.5
    values[:25] = np.inf
    assert fault(values) == ""


def test_equal_or_zero_fitted_values_are_no_error() -> None:
    assert fault(np.full(20, 3.0), np.ones(20)) == "value ≈ 3"
    assert fault(np.full(20, 3.0), np.zeros(20)) == "value ≈ 3"
    assert fault(np.zeros(20), np.zeros(20)) == ""


def test_many_values_take_little_memory() -> None:
    fitted = np.random.default_rng(2).normal(size=100_000)
    assert fault(1.2 * fitted + 2, fitted) == "value ≈ 1.2 × fitted + 2"
