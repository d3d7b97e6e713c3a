"""Planted problems: a known low-rank matrix, its measurements, and outliers of many kinds."""

from robustrank.simulate.outliers import OUTLIER_MODELS
from robustrank.simulate.planted import Planted, plant

__all__ = ["OUTLIER_MODELS", "Planted", "plant"]
