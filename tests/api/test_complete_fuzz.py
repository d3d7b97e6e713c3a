"""``complete`` with random input: each call ends in an answer or in an error in words."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import robustrank as rr

CASES = int(os.environ.get("ROBUSTRANK_FUZZ", "0")) // 50 or 200
IN_CI = "ROBUSTRANK_FUZZ" not in os.environ
Matrix = np.ndarray[Any, Any]


def matrix_from(rng: np.random.Generator) -> Matrix:
    """A small matrix of low rank, or of noise, zeros, equal or extreme numbers."""
    n1, n2 = (int(rng.choice([1, 2, 3, 8, 20, 40])) for _ in range(2))
    r = int(rng.integers(0, 4))
    X = rng.standard_normal((n1, r)) @ rng.standard_normal((r, n2))
    if rng.random() < 0.2:
        X = rng.standard_normal((n1, n2))
    if rng.random() < 0.1:
        X = np.full((n1, n2), float(rng.choice([0.0, 1.0, -7.0])))
    if rng.random() < 0.3:
        X = X + 10 ** rng.uniform(-12, 0) * rng.standard_normal((n1, n2))
    X = X * float(rng.choice([1.0, 1.0, 1.0, 1e-300, 1e-30, 1e30, 1e300, 5e-324]))
    for value, share in ((np.inf, 0.1), (-np.inf, 0.05), (1e308, 0.1), (0.0, 0.3)):
        if rng.random() < 0.1:
            X[rng.random(X.shape) < share] = value
    return X


def data_from(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Data in one of the forms that ``complete`` takes, and its options."""
    X = matrix_from(rng)
    observed = rng.random(X.shape) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    rank = [None, 1, 2, 5][int(rng.integers(4))]
    options: dict[str, Any] = {"rank": rank, "time_limit": 20.0}
    dtype = str(rng.choice(["float64", "float64", "float32", "int64", "bool"]))
    form = str(rng.choice(["nan", "mask", "triples", "sparse", "frame"]))
    if dtype != "float64":
        with np.errstate(all="ignore"):
            X = np.nan_to_num(X, posinf=100, neginf=-100).clip(-1e6, 1e6).astype(dtype)
    if form == "mask":
        return X, options | {"mask": observed}
    if form == "triples":
        rows, columns = np.nonzero(observed)
        order = rng.permutation(np.repeat(np.arange(len(rows)), int(rng.integers(1, 3))))
        return (rows[order], columns[order], X[rows, columns][order]), options | {"shape": X.shape}
    if form == "sparse":
        return scipy.sparse.csr_array(np.where(observed & np.isfinite(X), X, 0)), options
    missing = np.where(observed, X, np.nan)
    if form == "frame":
        return pytest.importorskip("pandas").DataFrame(missing), options
    return missing, options


def check(seed: int) -> None:
    data, options = data_from(np.random.default_rng(seed))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = rr.complete(data, **options)
            text = str(result)
    except (ValueError, TypeError) as error:
        assert type(error) in (ValueError, TypeError), repr(error)  # noqa: PT017
        assert len(str(error).split()) >= 4, repr(error)  # noqa: PT017
        return
    assert len(text) > 100
    rows, columns, residuals = (np.asarray(part) for part in result.entries)
    empty = np.ones(result.shape, bool)
    empty[np.ix_(*(np.unique(part[np.isfinite(residuals)]) for part in (rows, columns)))] = False
    matrix = np.asarray(result.matrix, float)
    assert np.isnan(matrix[empty]).all(), result
    assert np.isfinite(matrix[~empty]).all(), result
    assert result.sparse.shape == result.shape
    if result.status is rr.Status.RECOVERED:
        assert result.certificate.supporting >= result.certificate.required


@pytest.mark.timeout(600 if IN_CI else 0)
@settings(
    max_examples=CASES,
    derandomize=IN_CI,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**64 - 1))
def test_any_data_gives_an_answer_or_an_error_in_words(seed: int) -> None:
    check(seed)
