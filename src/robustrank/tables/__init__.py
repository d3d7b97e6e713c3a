"""Tables without an exact rank: a robust normal model of their rows."""

from robustrank.tables.clean_table import (
    CleanTable,
    RowScores,
    known_moments,
    mostly_wrong,
    noise_variances,
)
from robustrank.tables.held_out import HeldOut, held_out
from robustrank.tables.model import (
    Explained,
    TableModel,
    first_model,
    fit_table,
    share,
    typical_error,
)
from robustrank.tables.normal import Normal
from robustrank.tables.streaming import TableStream, recent_weights
from robustrank.tables.units import Indices, Mask, Units, Values, first_units, robust_units

__all__ = [
    "CleanTable",
    "Explained",
    "HeldOut",
    "Indices",
    "Mask",
    "Normal",
    "RowScores",
    "TableModel",
    "TableStream",
    "Units",
    "Values",
    "first_model",
    "first_units",
    "fit_table",
    "held_out",
    "known_moments",
    "mostly_wrong",
    "noise_variances",
    "recent_weights",
    "robust_units",
    "share",
    "typical_error",
]
