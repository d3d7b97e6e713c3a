"""Noise models: how large the noise of each measurement is, relative to that of the others.

The weights of least squares, the evidence, the certificate and the error bars ask a noise model for
these sizes; nothing else assumes what noise is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from robustrank.backend import Array, namespace


class NoiseModel(ABC):
    """What the size of the noise of a measurement depends on."""

    name: ClassVar[str]

    @abstractmethod
    def sizes(self, prediction: Array, row_factors: Array) -> Array:
        """The relative standard deviation of the noise of each measurement, (m,).

        It is in units in which all A_i have the same norm: the measurements as they were given,
        times ``row_factors``. ``prediction`` is in these units, too.
        """


@dataclass(frozen=True)
class ProportionalNoise(NoiseModel):
    """Noise in proportion to ‖A_i‖: each A_i has been scaled, and its measurement with it."""

    name: ClassVar[str] = "proportional"

    def sizes(self, prediction: Array, row_factors: Array) -> Array:
        return namespace(prediction).ones_like(prediction)


@dataclass(frozen=True)
class EqualNoise(NoiseModel):
    """Noise of the same size for all measurements as they were given."""

    name: ClassVar[str] = "equal"

    def sizes(self, prediction: Array, row_factors: Array) -> Array:
        return row_factors


PROPORTIONAL, EQUAL = ProportionalNoise(), EqualNoise()
NOISE_MODELS: dict[str, NoiseModel] = {model.name: model for model in (PROPORTIONAL, EQUAL)}
