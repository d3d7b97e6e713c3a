"""Planted problems: measurements or entries of a known low-rank matrix, with known outliers."""

from robustrank.simulate.entries import ENTRY_OUTLIER_MODELS, PlantedEntries, plant_entries
from robustrank.simulate.outliers import OUTLIER_MODELS, find_outlier_model
from robustrank.simulate.planted import Planted, plant, plant_seeded
from robustrank.simulate.streams import sensing_seed

__all__ = [
    "ENTRY_OUTLIER_MODELS",
    "OUTLIER_MODELS",
    "Planted",
    "PlantedEntries",
    "find_outlier_model",
    "plant",
    "plant_entries",
    "plant_seeded",
    "sensing_seed",
]
