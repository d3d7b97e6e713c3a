"""Outlier models: the values of the corrupted measurements of a planted problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class OutlierContext:
    """What an outlier model may depend on; arrays have one value per corrupted measurement."""

    clean: Values  # the measurements before corruption
    impostor: Values  # the measurements of another matrix of the same rank and norm
    norm: float  # ‖M‖_F, the standard deviation of a Gaussian measurement
    rng: np.random.Generator

    def normal(self) -> Values:
        """Standard normal numbers, one per outlier."""
        return self.rng.standard_normal(len(self.clean))


@dataclass(frozen=True)
class OutlierModel:
    """The distribution of the corrupted measurements."""

    description: str
    corrupt: Callable[[OutlierContext], Values]


OUTLIER_MODELS: Mapping[str, OutlierModel] = {
    "huge": OutlierModel(
        "normal with standard deviation 100‖M‖, as in the paper",
        lambda context: 100 * context.norm * context.normal(),
    ),
    "scale": OutlierModel(
        "normal with standard deviation ‖M‖, like the measurements",
        lambda context: context.norm * context.normal(),
    ),
    "impostor": OutlierModel(
        "measurements of another matrix of the same rank and norm",
        lambda context: context.impostor,
    ),
    "constant": OutlierModel(
        "a stuck sensor: the constant 5‖M‖",
        lambda context: np.full_like(context.clean, 5 * context.norm),
    ),
    "flip": OutlierModel(
        "the clean measurement with the opposite sign",
        lambda context: -context.clean,
    ),
    "cauchy": OutlierModel(
        "Cauchy with scale ‖M‖, so that a few are extremely large",
        lambda context: context.norm * context.rng.standard_cauchy(len(context.clean)),
    ),
    "one-sided": OutlierModel(
        "the clean measurement plus a half-normal error of scale 10‖M‖",
        lambda context: context.clean + 10 * context.norm * np.abs(context.normal()),
    ),
}
