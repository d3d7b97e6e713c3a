"""``complete`` with arrays on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import library, on_gpu, to_numpy
from robustrank.simulate import plant_entries


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_arrays_on_a_gpu_stay_there(name: str, noise: float) -> None:
    module = pytest.importorskip(name)
    problem = plant_entries(60, 50, 2, 1500, outliers=0.1, noise=noise, rng=1)
    X = problem.incomplete
    given = module.asarray(X, device="cuda") if name == "torch" else module.asarray(X)
    result, expected = rr.complete(given), rr.complete(X)
    assert result.status is expected.status
    assert {library(part) for part in (result.left, result.right, result.outliers)} == {name}
    assert on_gpu(result.left)
    matrix = to_numpy(result.left) @ to_numpy(result.right).T
    np.testing.assert_allclose(matrix, expected.matrix, atol=1e-6 if noise == 0 else 0.05)
    assert to_numpy(result.predict([0, 1], [2, 3])) == pytest.approx(matrix[[0, 1], [2, 3]])
