"""The typical size of each row and column."""

from __future__ import annotations

import numpy as np
import pytest
from completion_samples import planted_sample, sample_of

from robustrank.completion import sample as scales
from robustrank.completion.sample import row_and_column_scales
from robustrank.simulate import plant_entries


def test_scales_of_a_product_are_found_exactly() -> None:
    """If |value| = a_i b_j, every quantile is the same."""
    planted = plant_entries(12, 9, 1, 108, rng=3)
    a, b = row_and_column_scales(sample_of(planted))
    np.testing.assert_allclose(np.outer(a, b), np.abs(planted.matrix), rtol=1e-9)


def test_units_of_a_row_are_those_of_its_scale() -> None:
    _, sample = planted_sample()
    a, b = row_and_column_scales(sample)
    factors = np.exp(np.random.default_rng(1).normal(size=40))
    found = row_and_column_scales(sample.divided_by(1 / factors, np.ones(30)))
    np.testing.assert_allclose(np.outer(*found), np.outer(factors * a, b), rtol=1e-9)


def test_units_of_a_column_are_about_those_of_its_scale() -> None:
    """The rows are first, without the scales of the columns; few iterations do not undo that."""
    _, sample = planted_sample()
    a, b = row_and_column_scales(sample)
    factors = np.exp(2 * np.random.default_rng(1).normal(size=30))
    found = row_and_column_scales(sample.divided_by(np.ones(40), 1 / factors))
    ratio = np.outer(*found) / np.outer(a, factors * b)
    assert 0.6 < ratio.min() < ratio.max() < 1.7


def test_outliers_hardly_change_the_scales() -> None:
    _, clean = planted_sample(60, 50, 2, 2000)
    _, sample = planted_sample(60, 50, 2, 2000, outliers=0.3, outlier_model="huge")
    ratio = np.outer(*row_and_column_scales(sample)) / np.outer(*row_and_column_scales(clean))
    assert np.median(ratio) == pytest.approx(1, abs=1)
    assert ratio.max() < 10


def test_long_rows_are_thinned_over_their_whole_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first entries of a row may be special."""
    planted = plant_entries(6, 40, 1, 240, rng=3)
    planted.values[planted.columns < 4] *= 1e6
    monkeypatch.setattr(scales, "MANY", 5)
    a, b = row_and_column_scales(sample_of(planted))
    special = np.arange(40) < 4
    sizes = np.abs(planted.matrix) * np.where(special, 1e6, 1.0)
    np.testing.assert_allclose(np.outer(a, b), sizes, rtol=1e-6)
