"""Invalid input raises an error that says what was passed and what is expected."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.simulate import plant

A, Y = plant(4, 3, 1, 30, rng=0).A, plant(4, 3, 1, 30, rng=0).y
FIRST = np.arange(30)  # the number of each measurement

INVALID: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "y too short": (Y[:-1], 1, ValueError, r"shape \(29,\); expected \(30,\)"),
    "y two-dimensional": (Y[:, None], 1, ValueError, r"\(30, 1\); expected \(30,\)"),
    "rank zero": (Y, 0, ValueError, "rank=0; expected at least 1"),
    "rank too large": (Y, 4, ValueError, r"rank=4 is larger than min\(n1, n2\) = 3"),
    "rank a fraction": (Y, 1.5, TypeError, "rank=1.5 is a float"),
    "rank a boolean": (Y, True, TypeError, "expected an integer"),
    "NaN in y": (
        np.where(FIRST == 3, math.nan, Y),
        1,
        ValueError,
        r"y contains NaN \(1 of 30 values\); remove those entries",
    ),
    "large integers in y": (
        np.full(30, 2**53),
        1,
        ValueError,
        r"y contains integers of 2\^53 or more, which float64 cannot represent exactly; scale",
    ),
    "text y": (Y.astype(str), 1, TypeError, "y has dtype <U"),
    "complex y": (Y.astype(complex), 1, TypeError, "y has dtype complex128"),
    "object y": (Y.astype(object), 1, TypeError, "y has dtype object"),
    "y all zero": (Y * 0, 1, ValueError, "y is all zero"),
    "mostly zero": (np.where(FIRST < 20, 0, Y), 1, ValueError, "half of the measurements in y"),
    "half zero": (np.where(FIRST < 15, 0, Y), 1, ValueError, "half of the measurements in y"),
    "masked y": (np.ma.masked_array(Y), 1, TypeError, "y is a masked array"),
    "mostly infinite": (
        np.where(FIRST < 16, np.inf * (-1.0) ** FIRST, Y),
        1,
        ValueError,
        "16 of 30 measurements in y are infinite",
    ),
}


@pytest.mark.parametrize("case", list(INVALID))
def test_invalid_measurements_or_rank_raise(case: str) -> None:
    y, rank, error, message = INVALID[case]
    with pytest.raises(error, match=message):
        rr.recover(A, y, rank)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"solver": "magic"}, ValueError, "'magic' is not known; expected one of 'auto'"),
        ({"solver": None}, ValueError, "None is not known; expected one of 'auto'"),
        ({"time_limit": 0}, ValueError, "time_limit=0"),
        ({"time_limit": "3"}, TypeError, "time_limit='3' is a str"),
        ({"time_limit": True}, TypeError, "time_limit=True is a bool"),
        ({"time_limit": math.nan}, ValueError, "time_limit=nan; expected a positive number"),
        ({"time_limit": -(10**400)}, ValueError, "time_limit=-1000"),
        ({"solver": rr.solvers.GaussNewton(tolerance=math.nan)}, ValueError, "tolerance=nan"),
        ({"solver": rr.solvers.GaussNewton(tolerance=-1)}, ValueError, "tolerance=-1"),
        ({"solver": rr.solvers.MessagePassing(tolerance=10**400)}, ValueError, "tolerance=1000"),
        (
            {"solver": rr.solvers.Portfolio((rr.solvers.GaussNewton(tolerance=True),))},
            TypeError,
            "tolerance=True",
        ),
        ({"callback": 3}, TypeError, "callback=3 cannot be called"),
        ({"rng": "a"}, ValueError, "rng='a'"),
    ],
)
def test_invalid_options_raise(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rr.recover(A, Y, 1, **arguments)


@pytest.mark.parametrize("limit", [math.inf, 10**400, Fraction(10**9, 7), np.float32(1e9)])
def test_any_positive_number_is_a_time_limit(limit: Any) -> None:
    assert rr.recover(A, Y, 1, time_limit=limit).status is rr.Status.RECOVERED


@pytest.mark.parametrize("tolerance", [0, Fraction(1, 10**6), np.float32(1e-6), 5e-324])
def test_any_number_that_is_not_negative_is_a_tolerance(tolerance: Any) -> None:
    solver = rr.solvers.GaussNewton(tolerance=tolerance)
    assert rr.recover(A, Y, 1, solver=solver).status is rr.Status.RECOVERED


@pytest.mark.parametrize(
    ("sensing", "measured", "dtype", "message"),
    [
        (1.0, 5e-324, "float64", "a typical measurement in y is .*e-32.; expected a size between"),
        (1.0, 1e-295, "float64", "a typical measurement in y is"),
        (1.0, 1e307, "float64", "a typical measurement in y is"),
        (1.0, 1e-36, "float32", "expected a size between 1e-31 and 2e.37, because numbers near"),
        (5e-324, 1.0, "float64", "a typical entry of A is"),
        (1e300, 1.0, "float64", r"a typical entry of A is 9.3e\+299"),
        (1e-200, 1e200, "float64", "the typical size of the matrix, y divided by A, is inf"),
        (
            1e200,
            1e-200,
            "float64",
            "the typical size of the matrix, y divided by A, is 0; .* scale",
        ),
        (1e-20, 1e20, "float32", "the typical size of the matrix, y divided by A, is"),
        (0.0, 1.0, "float64", "A is all zero; expected sensing matrices that measure something"),
    ],
)
def test_sizes_near_the_limits_of_the_dtype_raise(
    sensing: float, measured: float, dtype: str, message: str
) -> None:
    with np.errstate(under="ignore"), pytest.raises(ValueError, match=message):
        rr.recover((A * sensing).astype(dtype), (Y * measured).astype(dtype), 1)
