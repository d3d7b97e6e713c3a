"""What tests share: array libraries, precisions and small planted problems."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

os.environ["JAX_ENABLE_X64"] = "1"  # before JAX is loaded; robustrank itself flips no global
from hypothesis import settings

from robustrank.simulate import Planted, plant

settings.register_profile("robustrank", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("robustrank")

# Module and device. ``strict`` refuses everything outside the array API standard.
BACKENDS = {
    "numpy": ("numpy", None),
    "strict": ("array_api_strict", None),
    "torch": ("torch", "cpu"),
    "jax": ("jax.numpy", "cpu"),
}
CARDS = {"torch-cuda": ("torch", "cuda"), "jax-cuda": ("jax.numpy", "cuda"), "cupy": ("cupy", None)}


class Library:
    """An array library whose arrays are made on one device."""

    def __init__(self, module: str, device: str | None) -> None:
        self._xp = pytest.importorskip(module)
        self._device: Any = device
        if module == "jax.numpy":
            jax = importlib.import_module("jax")
            try:
                self._device = jax.devices(device)[0]
            except RuntimeError:
                pytest.skip(f"JAX has no {device}")
        elif device == "cuda" and not self._xp.cuda.is_available():
            pytest.skip("PyTorch sees no CUDA device")

    def asarray(self, values: Any, **given: Any) -> Any:
        """An array on the device."""
        if self._device is not None:
            given["device"] = self._device
        return self._xp.asarray(values, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xp, name)


@pytest.fixture(params=[*BACKENDS, *(pytest.param(name, marks=pytest.mark.gpu) for name in CARDS)])
def xp(request: pytest.FixtureRequest) -> Any:
    """An array library, on the CPU or, where there is one and ``-m gpu`` asks for it, on a card."""
    return Library(*(BACKENDS | CARDS)[request.param])


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def small() -> Planted:
    """An easy problem: 20 × 15, rank 2, 400 measurements, 5 % huge outliers."""
    return plant(20, 15, 2, 400, outliers=0.05, rng=11)
