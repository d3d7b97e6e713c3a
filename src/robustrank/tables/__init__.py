"""Tables without an exact rank: a robust normal model of their rows."""

from robustrank.tables.clean_table import (
    CleanTable,
    RowScores,
    known_moments,
    mostly_wrong,
    noise_variances,
)
from robustrank.tables.factors import MANY
from robustrank.tables.few_factors import few_factors
from robustrank.tables.held_out import HeldOut, held_out, left_out_errors
from robustrank.tables.model import (
    Explained,
    TableModel,
    first_model,
    fit_table,
    model_of,
    refitted,
    share,
    typical_error,
)
from robustrank.tables.normal import Normal
from robustrank.tables.streaming import TableStream, recent_weights
from robustrank.tables.units import Indices, Mask, Units, Values, first_units, robust_units

__all__ = [
    "MANY",
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
    "few_factors",
    "first_model",
    "first_units",
    "fit_table",
    "held_out",
    "known_moments",
    "left_out_errors",
    "model_of",
    "mostly_wrong",
    "noise_variances",
    "recent_weights",
    "refitted",
    "robust_units",
    "share",
    "typical_error",
]
