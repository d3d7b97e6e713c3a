"""The worked example of CONTRIBUTING: a new family of measurements in at most 60 lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from examples.operators.rank_one import RankOneOperator
from robustrank.operators import check_operator

ROOT = Path(__file__).parents[2]
M, SHAPE, RANK = 400, (20, 15), 2
Matrix = np.ndarray[Any, Any]


def rank_one(rng: np.random.Generator, dtype: str) -> tuple[RankOneOperator, Matrix]:
    a, b = (rng.standard_normal((M, n)).astype(dtype) for n in SHAPE)
    return RankOneOperator(a, b), np.einsum("mi,mj->mij", a, b)


def test_family_fulfills_the_contract(dtype: str) -> None:
    operator, dense = rank_one(np.random.default_rng(1), dtype)
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
def test_every_solver_recovers_a_planted_matrix(solver: str) -> None:
    _recover("float64", solver)


def test_default_recovers_a_planted_matrix(dtype: str) -> None:
    result = _recover(dtype, "auto")
    assert result.status is rr.Status.RECOVERED
    assert result.passes > result.iterations  # products of the unstored tangent are counted


def _recover(dtype: str, solver: str) -> rr.Result:
    rng = np.random.default_rng(3)
    operator, dense = rank_one(rng, dtype)
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


def test_the_example_is_short_and_contributing_shows_it() -> None:
    (path,) = (ROOT / "examples" / "operators").glob("*.py")
    source, contributing = path.read_text(), (ROOT / "CONTRIBUTING.md").read_text()
    assert len(source.splitlines()) <= 60
    assert f"examples/operators/{path.name}" in contributing
    assert source.split("\n\n\n", 1)[1].strip() in contributing
