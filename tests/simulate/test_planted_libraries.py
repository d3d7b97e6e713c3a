"""Problems planted by PyTorch, JAX and CuPy: the same matrix and outliers as with NumPy."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import to_numpy
from robustrank.simulate import plant

LIBRARIES = [
    ("torch", None),
    ("torch", "cpu"),
    ("jax", None),
    pytest.param("torch", "cuda", marks=pytest.mark.gpu),
    pytest.param("jax", "cuda", marks=pytest.mark.gpu),
    pytest.param("cupy", None, marks=pytest.mark.gpu),
]


@pytest.mark.parametrize(("library", "device"), LIBRARIES)
def test_library_plants_the_same_matrix_and_outliers(
    library: str, device: str | None, dtype: str
) -> None:
    pytest.importorskip(library)
    options: dict[str, Any] = {"outliers": 0.05, "dtype": dtype, "library": library, "rng": 5}
    reported: list[float] = []
    planted = plant(20, 15, 2, 400, device=device, progress=reported.append, **options)
    assert reported == [1.0]
    again = plant(20, 15, 2, 400, device=device, **options)
    host = plant(20, 15, 2, 400, outliers=0.05, dtype=dtype, rng=5)
    A = to_numpy(planted.A)
    assert A.dtype == to_numpy(planted.y).dtype == dtype
    assert np.array_equal(A, to_numpy(again.A))
    assert np.array_equal(planted.left, host.left)
    assert np.array_equal(planted.right, host.right)
    assert np.array_equal(planted.outliers, host.outliers)
    assert abs(float(A.mean())) < 0.02
    assert float(A.std()) == pytest.approx(1, abs=0.02)
    expected = np.einsum("ijk,jk->i", A.astype(float), planted.matrix)
    clean = ~planted.outliers
    assert np.allclose(to_numpy(planted.y)[clean], expected[clean], rtol=1e-4, atol=1e-5)
    assert rr.recover(planted.A, planted.y, 2).status is rr.Status.RECOVERED


def test_unsupported_combinations_raise() -> None:
    with pytest.raises(ValueError, match="device='cuda' is not supported for NumPy arrays"):
        plant(4, 3, 1, 20, device="cuda")
    with pytest.raises(TypeError, match="dtype=int64 is not supported; expected float32 or"):
        plant(4, 3, 1, 20, dtype="int64")
    with pytest.raises(ValueError, match="library='tensorflow' is not known; expected one of"):
        plant(4, 3, 1, 20, library="tensorflow")
    with pytest.raises(ValueError, match="out is supported for NumPy only"):
        plant(4, 3, 1, 20, library="torch", out=np.empty((20, 4, 3)))
    if importlib.util.find_spec("cupy") is None:
        with pytest.raises(ImportError, match="install it with: pip install cupy-cuda12x"):
            plant(4, 3, 1, 20, library="cupy")
