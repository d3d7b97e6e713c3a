"""The search along a decreasing ridge."""

from __future__ import annotations

import numpy as np
import pytest
from completion_samples import planted_sample

from robustrank.completion import Watch
from robustrank.completion.ridge_path import PathPoint, RidgePath
from robustrank.linalg import point_of
from robustrank.run import Run

WATCH = Watch(Run())


def test_the_path_leads_to_the_matrix() -> None:
    planted, sample = planted_sample(60, 50, 2, 1500, outliers=0.2, outlier_model="huge")
    path = RidgePath()
    end = path.advance(
        sample, path.start(sample, 2, np.random.default_rng(0), sample.zero), path.steps, WATCH
    )
    error = np.linalg.norm(end.left @ end.right.T - planted.matrix)
    assert error < 0.1 * np.linalg.norm(planted.matrix)


def test_ridge_and_width_decrease_by_equal_factors() -> None:
    _, sample = planted_sample()
    path = RidgePath(steps=4, widths=(8.0, 0.5), decay=0.5)
    start = path.start(sample, 2, np.random.default_rng(0), sample.zero)
    assert start.width == pytest.approx(8 * sample.deviation)
    end = path.advance(sample, start, 4, WATCH)
    assert end.step == 4
    assert end.width == pytest.approx(0.5 * sample.deviation)
    assert end.ridge == pytest.approx(start.ridge / 2**4)


def test_the_start_has_the_leading_direction() -> None:
    """Roughly: the weights make large entries smaller."""
    planted, sample = planted_sample(40, 30, 1, 1200)
    start = RidgePath().start(sample, 1, np.random.default_rng(0), sample.zero)
    for found, truth in ((start.left, planted.left), (start.right, planted.right)):
        cosine = found[:, 0] @ truth[:, 0] / np.linalg.norm(found) / np.linalg.norm(truth)
        assert abs(cosine) > 0.6


def test_a_large_ridge_leaves_nothing_and_none_leaves_all() -> None:
    """At a fixed point, the ridge is subtracted from every singular value."""
    planted, sample = planted_sample(20, 15, 2, 300)
    values = np.linalg.svd(planted.matrix, compute_uv=False)[:2]
    ridge = 0.5 * values[1]
    path = RidgePath(decay=1.0, steps=60, widths=(1e9, 1e9))
    at = path.start(sample, 2, np.random.default_rng(0), sample.zero)
    at = PathPoint(at.left, at.right, ridge, 1e9, 0)
    found = path.advance(sample, at, 60, WATCH).singular_values
    np.testing.assert_allclose(found, values - ridge, rtol=1e-3)
    gone = PathPoint(at.left, at.right, 2 * values[0], 1e9, 0)
    assert path.advance(sample, gone, 60, WATCH).singular_values[0] < 1e-3 * values[0]


def test_explained_components_begin_the_path_unchanged() -> None:
    planted, sample = planted_sample(rank=3)
    first = point_of(planted.left[:, :1], planted.right[:, :1])
    start = RidgePath().start(sample, 3, np.random.default_rng(0), first)
    assert start.left.shape == (40, 3)
    known = start.left[:, :1] @ start.right[:, :1].T
    np.testing.assert_allclose(known, first.scaled_left @ first.right.T)
    left_over = np.median(np.abs(sample.residual(first.scaled_left, first.right)))
    assert start.width / RidgePath().widths[0] == pytest.approx(left_over / 0.6745, rel=1e-2)


def test_truncation_is_that_of_the_singular_value_decomposition() -> None:
    rng = np.random.default_rng(1)
    P, Q = rng.standard_normal((12, 3)), rng.standard_normal((9, 3))
    U, s, Vt = np.linalg.svd(P @ Q.T)
    at = PathPoint(P, Q, 1.0, 1.0, 0).truncated(2)
    np.testing.assert_allclose(at.left @ at.right.T, (U[:, :2] * s[:2]) @ Vt[:2], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(at.left, axis=0), np.sqrt(s[:2]))
    np.testing.assert_allclose(np.linalg.norm(at.right, axis=0), np.sqrt(s[:2]))
