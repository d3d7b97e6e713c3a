"""Can the result be trusted? Everything that answers this question is in this package.

``certify`` counts exact fits, estimates the noise level, tests whether the fitted measurements
determine the matrix, and turns the evidence into a status. It uses only the residuals, the inliers
and the reason for stopping of a solver, none of its own estimates.
"""

from robustrank.certificate.conclusion import certify, conclude
from robustrank.certificate.counting import exact_tolerance, is_exact_fit
from robustrank.certificate.determination import all_are_cross_checked, determines_the_matrix
from robustrank.certificate.rank_check import rank_may_be_too_high, rank_may_be_too_low

__all__ = [
    "all_are_cross_checked",
    "certify",
    "conclude",
    "determines_the_matrix",
    "exact_tolerance",
    "is_exact_fit",
    "rank_may_be_too_high",
    "rank_may_be_too_low",
]
