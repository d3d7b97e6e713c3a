"""Shrinkage of singular values: its error against the best possible, its divergence measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from robustrank.solvers.message_passing.shrinkage import shrink

Array = np.ndarray[Any, Any]


def noisy_matrix(
    rng: np.random.Generator, shape: tuple[int, int], values: list[float]
) -> tuple[Array, Array]:
    """A matrix with the given singular values, without and with standard normal noise."""
    left, right = (np.linalg.qr(rng.standard_normal((n, len(values))))[0] for n in shape)
    clean = (left * np.asarray(values)) @ right.T
    return clean, clean + rng.standard_normal(shape)


def denoised(matrix: Array, rank: int) -> Array:
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    shrunk = shrink(s[:rank], np.asarray(1.0), matrix.shape).values
    return np.asarray((u[:, :rank] * shrunk) @ vt[:rank])


@pytest.mark.parametrize("shape", [(150, 120), (120, 150), (200, 30)])
def test_shrinkage_is_close_to_the_best_scaling_of_the_singular_values(
    shape: tuple[int, int],
) -> None:
    clean, noisy = noisy_matrix(np.random.default_rng(1), shape, [60.0, 40.0, 33.0])
    error = np.linalg.norm(denoised(noisy, 3) - clean)
    u, s, vt = np.linalg.svd(noisy, full_matrices=False)
    best = np.diag(u[:, :3].T @ clean @ vt[:3].T)  # the best scaling if the truth is known
    assert error < 1.01 * np.linalg.norm((u[:, :3] * best) @ vt[:3] - clean)
    assert error < 0.97 * np.linalg.norm((u[:, :3] * s[:3]) @ vt[:3] - clean)


def test_values_below_the_noise_become_zero() -> None:
    edge = math.sqrt(150) + math.sqrt(120)
    values = shrink(np.asarray([1.5 * edge, 0.999 * edge]), np.asarray(1.0), (150, 120)).values
    assert values[0] > 0
    assert values[1] == 0


@pytest.mark.parametrize("values", [[60.0, 40.0, 33.0], [50.0, 50.0, 50.0], [60.0, 40.0, 2.0]])
@pytest.mark.parametrize("shape", [(150, 120), (200, 40)])
def test_divergence_equals_that_of_the_denoiser(
    shape: tuple[int, int], values: list[float]
) -> None:
    rng = np.random.default_rng(2)
    _, noisy = noisy_matrix(rng, shape, values)
    leading = np.linalg.svd(noisy, compute_uv=False)[:3]
    divergence = float(shrink(leading, np.asarray(1.0), shape).divergence)
    step, probes = 1e-4, rng.standard_normal((40, *shape))
    differences = [
        (probe * (denoised(noisy + step * probe, 3) - denoised(noisy - step * probe, 3))).sum()
        for probe in probes
    ]
    assert divergence == pytest.approx(np.mean(differences) / (2 * step), rel=0.06)


def test_divergence_at_equal_values_is_the_limit() -> None:
    apart, equal = (
        float(shrink(np.asarray([50.0 + gap, 50.0]), np.asarray(1.0), (150, 120)).divergence)
        for gap in (1e-2, 0.0)
    )
    assert equal == pytest.approx(apart, rel=1e-3)


def test_batched_shrinkage_equals_that_of_each_problem() -> None:
    values = np.asarray([[60.0, 40.0, 33.0], [90.0, 30.0, 2.0]])
    noise = np.asarray([1.0, 1.3])
    together = shrink(values, noise, (150, 120))
    for k in range(2):
        alone = shrink(values[k], noise[k], (150, 120))
        assert np.allclose(together.values[k], alone.values)
        assert np.allclose(together.divergence[k], alone.divergence)
