"""``RobustPCA``: components, coordinates and outliers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import robustrank as rr
from robustrank.estimators import RobustPCA, UncertifiedFitWarning

RNG = np.random.default_rng(5)
MEAN = 100 * RNG.standard_normal(24)
AXES = np.linalg.qr(RNG.standard_normal((24, 3)))[0].T
SCORES = RNG.standard_normal((120, 3)) * [9.0, 6.0, 4.0]
TRUTH = SCORES @ AXES + MEAN
WRONG = RNG.random(TRUTH.shape) < 0.08
X = np.where(WRONG, 100 * RNG.standard_normal(TRUTH.shape), TRUTH)
TRAIN, NEW = X[:90], X[90:]


@pytest.fixture(scope="module")
def pca() -> RobustPCA:
    return RobustPCA().fit(TRAIN)


def test_it_is_the_pca_of_the_data_without_outliers(pca: RobustPCA) -> None:
    clean = PCA(3).fit(TRUTH[:90])
    assert pca.result_.status is rr.Status.RECOVERED
    assert pca.n_components_ == 3
    np.testing.assert_allclose(pca.mean_, clean.mean_, rtol=1e-9)
    np.testing.assert_allclose(pca.explained_variance_, clean.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(pca.components_ @ clean.components_.T), np.eye(3), atol=1e-9)
    ordinary = PCA(3).fit(TRAIN)
    assert abs(ordinary.components_[0] @ clean.components_[0]) < 0.9


def test_the_parts_sum_up_to_the_data(pca: RobustPCA) -> None:
    np.testing.assert_allclose(pca.low_rank_, TRUTH[:90], rtol=1e-8)
    np.testing.assert_allclose(pca.low_rank_ + pca.sparse_.toarray(), TRAIN, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(pca.inlier_mask_, ~WRONG[:90])
    assert pca.sparse_.nnz == np.sum(WRONG[:90])


def test_coordinates_of_new_rows_survive_their_outliers(pca: RobustPCA) -> None:
    coordinates = pca.transform(NEW)
    assert coordinates.shape == (30, 3)
    expected = (TRUTH[90:] - pca.mean_) @ pca.components_.T
    np.testing.assert_allclose(coordinates, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(pca.inverse_transform(coordinates), TRUTH[90:], rtol=1e-6)
    for i in (0, 11):
        np.testing.assert_allclose(pca.transform(NEW[i : i + 1])[0], coordinates[i], rtol=1e-9)


def test_noise_does_not_add_components() -> None:
    noisy = X + 0.5 * np.random.default_rng(1).standard_normal(X.shape)
    pca = RobustPCA().fit(noisy)
    assert pca.result_.status is rr.Status.ESTIMATED
    assert pca.n_components_ == 3
    assert pca.scale_ == pytest.approx(0.5, rel=0.1)
    again = pca.inverse_transform(pca.transform(noisy))
    assert np.sqrt(np.mean((again - TRUTH) ** 2)) < 0.24


def test_rows_without_a_majority_are_a_warning(pca: RobustPCA) -> None:
    rows = 50 * np.random.default_rng(2).standard_normal((2, 24))
    with pytest.warns(UncertifiedFitWarning, match="of 2 of 2 rows no majority"):
        coordinates = pca.transform(rows)
    assert np.isfinite(coordinates).all()


def test_names_and_data_frames() -> None:
    frame = pd.DataFrame(TRAIN, columns=[f"gene {k}" for k in range(24)])
    pca = RobustPCA(3).set_output(transform="pandas").fit(frame)
    coordinates = pca.transform(frame)
    assert list(coordinates.columns) == ["robustpca0", "robustpca1", "robustpca2"]
    assert pca.feature_names_in_[0] == "gene 0"


def test_missing_entries_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        RobustPCA().fit(np.where(TRAIN > 10, np.nan, TRAIN))
