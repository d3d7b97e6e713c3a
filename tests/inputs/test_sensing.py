"""Invalid sensing data raises an error that says what was found and what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.operators import as_operator

BAD_SENSING: dict[str, tuple[Any, type[Exception], str]] = {
    "one-dimensional": (np.ones(5), ValueError, r"shape \(5,\); expected \(m, n1, n2\)"),
    "four-dimensional": (
        np.ones((2, 2, 2, 2)),
        ValueError,
        r"shape \(2, 2, 2, 2\); expected \(m, n1, n2\)",
    ),
    "no measurements": (np.ones((0, 3, 4)), ValueError, "no measurements; expected m ≥ 1"),
    "empty matrix": (np.ones((3, 0, 4)), ValueError, r"\(0, 4\); expected at least 1 × 1"),
    "flat without shape": (
        np.ones((5, 12)),
        ValueError,
        r"pass shape=\(n1, n2\) with n1\*n2 = 12",
    ),
    "complex": (np.ones((5, 3, 4), complex), TypeError, "complex128; expected float32"),
    "extended precision": (
        np.ones((5, 3, 4), np.longdouble),
        TypeError,
        r"expected float32 or float64, or integers .* with A\.astype\(\"float64\"\)",
    ),
    "dates": (np.ones((5, 3, 4), "M8[s]"), TypeError, "datetime64"),
    "large integers": (
        np.full((5, 3, 4), -(2**53)),
        ValueError,
        r"A contains integers of 2\^53 or more",
    ),
    "objects": (np.full((5, 3, 4), None), TypeError, "object; expected float32"),
    "masked": (np.ma.masked_array(np.ones((5, 3, 4))), TypeError, "A is a masked array"),
    "path of no file": ("A.npy", FileNotFoundError, r"A\.npy does not exist"),
}


@pytest.mark.parametrize("case", BAD_SENSING)
def test_invalid_sensing_data_raises(case: str) -> None:
    A, error, message = BAD_SENSING[case]
    with pytest.raises(error, match=message):
        as_operator(A)


@pytest.mark.parametrize("shape", [12, (12,), "3x4", (3, 4, 1), (3.0, 4.0)])
def test_shape_that_is_not_a_pair_of_integers_raises(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"expected two integers, \(n1, n2\)"):
        as_operator(np.ones((5, 12)), shape)


def test_shape_that_does_not_match_raises() -> None:
    with pytest.raises(ValueError, match="3 × 5 = 15"):
        as_operator(np.ones((5, 12)), (3, 5))
    with pytest.raises(ValueError, match=r"does not match shape=\(4, 3\)"):
        as_operator(np.ones((5, 3, 4)), (4, 3))
    with pytest.raises(ValueError, match=r"differs from the operator's shape \(3, 4\)"):
        as_operator(as_operator(np.ones((5, 3, 4))), (4, 3))


def test_operator_is_returned_unchanged() -> None:
    operator = as_operator(np.ones((5, 3, 4)))
    assert as_operator(operator) is operator
    assert as_operator(operator, (3, 4)) is operator


def test_large_finite_sensing_data_is_accepted() -> None:
    assert as_operator(np.full((3, 4, 5), 1e308)).measurements == 3
