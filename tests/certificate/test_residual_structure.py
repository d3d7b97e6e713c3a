"""Whether residuals look like noise, and what the certificate concludes from that."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate import (
    STRUCTURED,
    largest_structure_of_noise,
    residual_structure,
    with_random_signs,
)


def structure(residual: Any, shape: tuple[int, int], labels: Any = None) -> float:
    """That of a matrix without missing entries."""

    drawn = with_random_signs(residual, np.random.default_rng(1), labels)
    return residual_structure([float(np.linalg.norm(one.reshape(shape), 2)) for one in drawn])


def test_structure_is_relative_to_random_signs() -> None:
    """Equal residuals have the singular value √(n1 n2); with random signs, about √n1 + √n2."""
    found = structure(np.full(64 * 36, 3.0), (64, 36))
    assert found == pytest.approx(math.sqrt(64 * 36) / (8 + 6), rel=0.08)


@pytest.mark.parametrize("shape", [(20, 15), (100, 80), (300, 20)])
def test_noise_stays_below_the_threshold(shape: tuple[int, int]) -> None:
    n1, n2 = shape
    rng = np.random.default_rng(1)
    limit = largest_structure_of_noise(shape)
    for _ in range(5):
        assert structure(rng.standard_normal(n1 * n2), shape) < limit
    # A component of the size of the largest singular value of the noise is found.
    size = 2 * (math.sqrt(n1) + math.sqrt(n2)) / math.sqrt(n1 * n2)
    assert structure(rng.standard_normal(n1 * n2) + size, shape) > limit


def test_repetitions_have_the_same_sign() -> None:
    """Equal columns are one measurement each; with signs of their own, they would be structure."""
    noise = np.repeat(np.random.default_rng(2).standard_normal(400), 50)
    labels = np.repeat(np.arange(400), 50)
    assert structure(noise, (400, 50), labels) == pytest.approx(1)
    assert structure(noise, (400, 50)) > largest_structure_of_noise((400, 50))


def test_threshold_decreases_to_one() -> None:
    limits = [largest_structure_of_noise((n, n)) for n in (20, 200, 2000, 200_000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] > 1.1
    assert limits[-1] == pytest.approx(1, abs=1e-3)


def weak_component(seed: int) -> tuple[Any, Any, Any]:
    """Measurements of a matrix of rank two, whose second component is weak."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (30, 25))
    M = (left * [1.0, 0.08]) @ right.T
    A = rng.standard_normal((400, 30, 25))
    y = np.einsum("kij,ij->k", A, M)
    return M, A, y + 0.005 * rng.standard_normal(400)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_rank_that_is_given_too_low_is_not_certified(seed: int) -> None:
    """The missing component looks like noise in single residuals, but not in all together."""
    M, A, y = weak_component(seed)
    low = rr.recover(A, y, rank=1)
    assert low.status is rr.Status.INCONCLUSIVE
    assert STRUCTURED in low.certificate.objections
    right = rr.recover(A, y, rank=2)
    assert right.status is rr.Status.ESTIMATED
    assert right.certificate.structure < largest_structure_of_noise(M.shape)
    assert np.linalg.norm(right.matrix - M) < 0.02 * np.linalg.norm(M)


def test_the_stated_error_does_not_depend_on_the_size_of_an_outlier_row() -> None:
    """A rejected measurement with a large A_i has little relative noise, but is not in the fit."""
    rng = np.random.default_rng(4)
    M = rng.standard_normal((20, 1)) @ rng.standard_normal((1, 15))
    A = rng.standard_normal((300, 20, 15)) * rng.lognormal(0, 1, (300, 1, 1))
    y = np.einsum("kij,ij->k", A, M) + 0.05 * rng.standard_normal(300)
    largest = 30 * A[np.argmax(np.linalg.norm(A, axis=(1, 2)))]
    stated = []
    for extra, value in ((A[:1], y[:1]), (largest[None], [1e6])):
        result = rr.recover(np.concatenate([A, extra]), np.concatenate([y, value]), rank=1)
        assert result.status is rr.Status.ESTIMATED
        assert not result.noise_model.of_rows
        stated.append(result.certificate.matrix_error)
    assert stated[1] == pytest.approx(stated[0], rel=0.1)
