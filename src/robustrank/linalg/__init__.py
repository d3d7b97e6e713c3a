"""Numerical linear algebra written once for all array libraries."""

from robustrank.linalg.conjugate_gradients import conjugate_gradient_iterates
from robustrank.linalg.least_squares import (
    damped_least_squares,
    null_directions,
    plain_least_squares,
    solve_directly,
    solve_normal_equations,
    unit_leverages,
)
from robustrank.linalg.norms import frobenius_norm, spectral_norm
from robustrank.linalg.products import matvec, scale_columns, vecmat, weighted
from robustrank.linalg.quantiles import (
    lower_median,
    median_of_selected,
    quantile_index,
    sample_quantile,
    shortest_half,
)
from robustrank.linalg.retraction import Point, distance, point_of, retract, symmetric_factors
from robustrank.linalg.svd import (
    Factors,
    Triplets,
    approximate_svd_by_products,
    leading_svd,
    leading_svd_by_products,
)
from robustrank.linalg.tangent_functions import (
    admissible,
    blocks_of,
    normal_matrix,
    quadratic_forms,
    row_blocks,
    share_counts,
    share_maxima,
)
from robustrank.linalg.tangent_map import Shares, TangentMap, as_vector, from_vector
from robustrank.linalg.tangent_view import TangentView, scattered

__all__ = [
    "Factors",
    "Point",
    "Shares",
    "TangentMap",
    "TangentView",
    "Triplets",
    "admissible",
    "approximate_svd_by_products",
    "as_vector",
    "blocks_of",
    "conjugate_gradient_iterates",
    "damped_least_squares",
    "distance",
    "frobenius_norm",
    "from_vector",
    "leading_svd",
    "leading_svd_by_products",
    "lower_median",
    "matvec",
    "median_of_selected",
    "normal_matrix",
    "null_directions",
    "plain_least_squares",
    "point_of",
    "quadratic_forms",
    "quantile_index",
    "retract",
    "row_blocks",
    "sample_quantile",
    "scale_columns",
    "scattered",
    "share_counts",
    "share_maxima",
    "shortest_half",
    "solve_directly",
    "solve_normal_equations",
    "spectral_norm",
    "symmetric_factors",
    "unit_leverages",
    "vecmat",
    "weighted",
]
