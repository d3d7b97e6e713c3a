"""The one room that knows array libraries.

Everything numeric is written against the array API standard; what the standard lacks is here, once.
"""

from robustrank.backend.arguments import Seed, as_generator, check_count, check_positive
from robustrank.backend.arrays import (
    Array,
    Namespace,
    check_same_place,
    epsilon,
    library,
    like,
    namespace,
    refuse_masked,
    to_numpy,
)
from robustrank.backend.cards import (
    Card,
    ReducedPrecisionWarning,
    cards,
    explained_shortage,
    free_memory,
    full_precision,
    move,
    on_card,
    overlapped,
    recorded,
)
from robustrank.backend.libraries import LIBRARIES, load_library, standard_normal
from robustrank.backend.numerics import (
    diagonal_times,
    frobenius_norm,
    leading_svd,
    left_times,
    lower_median,
    quantile_index,
    sample_quantile,
    solve_positive,
    spectral_norm,
    times,
)

__all__ = [
    "LIBRARIES",
    "Array",
    "Card",
    "Namespace",
    "ReducedPrecisionWarning",
    "Seed",
    "as_generator",
    "cards",
    "check_count",
    "check_positive",
    "check_same_place",
    "diagonal_times",
    "epsilon",
    "explained_shortage",
    "free_memory",
    "frobenius_norm",
    "full_precision",
    "leading_svd",
    "left_times",
    "library",
    "like",
    "load_library",
    "lower_median",
    "move",
    "namespace",
    "on_card",
    "overlapped",
    "quantile_index",
    "recorded",
    "refuse_masked",
    "sample_quantile",
    "solve_positive",
    "spectral_norm",
    "standard_normal",
    "times",
    "to_numpy",
]
