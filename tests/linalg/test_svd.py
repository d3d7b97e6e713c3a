"""Leading singular triplets of arrays: dense, by the Lanczos method, and of invalid matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision, like, to_numpy
from robustrank.linalg import leading_svd, leading_svd_by_products


def test_large_svd_agrees_with_the_dense_one() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((700, 5)) @ rng.standard_normal((5, 650))
    G += 0.01 * rng.standard_normal(G.shape)
    left, values, right = leading_svd(G, 5, rng)
    dense = np.linalg.svd(G, compute_uv=False)[:5]
    assert np.allclose(values, dense, rtol=1e-10)
    assert np.allclose(G @ right, left * values, atol=1e-8 * dense[0])
    assert left.shape == (700, 5)
    assert right.shape == (650, 5)


def test_leading_triplets_of_a_sum(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(1)
    G, U, V = (rng.standard_normal(s).astype(dtype) for s in ((8, 6), (8, 2), (6, 2)))
    with full_precision(xp.asarray(G)):
        triplets = leading_svd(xp.asarray(G), 3, rng, plus=(xp.asarray(U), xp.asarray(V)))
    assert all(like(part) == like(xp.asarray(G)) for part in triplets)
    left, values, right = (to_numpy(part) for part in triplets)
    u, s, vt = np.linalg.svd(G + U @ V.T)
    assert np.allclose(values, s[:3], rtol=1e-5)
    best = (u[:, :3] * s[:3]) @ vt[:3]
    assert np.allclose((left * values) @ right.T, best, atol=1e-4)


def test_svd_of_a_batch_agrees_with_each_matrix(xp: Any) -> None:
    rng = np.random.default_rng(2)
    G = rng.standard_normal((3, 7, 5))
    G[1, 0, 0] = math.nan
    left, values, right = (to_numpy(part) for part in leading_svd(xp.asarray(G), 2, rng))
    for k in (0, 2):
        u, s, vt = np.linalg.svd(G[k])
        assert np.allclose(values[k], s[:2])
        assert np.allclose((left[k] * values[k]) @ right[k].T, (u[:, :2] * s[:2]) @ vt[:2])
    assert np.isnan(values[1]).all()  # only of the matrix that is not finite


def test_svd_of_a_non_finite_matrix_is_nan(xp: Any) -> None:
    left, values, right = leading_svd(
        xp.asarray([[1.0, math.inf], [0.0, 1.0]]), 1, np.random.default_rng(0)
    )
    assert all(bool(xp.all(xp.isnan(part))) for part in (left, values, right))


def test_approximate_svd_of_close_singular_values() -> None:
    """Three large singular values, and many that are close to each other."""
    rng = np.random.default_rng(3)
    G = rng.standard_normal((700, 3)) @ rng.standard_normal((3, 650))
    G += rng.standard_normal(G.shape)
    left, values, right = leading_svd_by_products(
        lambda V: G @ V, lambda U: G.T @ U, (700, 650), 6, rng, G[0], approximate=True
    )
    dense = np.linalg.svd(G, compute_uv=False)
    assert np.allclose(values[:3], dense[:3], rtol=1e-6)
    assert np.allclose(values[3:], dense[3:6], rtol=0.1)
    assert np.allclose(left.T @ left, np.eye(6), atol=1e-10)
    assert np.allclose(right.T @ right, np.eye(6), atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(150, 120), (90, 160)])
def test_approximate_triplets_of_a_matrix_with_noise(shape: tuple[int, int], dtype: str) -> None:
    """As good as the exact ones where singular values stand out, and never larger."""
    rng = np.random.default_rng(4)
    n1, n2 = shape
    signal = rng.standard_normal((n1, 3)) @ rng.standard_normal((3, n2))
    G = (signal + rng.standard_normal(shape)).astype(dtype)
    exact = leading_svd(G, 5, rng)
    left, values, right = leading_svd(G, 5, rng, approximate=True)
    assert not np.array_equal(values, exact[1])  # it is another method
    assert values.dtype == dtype
    assert np.allclose(values[:3], exact[1][:3], rtol=1e-5)
    assert np.all(values <= exact[1] * (1 + 1e-5))
    assert np.all(values[3:] > 0.8 * exact[1][3:])
    for ours, theirs in ((left, exact[0]), (right, exact[2])):
        assert np.allclose(ours.T @ ours, np.eye(5), atol=1e-5)
        aligned = np.linalg.svd(ours[:, :3].T @ theirs[:, :3], compute_uv=False)
        assert np.all(aligned > 1 - 1e-4)


def test_small_matrices_and_other_libraries_are_decomposed_exactly(xp: Any) -> None:
    rng = np.random.default_rng(5)
    for shape in ((30, 20), (150, 120)):
        G = xp.asarray(rng.standard_normal(shape))
        if isinstance(G, np.ndarray) and shape == (150, 120):
            continue
        with full_precision(G):
            values = to_numpy(leading_svd(G, 2, rng, approximate=True)[1])
        assert np.allclose(values, np.linalg.svd(to_numpy(G), compute_uv=False)[:2], rtol=1e-5)


def test_approximate_triplets_of_a_non_finite_matrix_are_nan() -> None:
    G = np.ones((150, 120))
    G[3, 4] = math.inf
    triplets = leading_svd(G, 3, np.random.default_rng(0), approximate=True)
    assert all(np.all(np.isnan(part)) for part in triplets)
