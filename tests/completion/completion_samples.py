"""Samples that several tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.completion import Sample
from robustrank.operators import Entries
from robustrank.simulate import PlantedEntries, plant_entries

Vector = np.ndarray[Any, Any]


def sample_of(planted: PlantedEntries) -> Sample:
    """The sample of a planted problem."""
    return Sample.of(Entries(planted.rows, planted.columns, planted.shape), planted.values)


def planted_sample(
    n1: int = 40, n2: int = 30, rank: int = 2, entries: int = 700, **options: Any
) -> tuple[PlantedEntries, Sample]:
    """A planted problem, and its sample."""
    planted = plant_entries(n1, n2, rank, entries, **{"rng": 1} | options)
    return planted, sample_of(planted)


def in_row_order(planted: PlantedEntries, values: Vector) -> Vector:
    """Values of the entries of a planted problem in the order of the rows."""
    return values[Entries(planted.rows, planted.columns, planted.shape).row_order]
