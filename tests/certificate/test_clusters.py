"""Repetitions of a measurement are found, and only they."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision
from robustrank.certificate import repetitions
from robustrank.operators import as_operator
from robustrank.problem import Problem

N1, N2, R = 8, 7, 2
Array = np.ndarray[Any, Any]


@pytest.fixture(params=["by a tree", "in pairs, as on a GPU"], autouse=True)
def _compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of comparing rows; pairs in blocks of some rows."""
    if request.param != "by a tree":
        monkeypatch.setattr("robustrank.certificate.parts.on_gpu", lambda _: True)
        monkeypatch.setattr("robustrank.certificate.parts.BLOCK_ENTRIES", 2**11)


def labels_of(A: Any, xp: Any = np) -> Array:
    rng = np.random.default_rng(5)
    left, right = (
        xp.asarray(np.linalg.qr(rng.standard_normal((n, R)))[0].astype(A.dtype)) for n in (N1, N2)
    )
    y = xp.asarray(np.arange(1.0, len(A) + 1).astype(A.dtype))
    problem = Problem(as_operator(xp.asarray(A)), y, 1)
    operator = problem.with_unit_rows.operator
    with full_precision(left):
        return repetitions(operator, operator.tangent(left, right))


def rows(m: int, seed: int = 0) -> Array:
    A = np.random.default_rng(seed).standard_normal((m, N1, N2))
    return np.asarray(A / np.linalg.norm(A, axis=(1, 2), keepdims=True))


def noise_like(A: Array) -> Array:
    """Random rows of norm one."""
    return rows(len(A), seed=1)


# Each repeats 60 rows, so that the i-th and the (60 + i)-th are repetitions.
REPEATED: dict[str, Callable[[Array], Array]] = {
    "copies": lambda A: A,
    "negated copies": lambda A: -A,
    "copies in other units": lambda A: A * 10.0 ** np.linspace(-6, 6, len(A))[:, None, None],
    "copies with an error of 1 %": lambda A: A + 0.01 * noise_like(A),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_repetitions_have_the_same_label(kind: str) -> None:
    A = rows(60)
    labels = labels_of(np.concatenate([A, REPEATED[kind](A)]))
    assert np.array_equal(labels[:60], labels[60:])
    assert sorted(set(labels.tolist())) == list(range(60))


DIFFERENT: dict[str, Callable[[], Array]] = {
    "random rows": lambda: rows(500),
    "rows with a large mean": lambda: 10 + np.random.default_rng(0).standard_normal((300, N1, N2)),
    "entries": lambda: np.eye(N1 * N2).reshape(-1, N1, N2),
    "rows that differ by 30 %": lambda: np.concatenate([rows(60), rows(60) + 0.3 * rows(60, 1)]),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_other_rows_have_labels_of_their_own(kind: str) -> None:
    A = DIFFERENT[kind]()
    assert sorted(labels_of(A).tolist()) == list(range(len(A)))


def test_copies_of_rows_with_a_large_mean_are_found() -> None:
    A = 10 + np.random.default_rng(0).standard_normal((60, N1, N2))
    labels = labels_of(np.concatenate([A, A]))
    assert np.array_equal(labels[:60], labels[60:])
    assert len(set(labels.tolist())) == 60


def test_rows_of_zeros_are_one_group() -> None:
    """They measure nothing, so none of them is evidence."""
    labels = labels_of(np.concatenate([rows(60), np.zeros((3, N1, N2))]))
    assert sorted(labels.tolist()) == [*range(60), 60, 60, 60]


def test_many_copies_of_one_row_are_one_group() -> None:
    A = rows(40)
    A[::4] = A[0]
    labels = labels_of(A)
    assert len(set(labels[::4].tolist())) == 1
    assert len(set(labels.tolist())) == 31


def test_rows_that_only_look_alike_at_this_matrix_are_different() -> None:
    """The tangent map depends on A_i V and A_iᵀ U only; the rows differ elsewhere."""
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.standard_normal((n, R)))[0] for n in (N1, N2))
    A = rows(60)
    outside = noise_like(A)
    outside = outside - outside @ right @ right.T
    outside = outside - left @ (left.T @ outside)
    labels = labels_of(np.concatenate([A, A + outside]))
    assert sorted(labels.tolist()) == list(range(120))


def test_repetitions_are_found_with_every_library(xp: Any, dtype: str) -> None:
    A = rows(40).astype(dtype)
    A[30:] = A[:10]
    labels = labels_of(A, xp)
    assert np.array_equal(labels[30:], labels[:10])
    assert len(set(labels.tolist())) == 30
