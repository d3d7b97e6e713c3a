"""Rows and columns that are fitted by themselves."""

from __future__ import annotations

import numpy as np
from completion_samples import planted_sample

from robustrank.completion.repair import undecided_refitted


def test_undecided_rows_are_fitted_to_the_decided_columns() -> None:
    planted, sample = planted_sample()
    P, Q = planted.left.copy(), planted.right.copy()
    P[3], Q[5] = 7.0, -7.0
    rows, columns = np.arange(40) != 3, np.arange(30) != 5
    found = undecided_refitted(sample, (P, Q), rows, columns, 1e-6)
    np.testing.assert_allclose(found[0], planted.left, rtol=1e-8)
    np.testing.assert_allclose(found[1], planted.right, rtol=1e-8)


def test_a_row_keeps_the_factors_that_fit_more_entries() -> None:
    """Least squares is wrong if there are outliers."""
    planted, sample = planted_sample(outliers=0.2, outlier_model="huge")
    factors = planted.left, planted.right
    rows, columns = np.arange(40) != 3, np.ones(30, bool)
    found = undecided_refitted(sample, factors, rows, columns, 1e-6)
    np.testing.assert_array_equal(found[0], planted.left)
