"""The worked examples of CONTRIBUTING: new families of measurements in at most 60 lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import robustrank as rr
from examples.operators.linear_operator import MatrixFreeOperator
from examples.operators.rank_one import RankOneOperator
from examples.operators.sparse import SparseOperator
from robustrank.backend import library, to_numpy
from robustrank.operators import Operator, check_operator

ROOT = Path(__file__).parents[2]
M, SHAPE, RANK = 400, (20, 15), 2
Matrix = np.ndarray[Any, Any]


def rank_one(rng: np.random.Generator, dtype: str) -> tuple[Operator, Matrix]:
    a, b = (rng.standard_normal((M, n)).astype(dtype) for n in SHAPE)
    return RankOneOperator(a, b), np.einsum("mi,mj->mij", a, b)


def sparse_rows(rng: np.random.Generator, dtype: str) -> tuple[Operator, Matrix]:
    dense = rng.standard_normal((M, SHAPE[0] * SHAPE[1])).astype(dtype)
    dense[rng.random(dense.shape) > 0.1] = 0
    dense[:, 7] = 0  # an entry of M that no measurement depends on is skipped
    return SparseOperator(sparse.csr_array(dense), SHAPE), dense.reshape(M, *SHAPE)


def matrix_free(rng: np.random.Generator, dtype: str) -> tuple[Operator, Matrix]:
    dense = rng.standard_normal((M, SHAPE[0] * SHAPE[1])).astype(dtype)
    return MatrixFreeOperator(aslinearoperator(dense), SHAPE), dense.reshape(M, *SHAPE)


Family = Callable[[np.random.Generator, str], tuple[Operator, Matrix]]
FAMILIES: dict[str, Family] = {
    "rank one": rank_one,
    "sparse": sparse_rows,
    "matrix-free": matrix_free,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family_fulfills_the_contract(family: str, dtype: str) -> None:
    operator, dense = FAMILIES[family](np.random.default_rng(1), dtype)
    assert operator.shape == (M, SHAPE)
    assert operator.dtype == dtype
    check = check_operator(operator)
    assert check.passed, check
    rng = np.random.default_rng(2)
    U, V = (rng.standard_normal((n, RANK)).astype(dtype) for n in SHAPE)
    expected = np.einsum("mij,ir,jr->m", dense.astype(float), U.astype(float), V.astype(float))
    np.testing.assert_allclose(operator.measure(U, V), expected, rtol=1e-3, atol=1e-4)
    exact_norms = np.linalg.norm(dense.astype(float), axis=(1, 2))
    ratio = np.asarray(operator.row_norms(probes=200)) / exact_norms
    assert ratio.min() > 0.75
    assert ratio.max() < 1.25


@pytest.mark.parametrize("solver", ["auto", "message-passing", "median-tgd"])
@pytest.mark.parametrize("family", ["rank one", "matrix-free"])
def test_every_solver_recovers_a_planted_matrix(family: str, solver: str) -> None:
    _recover(family, "float64", solver)


@pytest.mark.parametrize("family", FAMILIES)
def test_default_recovers_a_planted_matrix(family: str, dtype: str) -> None:
    result = _recover(family, dtype, "auto")
    assert result.status is rr.Status.RECOVERED
    assert result.passes > result.iterations  # products of the unstored tangent are counted


def _recover(family: str, dtype: str, solver: str) -> rr.Recovery:
    rng = np.random.default_rng(3)
    operator, dense = FAMILIES[family](rng, dtype)
    left, right = (rng.standard_normal((n, RANK)) for n in SHAPE)
    y = np.tensordot(dense.astype(float), left @ right.T, axes=2)
    outliers = np.zeros(M, bool)
    outliers[rng.choice(M, M // 20, replace=False)] = True
    y[outliers] = 100 * rng.standard_normal(int(outliers.sum()))
    result = rr.recover(operator, y.astype(dtype), RANK, solver=solver)
    error = rr.metrics.normalized_error((result.left, result.right), (left, right))
    assert error < (1e-6 if dtype == "float64" else 1e-5)
    assert (result.outliers == outliers).all()
    return result


def test_rank_one_family_works_with_every_array_library(xp: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((M, n)) for n in SHAPE)
    left, right = (rng.standard_normal((n, RANK)) for n in SHAPE)
    y = np.sum((a @ left) * (b @ right), axis=1)
    y[:20] *= -30
    result = rr.recover(RankOneOperator(xp.asarray(a), xp.asarray(b)), xp.asarray(y), RANK)
    assert result.status is rr.Status.RECOVERED
    assert library(result.left) == library(xp.asarray(y))
    factors = to_numpy(result.left), to_numpy(result.right)
    assert rr.metrics.normalized_error(factors, (left, right)) < 1e-10


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "operators").glob("*.py")))
def test_examples_are_short_and_contributing_shows_the_first(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= 60
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"examples/operators/{path.name}" in contributing
    if path.stem == "rank_one":
        body = path.read_text().split("\n\n\n", 1)[1]
        assert body.strip() in contributing
