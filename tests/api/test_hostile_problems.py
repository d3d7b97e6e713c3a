"""Problems on which a wrong result was once certified, or a right one was refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.simulate import plant

N1, N2, R = 16, 14, 2
FREEDOM = R * (N1 + N2 - R)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """Measurements of a matrix."""

    A: Array
    y: Array
    matrix: Array


def low_rank(rng: np.random.Generator, rank: int = R) -> Array:
    matrix = rng.standard_normal((N1, rank)) @ rng.standard_normal((rank, N2))
    return matrix / np.linalg.norm(matrix)


def measured(A: Array, matrix: Array) -> Array:
    return np.einsum("ijk,jk->i", A, matrix)  # type: ignore[no-any-return]


def corrupted(A: Array, matrix: Array, share: float, rng: np.random.Generator) -> Problem:
    """Independent outliers of the size of the measurements."""
    y = measured(A, matrix)
    count = round(share * len(y))
    y[:count] = np.std(y) * rng.standard_normal(count)
    return Problem(A, y, matrix)


def agreeing_copies(rng: np.random.Generator) -> Problem:
    """Every setting is measured twice; the two measurements of three settings are wrong alike."""
    A = np.repeat(rng.standard_normal((FREEDOM + 5, N1, N2)), 2, axis=0)
    matrix = low_rank(rng)
    y = measured(A, matrix)
    y[:6] += np.repeat(rng.standard_normal(3), 2)
    return Problem(A, y, matrix)


def near_copies(rng: np.random.Generator) -> Problem:
    A = np.repeat(rng.standard_normal((round(1.25 * FREEDOM), N1, N2)), 2, axis=0)
    A += 0.01 * rng.standard_normal(A.shape)
    order = rng.permutation(len(A))
    return corrupted(A[order], low_rank(rng), 0.2, rng)


def with_a_mean(rng: np.random.Generator) -> Problem:
    """A multiple of the mean predicts most of every measurement."""
    matrix = np.abs(rng.standard_normal((N1, 1))) @ np.abs(rng.standard_normal((1, N2)))
    return corrupted(10 + rng.standard_normal((4 * FREEDOM, N1, N2)), matrix, 0.25, rng)


def with_a_mean_and_too_few(rng: np.random.Generator) -> Problem:
    matrix = np.abs(low_rank(rng, 1))
    return corrupted(rng.random((FREEDOM + 12, N1, N2)), matrix, 0.4, rng)


def small_rows(rng: np.random.Generator) -> Problem:
    sizes = np.where(rng.random(3 * FREEDOM) < 0.4, 1e-3, 1.0)
    A = sizes[:, None, None] * rng.standard_normal((3 * FREEDOM, N1, N2))
    matrix = low_rank(rng)
    y = measured(A, matrix)
    bad = rng.random(len(y)) < 0.25
    return Problem(A, np.where(bad, sizes * rng.standard_normal(len(y)), y), matrix)


def smaller_impostor(rng: np.random.Generator) -> Problem:
    """45 % measure another matrix, of a tenth of the norm."""
    A = rng.standard_normal((8 * FREEDOM, N1, N2))
    matrix, other = low_rank(rng), 0.1 * low_rank(rng)
    bad = rng.random(len(A)) < 0.45
    return Problem(A, np.where(bad, measured(A, other), measured(A, matrix)), matrix)


def hidden_columns(rng: np.random.Generator) -> Problem:
    """Half of the columns are seen by 120 rows, 66 of which agree on other factors."""
    A = rng.standard_normal((300, N1, N2))
    A[120:, :, N2 // 2 :] = 0
    left = rng.standard_normal((N1, R))
    right, other = rng.standard_normal((2, N2, R))
    other[: N2 // 2] = right[: N2 // 2]
    y = measured(A, left @ right.T)
    y[:66] = measured(A[:66], left @ other.T)
    return Problem(A, y, left @ right.T)


def flipped_entries(rng: np.random.Generator) -> Problem:
    """Completion of rank one with 20 % sign flips."""
    places = rng.permutation(N1 * N2)[:150]
    A = np.eye(N1 * N2)[places].reshape(-1, N1, N2)
    matrix = low_rank(rng, 1)
    y = measured(A, matrix)
    return Problem(A, np.where(rng.random(150) < 0.2, -y, y), matrix)


def rank_one_rows(rng: np.random.Generator) -> Problem:
    m = round(2.2 * FREEDOM)
    A = rng.standard_normal((m, N1, 1)) * rng.standard_normal((m, 1, N2))
    return corrupted(A, low_rank(rng), 0.15, rng)


def sparse_rows(rng: np.random.Generator) -> Problem:
    m = round(2.2 * FREEDOM)
    A = rng.standard_normal((m, N1, N2)) * (rng.random((m, N1, N2)) < 0.1)
    return corrupted(A, low_rank(rng), 0.15, rng)


def block_rows(rng: np.random.Generator) -> Problem:
    m = round(2.2 * FREEDOM)
    A = rng.standard_normal((m, N1, N2))
    for i in range(m):
        a, b = rng.integers(N1 - 5), rng.integers(N2 - 5)
        mask = np.zeros((N1, N2))
        mask[a : a + 6, b : b + 6] = 1
        A[i] *= mask
    return corrupted(A, low_rank(rng), 0.15, rng)


def offset(share: float, size: float, rows: float) -> Callable[[np.random.Generator], Problem]:
    def draw(rng: np.random.Generator) -> Problem:
        A = rng.standard_normal((round(rows * FREEDOM), N1, N2))
        matrix = low_rank(rng)
        y = measured(A, matrix)
        y[: round(share * len(y))] += size
        return Problem(A, y, matrix)

    return draw


def gain(share: float, factor: float, rows: float) -> Callable[[np.random.Generator], Problem]:
    def draw(rng: np.random.Generator) -> Problem:
        A = rng.standard_normal((round(rows * FREEDOM), N1, N2))
        matrix = low_rank(rng)
        y = measured(A, matrix)
        y[: round(share * len(y))] *= factor
        return Problem(A, y, matrix)

    return draw


RECIPES: dict[str, Callable[[np.random.Generator], Problem]] = {
    "copies of an outlier agree": agreeing_copies,
    "near copies": near_copies,
    "rows with a large mean": with_a_mean,
    "positive rows, too few": with_a_mean_and_too_few,
    "small rows": small_rows,
    "smaller impostor": smaller_impostor,
    "hidden columns": hidden_columns,
    "flipped entries": flipped_entries,
    "rank-one rows": rank_one_rows,
    "sparse rows": sparse_rows,
    "block rows": block_rows,
    "small offset 20 %": offset(0.2, 0.01, 4),
    "offset 20 %, few rows": offset(0.2, 0.1, 2),
    "offset 30 %": offset(0.3, 0.3, 4),
    "offset 30 %, few rows": offset(0.3, 0.1, 2),
    "gain 30 %, few rows": gain(0.3, 1.2, 2),
    "dead 30 %": gain(0.3, 0.0, 2),
}


def wrong(result: rr.Result, problem: Problem) -> bool:
    """Whether a certified result has an error that its certificate does not explain."""
    missed = result.matrix - problem.matrix
    missed[result.undecided_rows] = 0
    missed[:, result.undecided_columns] = 0
    error = np.linalg.norm(missed) / np.linalg.norm(problem.matrix)
    if result.status is rr.Status.RECOVERED:
        return bool(error > 1e-5)
    return result.certified and bool(error > 3 * result.certificate.matrix_error + 1e-6)


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_wrong_result_is_certified(recipe: str) -> None:
    for seed in range(3):
        problem = RECIPES[recipe](np.random.default_rng(seed))
        rank = np.linalg.matrix_rank(problem.matrix)
        result = rr.recover(problem.A, problem.y, int(rank))
        assert not wrong(result, problem), (seed, result)


def small_columns(rng: np.random.Generator) -> Problem:
    A = rng.standard_normal((5 * FREEDOM, N1, N2)) * np.where(np.arange(N2) < 5, 1e-3, 1.0)
    return corrupted(A, low_rank(rng), 0.1, rng)


def one_huge_row(rng: np.random.Generator) -> Problem:
    easy = corrupted(rng.standard_normal((5 * FREEDOM, N1, N2)), low_rank(rng), 0.1, rng)
    easy.A[-1] *= 1e4
    easy.y[-1] *= 1e4
    return easy


RIGHT: dict[str, Callable[[np.random.Generator], Problem]] = {
    "rows with a large mean": with_a_mean,
    "small rows": small_rows,
    "small columns": small_columns,
    "one huge row": one_huge_row,
    "rank-one rows": rank_one_rows,
    "sparse rows": sparse_rows,
    "small offset 20 %": offset(0.2, 0.01, 4),
}


@pytest.mark.parametrize("recipe", RIGHT)
def test_right_result_is_certified(recipe: str) -> None:
    for seed in range(2):
        problem = RIGHT[recipe](np.random.default_rng(seed))
        result = rr.recover(problem.A, problem.y, int(np.linalg.matrix_rank(problem.matrix)))
        assert result.status is rr.Status.RECOVERED, (seed, result)
        assert not wrong(result, problem)


@pytest.mark.parametrize("condition_number", [1e4, 1e6, 1e8])
def test_smallest_singular_value_is_accurate(condition_number: float) -> None:
    for seed in range(3):
        planted = plant(20, 15, 3, 500, outliers=0.1, condition_number=condition_number, rng=seed)
        result = rr.recover(planted.A, planted.y, 3)
        assert result.status is rr.Status.RECOVERED
        true = np.linalg.svd(planted.matrix, compute_uv=False)[:3]
        assert result.singular_values() == pytest.approx(true, rel=1e-3)


def test_expected_error_is_that_of_the_matrix() -> None:
    errors = []
    for seed in range(6):
        planted = plant(16, 12, 2, 400, outliers=0.1, bounded_noise=0.1, rng=seed)
        result = rr.recover(planted.A, planted.y, 2)
        assert result.status is rr.Status.ESTIMATED
        error = np.linalg.norm(result.matrix - planted.matrix) / np.linalg.norm(planted.matrix)
        errors.append(error / result.certificate.matrix_error)
    assert np.mean(errors) == pytest.approx(1.0, abs=0.2)
    assert max(errors) < 1.5
