"""What tests share: array libraries, precisions and small planted problems."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import settings

from robustrank.simulate import Planted, plant

settings.register_profile("robustrank", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("robustrank")

BACKENDS = {"numpy": np, "strict": array_api_strict}


@pytest.fixture(params=list(BACKENDS))
def xp(request: pytest.FixtureRequest) -> Any:
    """An array library; ``strict`` refuses everything outside the array API standard."""
    return BACKENDS[request.param]


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def small() -> Planted:
    """An easy problem: 20 × 15, rank 2, 400 measurements, 5 % huge outliers."""
    return plant(20, 15, 2, 400, outliers=0.05, rng=11)
