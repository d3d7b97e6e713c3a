"""Whether residuals look like noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from completion_samples import planted_sample

from robustrank.completion.held_out import (
    largest_structure_of_noise,
    residual_structure,
)


def test_structure_is_relative_to_random_signs() -> None:
    """Equal residuals have the singular value √(n1 n2); with random signs, about √n1 + √n2."""
    _, sample = planted_sample(64, 36, 1, 64 * 36)
    rng = np.random.default_rng(1)
    found = residual_structure(sample, np.full(64 * 36, 3.0), rng)
    assert found == pytest.approx(math.sqrt(64 * 36) / (8 + 6), rel=0.08)


@pytest.mark.parametrize("shape", [(20, 15), (100, 80), (300, 20)])
def test_noise_stays_below_the_threshold(shape: tuple[int, int]) -> None:
    n1, n2 = shape
    _, sample = planted_sample(n1, n2, 1, n1 * n2)
    rng = np.random.default_rng(1)
    limit = largest_structure_of_noise(shape)
    for _ in range(5):
        assert residual_structure(sample, rng.standard_normal(n1 * n2), rng) < limit
    # A component of the size of the largest singular value of the noise is found.
    size = 2 * (math.sqrt(n1) + math.sqrt(n2)) / math.sqrt(n1 * n2)
    assert residual_structure(sample, rng.standard_normal(n1 * n2) + size, rng) > limit


def test_threshold_decreases_to_one() -> None:
    limits = [largest_structure_of_noise((n, n)) for n in (20, 200, 2000, 200_000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] > 1.1
    assert limits[-1] == pytest.approx(1, abs=1e-3)
