"""The zoo: what a corrupted measurement can look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class OutlierContext:
    """What an outlier model may look at: the measurements to corrupt and their surroundings."""

    clean: Values  # what would have been measured, one value per outlier
    impostor: Values  # what another matrix of the same rank and norm would have given
    norm: float  # ‖M‖_F, the standard deviation of a Gaussian measurement
    rng: np.random.Generator

    def normal(self) -> Values:
        """Standard normal numbers, one per outlier."""
        return self.rng.standard_normal(len(self.clean))


@dataclass(frozen=True)
class OutlierModel:
    """A named way for measurements to go wrong."""

    description: str
    corrupt: Callable[[OutlierContext], Values]


OUTLIER_MODELS: Mapping[str, OutlierModel] = {
    "huge": OutlierModel(
        "the paper's: normal with standard deviation 100‖M‖",
        lambda context: 100 * context.norm * context.normal(),
    ),
    "scale": OutlierModel(
        "normal numbers of the measurements' own scale ‖M‖",
        lambda context: context.norm * context.normal(),
    ),
    "impostor": OutlierModel(
        "measurements of another matrix of the same rank and norm",
        lambda context: context.impostor,
    ),
    "constant": OutlierModel(
        "a stuck sensor: always 5‖M‖",
        lambda context: np.full_like(context.clean, 5 * context.norm),
    ),
    "flip": OutlierModel(
        "the right measurement with the wrong sign",
        lambda context: -context.clean,
    ),
    "cauchy": OutlierModel(
        "Cauchy numbers of scale ‖M‖: most ordinary, some enormous",
        lambda context: context.norm * context.rng.standard_cauchy(len(context.clean)),
    ),
    "one-sided": OutlierModel(
        "pushed upwards by half-normal amounts of scale 10‖M‖",
        lambda context: context.clean + 10 * context.norm * np.abs(context.normal()),
    ),
}
