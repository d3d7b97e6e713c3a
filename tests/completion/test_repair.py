"""Rows and columns that are fitted by themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from completion_samples import planted_sample, sample_of

from robustrank.completion.refinement import Fit
from robustrank.completion.single_rows import repaired, undecided_refitted
from robustrank.linalg import point_of


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


@pytest.mark.parametrize("cutoff", [1e-6, 0.05])
def test_wrong_rows_and_columns_are_solved_by_themselves(cutoff: float) -> None:
    noise = cutoff / 10 if cutoff > 1e-3 else 0.0
    planted, sample = planted_sample(outliers=0.2, outlier_model="huge", noise=noise)
    P, Q = planted.left.copy(), planted.right.copy()
    P[[3, 8]], Q[5] = 7.0, -7.0
    fit = Fit(point_of(P, Q), cutoff * planted.matrix.std() if noise else cutoff, bool(noise))
    found, changed = repaired(sample, fit, np.random.default_rng(0))
    assert changed == 3
    left, right = found.factors
    np.testing.assert_allclose(left @ right.T, planted.matrix, atol=max(40 * noise, 1e-7))


def test_nothing_is_changed_where_all_rows_are_supported() -> None:
    planted, sample = planted_sample(outliers=0.2, outlier_model="huge")
    fit = Fit(point_of(planted.left, planted.right), 1e-6)
    found, changed = repaired(sample, fit, np.random.default_rng(0))
    assert changed == 0
    assert found is fit


def test_with_noise_rows_of_few_entries_are_left_as_they_are() -> None:
    """Seven entries and two unknowns: enough without noise."""
    planted, _ = planted_sample(entries=1200)
    keep = np.flatnonzero((planted.rows != 3) | (planted.columns < 7))
    names = ("rows", "columns", "values", "outliers")
    part = replace(planted, **{name: getattr(planted, name)[keep] for name in names})
    P = planted.left.copy()
    P[3] = 7.0
    for has_noise, expected in ((False, 1), (True, 0)):
        fit = Fit(point_of(P, planted.right), 1e-6, has_noise)
        assert repaired(sample_of(part), fit, np.random.default_rng(0))[1] == expected
