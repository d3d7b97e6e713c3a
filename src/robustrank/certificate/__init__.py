"""Can the result be trusted? Everything that answers this question is in this package.

``count`` counts exact fits and estimates the noise level, ``examine`` tests whether the fitted
measurements determine every part of the matrix. Both list what speaks against the result;
``result.conclude`` turns that into a status. They use only the residuals, the inliers and the
reason for stopping of a solver, none of its own estimates.
"""

from robustrank.certificate.conclusion import (
    HELD_OUT_LIMIT,
    NOISE_LIMIT,
    NOT_NOISE,
    STRUCTURED,
    UNTESTED,
    Fit,
    count,
    examine,
    noise_objections,
    untested,
)
from robustrank.certificate.determination import (
    NEGLIGIBLE,
    error_per_deviation,
    undetermined_part,
)
from robustrank.certificate.evidence import (
    CLEARLY,
    MARGIN,
    NoiseStatistics,
    best_set,
    beyond_use,
    enough_fits,
    error_bound,
    exact_fits,
    exact_tolerance,
    is_exact_fit,
    largest_structure_of_noise,
    log_choices,
    noise_statistics,
    relative_tolerance,
    required_fits,
    residual_structure,
    with_random_signs,
)
from robustrank.certificate.held_out import leave_out_folds
from robustrank.certificate.parts import groups_with_majority, name_parts, repetitions
from robustrank.certificate.rank_check import (
    FEW_INLIERS,
    edge_of_noise,
    rank_above_noise,
    rank_may_be_too_low,
)
from robustrank.certificate.support import (
    BEYOND_CHANCE,
    COMPARABLE,
    EXTRA,
    OPPOSITE,
    Support,
    supported_part,
)

__all__ = [
    "BEYOND_CHANCE",
    "CLEARLY",
    "COMPARABLE",
    "EXTRA",
    "FEW_INLIERS",
    "HELD_OUT_LIMIT",
    "MARGIN",
    "NEGLIGIBLE",
    "NOISE_LIMIT",
    "NOT_NOISE",
    "OPPOSITE",
    "STRUCTURED",
    "UNTESTED",
    "Fit",
    "NoiseStatistics",
    "Support",
    "best_set",
    "beyond_use",
    "count",
    "edge_of_noise",
    "enough_fits",
    "error_bound",
    "error_per_deviation",
    "exact_fits",
    "exact_tolerance",
    "examine",
    "groups_with_majority",
    "is_exact_fit",
    "largest_structure_of_noise",
    "leave_out_folds",
    "log_choices",
    "name_parts",
    "noise_objections",
    "noise_statistics",
    "rank_above_noise",
    "rank_may_be_too_low",
    "relative_tolerance",
    "repetitions",
    "required_fits",
    "residual_structure",
    "supported_part",
    "undetermined_part",
    "untested",
    "with_random_signs",
]
