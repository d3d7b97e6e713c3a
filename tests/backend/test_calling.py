"""A warning points at the line of the user, whatever was called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.simulate import Planted

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "recover": lambda A, y: rr.recover(A, y, 2, time_limit=1e-6),
    "recover without keywords": lambda A, y: rr.recover(A, y, 2, solver="gauss-newton"),
    "recover_many": lambda A, y: [*rr.recover_many([(A, y)], 2, solver="gauss-newton")],
    "Problem": lambda A, y: rr.solvers.Problem(rr.operators.as_operator(A), y, 2),
}


@pytest.mark.parametrize("call", CALLS)
def test_too_few_measurements_point_at_the_caller(call: str, small: Planted) -> None:
    with pytest.warns(rr.UndersampledWarning) as caught:
        CALLS[call](small.A[:60], small.y[:60])
    assert {warning.filename for warning in caught} == {__file__}
    line = inspect.getsourcelines(CALLS[call])[1]
    assert caught[0].lineno == line


def test_reduced_precision_points_at_the_caller(small: Planted) -> None:
    torch = pytest.importorskip("torch")
    A, y = (torch.asarray(part.astype(np.float32)) for part in (small.A, small.y))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.warns(rr.ReducedPrecisionWarning) as caught:
            rr.recover(A, y, 2)
    finally:
        torch.set_float32_matmul_precision(before)
    assert {warning.filename for warning in caught} == {__file__}
