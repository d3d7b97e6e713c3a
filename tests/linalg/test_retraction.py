"""Retraction to matrices of fixed rank, and the distance between two of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision, like, to_numpy
from robustrank.linalg import Point, distance, retract

N1, N2, R = 9, 7, 3
Array = np.ndarray[Any, Any]


def random_parts(rng: np.random.Generator, dtype: str = "float64") -> tuple[Array, Array, Array]:
    left, right = (np.linalg.qr(rng.standard_normal((n, R)))[0].astype(dtype) for n in (N1, N2))
    return left, np.asarray([5.0, 3.0, 1.0], dtype), right


def dense(point: Point) -> Array:
    left, values, right = (to_numpy(part) for part in (point.left, point.values, point.right))
    return np.asarray((left * values[..., None, :]) @ np.swapaxes(right, -1, -2))


def check_retraction(xp: Any, dtype: str, rank: int) -> None:
    rng = np.random.default_rng(0)
    left, values, right = random_parts(rng, dtype)
    W = (0.3 * rng.standard_normal((N1 + N2, R))).astype(dtype)
    total = (left * values) @ right.T + W[:N1] @ right.T + left @ W[N1:].T
    u, s, vt = np.linalg.svd(total.astype(float))
    point = Point(left=xp.asarray(left), values=xp.asarray(values), right=xp.asarray(right))
    with full_precision(point.left):
        found = retract(point, xp.asarray(W), rank)
    atol = {"float32": 1e-5, "float64": 1e-12}[dtype]
    assert np.allclose(dense(found), (u[:, :rank] * s[:rank]) @ vt[:rank], atol=atol)
    for basis in (found.left, found.right):
        assert like(basis) == like(point.left)
        gram = to_numpy(basis).T @ to_numpy(basis)
        assert np.allclose(gram, np.eye(rank), atol=atol)


@pytest.mark.parametrize("rank", [2, 3, 5])
def test_retraction_is_the_best_approximation_of_the_sum(dtype: str, rank: int) -> None:
    check_retraction(np, dtype, rank)


def test_retraction_works_with_every_library(xp: Any) -> None:
    check_retraction(xp, "float64", 2)


def test_retraction_of_a_zero_step_is_the_point_itself() -> None:
    point = Point(*random_parts(np.random.default_rng(1)))
    assert np.allclose(dense(retract(point, np.zeros((N1 + N2, R)), R)), dense(point))


def test_retraction_of_a_batch_agrees_with_each_point(xp: Any) -> None:
    rng = np.random.default_rng(2)
    points = [random_parts(rng) for _ in range(2)]
    W = rng.standard_normal((2, N1 + N2, R))
    batch = Point(*(xp.asarray(np.stack(parts)) for parts in zip(*points, strict=True)))
    found = dense(retract(batch, xp.asarray(W), R))
    for k, parts in enumerate(points):
        assert np.allclose(found[k], dense(retract(Point(*parts), W[k], R)))


def test_distance_is_the_frobenius_norm_of_the_difference(xp: Any, dtype: str) -> None:
    rng = np.random.default_rng(3)
    one, other = (Point(*(xp.asarray(p) for p in random_parts(rng, dtype))) for _ in range(2))
    expected = np.linalg.norm(dense(one) - dense(other))
    with full_precision(one.left):
        assert float(distance(one, other)) == pytest.approx(expected, rel=1e-5)
        # The squares cancel, so the distance to itself is the square root of a rounding error.
        assert float(distance(one, one)) < {"float32": 1e-2, "float64": 1e-6}[dtype]


def test_scaled_left_times_right_is_the_matrix() -> None:
    point = Point(*random_parts(np.random.default_rng(4)))
    assert np.allclose(point.scaled_left @ point.right.T, dense(point))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_retraction_along_a_direction_that_is_not_finite_is_nan(xp: Any, bad: float) -> None:
    left, values, right = (xp.asarray(part) for part in random_parts(np.random.default_rng(0)))
    W = np.zeros((N1 + N2, R))
    W[3, 1] = bad
    with np.errstate(invalid="ignore"):
        moved = retract(Point(left=left, values=values, right=right), xp.asarray(W), R)
    assert np.all(np.isnan(to_numpy(moved.values)))
    assert moved.left.shape == (N1, R)
