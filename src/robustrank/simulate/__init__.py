"""Planted problems: measurements of a known low-rank matrix, with known outliers."""

from robustrank.simulate.outliers import OUTLIER_MODELS, find_outlier_model
from robustrank.simulate.planted import Planted, plant

__all__ = ["OUTLIER_MODELS", "Planted", "find_outlier_model", "plant"]
