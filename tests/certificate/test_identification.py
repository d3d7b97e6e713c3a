"""The part of the matrix that no measurement depends on is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.certificate.determination import unidentified_part
from robustrank.operators import UnstoredTangent, as_operator

N, R = 9, 2
Array = np.ndarray[Any, Any]


def without(A: Array, *, rows: Any = (), columns: Any = ()) -> Array:
    A = A.copy()
    A[:, list(rows), :] = 0
    A[:, :, list(columns)] = 0
    return A


# Sensing data for a symmetric matrix, and the name of what it does not depend on.
UNSEEN: dict[str, tuple[Callable[[Array], Array], str]] = {
    "nothing": (lambda A: A, ""),
    "row": (lambda A: without(A, rows=[3]), "row 3"),
    "rows": (lambda A: without(A, rows=[3, 4, 7]), "rows 3–4, 7"),
    "column": (lambda A: without(A, columns=[0]), "column 0"),
    "row and column": (lambda A: without(A, rows=[2], columns=[5]), "row 2 and column 5"),
    "symmetric": (lambda A: A + A.mT, "the antisymmetric part"),
    "few": (lambda A: A[:20], "some combination of entries"),
}


@pytest.mark.parametrize(
    ("case", "stored"),
    # Without a stored map, rows and columns are not found at the same time.
    [(case, stored) for case in UNSEEN for stored in (True, False) if stored or "and" not in case],
)
def test_unseen_part_is_named(case: str, stored: bool) -> None:
    change, expected = UNSEEN[case]
    rng = np.random.default_rng(1)
    A = change(rng.standard_normal((300, N, N)))
    U = np.linalg.qr(rng.standard_normal((N, R)))[0]
    operator, V = as_operator(A), U * np.asarray([1.0, -1.0])
    tangent = operator.tangent(U, V) if stored else UnstoredTangent(operator, U, V)
    assert unidentified_part(tangent) == expected


@pytest.mark.parametrize(
    ("case", "named", "noise"),
    [
        ("column", "column 0", 0.0),
        ("column", "column 0", 1e-3),
        ("row", "row 3", 0.0),
        ("symmetric", "the antisymmetric part", 0.0),
    ],
)
def test_result_is_not_identified(case: str, named: str, noise: float) -> None:
    rng = np.random.default_rng(2)
    A = UNSEEN[case][0](rng.standard_normal((220, N, N)))
    factor = rng.standard_normal((N, 1))
    y = np.einsum("ijk,jk->i", A, factor @ factor.T)
    y += noise * rng.standard_normal(220)
    y[:20] = 30 * rng.standard_normal(20)
    result = rr.recover(A, y, 1)
    assert result.status is rr.Status.NOT_IDENTIFIED
    assert not result.certified
    assert result.certificate.unidentified == named
    assert f"No measurement depends on {named} of the matrix" in repr(result)
