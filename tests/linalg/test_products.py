"""Products over leading axes, and weights that remove infinite values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from robustrank.backend import to_numpy
from robustrank.linalg import matvec, scale_columns, vecmat, weighted


@pytest.mark.parametrize("leading", [(), (3,)])
def test_products_agree_with_einsum(xp: Any, leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, x, y = (rng.standard_normal((*leading, *shape)) for shape in ((5, 4), (4,), (5,)))
    products = {
        "...ij,...j->...i": (matvec(xp.asarray(A), xp.asarray(x)), (A, x)),
        "...i,...ij->...j": (vecmat(xp.asarray(y), xp.asarray(A)), (y, A)),
        "...ij,...j->...ij": (scale_columns(xp.asarray(A), xp.asarray(x)), (A, x)),
    }
    for subscripts, (found, factors) in products.items():
        assert np.allclose(to_numpy(found), np.einsum(subscripts, *factors))


def test_zero_weight_removes_an_infinite_value(xp: Any) -> None:
    values = xp.asarray([2.0, math.inf, -math.inf, 4.0])
    weights = xp.asarray([0.5, 0.0, 0.0, 1.0])
    assert to_numpy(weighted(values, weights)).tolist() == [1.0, 0.0, 0.0, 4.0]
