"""Norms neither overflow nor underflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from robustrank.linalg import frobenius_norm, spectral_norm


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_frobenius_norm_neither_overflows_nor_underflows(xp: Any, size: float) -> None:
    array = xp.asarray([[3.0, 0.0], [0.0, 4.0]], dtype=xp.float64) * size
    assert float(frobenius_norm(array)) == pytest.approx(5 * size)


def test_frobenius_norm_of_zero_is_zero(xp: Any) -> None:
    assert float(frobenius_norm(xp.zeros((2, 3)))) == 0.0


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_frobenius_norm_of_a_non_finite_array_is_not_finite(xp: Any, bad: float) -> None:
    assert not math.isfinite(float(frobenius_norm(xp.asarray([1.0, bad]))))


def test_spectral_norm_is_the_largest_singular_value(xp: Any, dtype: str) -> None:
    A = np.random.default_rng(0).standard_normal((8, 3)).astype(dtype)
    expected = np.linalg.norm(A, 2)
    assert float(spectral_norm(xp.asarray(A))) == pytest.approx(expected, rel=1e-5)


def test_spectral_norm_of_a_non_finite_matrix_is_nan(xp: Any) -> None:
    assert math.isnan(float(spectral_norm(xp.asarray([[1.0, math.inf], [0.0, 1.0]]))))
