"""Samples: both orders, subsets, scales of rows and columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from completion_samples import planted_sample, sample_of

from robustrank.completion.sample import robust_deviation, row_and_column_scales
from robustrank.linalg import point_of
from robustrank.simulate import plant_entries


def test_both_orders_hold_the_same_entries() -> None:
    planted, sample = planted_sample()
    whole = planted.incomplete
    by_rows, by_columns = sample.by_rows, sample.by_columns
    np.testing.assert_array_equal(whole[by_rows.owners, by_rows.others], sample.row_values)
    np.testing.assert_array_equal(whole[by_columns.others, by_columns.owners], sample.column_values)
    for values, expected in zip(
        sample.in_both_orders(sample.row_values),
        (sample.row_values, sample.column_values),
        strict=True,
    ):
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(
        sample.transposed.in_both_orders(sample.column_values)[1], sample.row_values
    )


def test_subset_keeps_both_orders() -> None:
    planted, sample = planted_sample()
    kept = np.random.default_rng(2).random(sample.size) < 0.3
    part = sample.subset(kept)
    assert part.size == kept.sum()
    np.testing.assert_array_equal(part.row_values, sample.row_values[kept])
    whole = planted.incomplete
    at = part.by_columns
    np.testing.assert_array_equal(whole[at.others, at.owners], part.column_values)
    np.testing.assert_array_equal(part.in_both_orders(part.row_values)[1], part.column_values)
    np.testing.assert_array_equal(
        part.transposed.in_both_orders(part.column_values)[1], part.row_values
    )


def test_scales_are_those_of_the_rows_and_columns() -> None:
    n1, n2 = 200, 150
    planted, _ = planted_sample(n1, n2, 3, 15_000, outliers=0.3, outlier_model="huge")
    rng = np.random.default_rng(3)
    a, b = np.exp(rng.standard_normal(n1)), np.exp(rng.standard_normal(n2))
    planted.values[:] *= a[planted.rows] * b[planted.columns]
    found = row_and_column_scales(sample_of(planted))
    sizes = np.linalg.norm(planted.left, axis=1), np.linalg.norm(planted.right, axis=1)
    for scales, truth, size in zip(found, (a, b), sizes, strict=True):
        ratio = np.log(scales / (truth * size))
        assert ratio.std() < 0.35


def test_scales_of_rows_with_zeros_only_are_one() -> None:
    planted, _ = planted_sample()
    planted.values[planted.rows == 3] = 0
    rows, columns = row_and_column_scales(sample_of(planted))
    assert np.isfinite(rows).all()
    assert np.isfinite(columns).all()
    assert rows.min() > 0


def test_robust_deviation_is_that_of_normal_numbers() -> None:
    values = np.random.default_rng(1).standard_normal(100_000)
    values[:1000] = 1e9
    assert abs(robust_deviation(values) - 1) < 0.03


def test_values_are_divided_by_the_units_of_their_row_and_column() -> None:
    planted, sample = planted_sample()
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(size=40)), np.exp(rng.normal(size=30))
    divided = sample.divided_by(a, b)
    expected = planted.incomplete / np.outer(a, b)
    at = divided.by_rows
    np.testing.assert_allclose(divided.row_values, expected[at.owners, at.others])
    at = divided.by_columns
    np.testing.assert_allclose(divided.column_values, expected[at.others, at.owners])


def test_thinning_keeps_all_entries_of_scarce_rows_and_about_so_many_of_others() -> None:
    planted = plant_entries(200, 100, 1, 20_000, rng=1)
    scarce = (planted.rows == 3) & (planted.columns >= 7)
    kept = np.flatnonzero(~scarce)
    names = ("rows", "columns", "values", "outliers")
    planted = replace(planted, **{name: getattr(planted, name)[kept] for name in names})
    sample = sample_of(planted)
    part, chosen = sample.thinned(25, np.random.default_rng(0))
    np.testing.assert_array_equal(part.row_values, sample.row_values[chosen])
    assert part.by_rows.counts[3] == 7
    others = np.delete(part.by_rows.counts, 3)
    assert abs(others.mean() - 25) < 1
    assert others.min() > 5


def test_residuals_are_those_of_the_matrix() -> None:
    planted, sample = planted_sample(outliers=0.1)
    rng = np.random.default_rng(2)
    P, Q = rng.standard_normal((40, 3)), rng.standard_normal((30, 3))
    difference = planted.incomplete - P @ Q.T
    at = sample.by_rows
    np.testing.assert_allclose(sample.residual(P, Q), difference[at.owners, at.others])


def test_tangent_map_is_in_the_order_of_the_rows() -> None:
    _, sample = planted_sample()
    rng = np.random.default_rng(2)
    point = point_of(rng.standard_normal((40, 2)), rng.standard_normal((30, 2)))
    W, w = rng.standard_normal((70, 2)), rng.standard_normal(sample.size)
    change = W[:40] @ point.right.T + point.left @ W[40:].T
    at, tangent = sample.by_rows, sample.tangent(point)
    np.testing.assert_allclose(tangent.apply(W), change[at.owners, at.others])
    assert np.sum(tangent.adjoint(w) * W) == pytest.approx(w @ tangent.apply(W))


def test_zeros_do_not_count_for_the_typical_size() -> None:
    planted, sample = planted_sample()
    planted.values[:500] = 0
    rest = robust_deviation(planted.values[500:])
    assert sample_of(planted).deviation == pytest.approx(rest)
    planted.values[:] = 0
    assert sample_of(planted).deviation == 1
    assert sample.deviation > 0
