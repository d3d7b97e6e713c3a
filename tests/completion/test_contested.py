"""Rows and columns that a second answer explains nearly as well."""

from __future__ import annotations

import numpy as np
from completion_samples import in_row_order, planted_sample, sample_of

from robustrank.completion.single_rows import contested


def test_row_with_many_flipped_entries_is_contested() -> None:
    planted, _ = planted_sample()
    row = np.flatnonzero(planted.rows == 3)
    flipped = row[: round(0.4 * len(row))]
    planted.values[flipped] *= -1
    planted.outliers[flipped] = True
    inliers = in_row_order(planted, ~planted.outliers)
    factors = planted.left, planted.right
    rows, columns = contested(sample_of(planted), factors, inliers, 1e-9, np.random.default_rng(0))
    assert np.flatnonzero(rows).tolist() == [3]
    assert not columns.any()


def test_matrix_with_many_flipped_entries_is_contested_as_a_whole() -> None:
    for share, expected in ((0.2, False), (0.4, True)):
        planted, sample = planted_sample(outliers=share, outlier_model="flip")
        inliers = in_row_order(planted, ~planted.outliers)
        rows, columns = contested(
            sample, (planted.left, planted.right), inliers, 1e-9, np.random.default_rng(0)
        )
        assert rows.all() == columns.all() == expected


def test_other_outliers_contest_nothing() -> None:
    planted, sample = planted_sample(outliers=0.4, outlier_model="scale")
    inliers = in_row_order(planted, ~planted.outliers)
    rows, columns = contested(
        sample, (planted.left, planted.right), inliers, 1e-9, np.random.default_rng(0)
    )
    assert not rows.any()
    assert not columns.any()


def test_columns_in_which_another_matrix_has_comparable_support_are_contested() -> None:
    """Columns 0 to 4 have entries of another matrix; in column 5 the wrong ones are unrelated."""
    rng = np.random.default_rng(5)
    planted, _ = planted_sample()
    other = np.asarray(rng.standard_normal(planted.right.shape))
    for column in range(6):
        entries = np.flatnonzero(planted.columns == column)
        wrong = entries[: round(0.4 * len(entries))]
        values = planted.left[planted.rows[wrong]] @ other[column]
        planted.values[wrong] = values if column < 5 else rng.standard_normal(len(wrong))
        planted.outliers[wrong] = True
    inliers = in_row_order(planted, ~planted.outliers)
    factors = planted.left, planted.right
    rows, columns = contested(sample_of(planted), factors, inliers, 1e-9, rng)
    assert not rows.any()
    assert np.flatnonzero(columns).tolist() == [0, 1, 2, 3, 4]
