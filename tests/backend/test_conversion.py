"""Integers, booleans and half-precision numbers become float32 or float64 exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import as_floating, dtype_name, floating_dtype, to_numpy

CONVERTED = {
    "bool": "float64",
    "int8": "float64",
    "uint8": "float64",
    "int16": "float64",
    "int32": "float64",
    "int64": "float64",
    "uint64": "float64",
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
}


@pytest.mark.parametrize("given", CONVERTED)
def test_dtypes(given: str, xp: Any) -> None:
    if not hasattr(xp, given):
        pytest.skip(f"this library has no {given}")
    array = xp.asarray([0, 1, 1], dtype=getattr(xp, given))
    assert dtype_name(array) == given
    assert floating_dtype(array, "A") == CONVERTED[given]
    converted = as_floating(array, "A")
    assert dtype_name(converted) == CONVERTED[given]
    assert to_numpy(converted).tolist() == [0.0, 1.0, 1.0]


def test_float_array_is_not_copied(xp: Any, dtype: str) -> None:
    array = xp.asarray(np.ones(3, dtype))
    assert as_floating(array, "A") is array or np.shares_memory(
        to_numpy(as_floating(array, "A")), to_numpy(array)
    )


def test_integers_beyond_the_precision_raise(xp: Any) -> None:
    as_floating(xp.asarray([2**53 - 1, 1 - 2**53]), "A")
    for value in (2**53, 2**53 + 1, -(2**53)):
        with pytest.raises(
            ValueError, match=r"A contains integers of 2\^53 or more, which float64"
        ):
            as_floating(xp.asarray([0, value]), "A")


def test_complex_numbers_raise(xp: Any) -> None:
    with pytest.raises(TypeError, match=r"A has dtype .*complex128; expected float32 or float64"):
        as_floating(xp.asarray([1 + 2j], dtype=xp.complex128), "A")


@pytest.mark.slow_with_jax
@pytest.mark.parametrize("given", ["bool", "int8", "int64"])
def test_problem_of_integers_is_solved(given: str, xp: Any) -> None:
    rng = np.random.default_rng(0)
    M = np.outer(rng.integers(-5, 6, 9), rng.integers(-5, 6, 7))
    A = rng.integers(0, 2, (130, 9, 7))
    y = np.einsum("mij,ij->m", A, M)
    y[:10] = 99
    sensing = xp.asarray(A.astype(given))
    result = rr.recover(sensing, xp.asarray(y), 1, solver="gauss-newton")
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(to_numpy(result.matrix), M, atol=1e-6)
    assert np.all(to_numpy(result.outliers)[:10])
