"""Tangent maps: stored, unstored, scaled and transposed ones are the same linear map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robustrank.backend import full_precision, like, namespace, to_numpy
from robustrank.linalg import (
    TangentMap,
    TangentView,
    admissible,
    as_vector,
    from_vector,
    normal_matrix,
    quadratic_forms,
    scattered,
    share_counts,
    share_maxima,
)
from robustrank.operators import (
    CountedOperator,
    Operator,
    RowScaledOperator,
    ScaledOperator,
    StoredTangent,
    SubsetOperator,
    TransposedOperator,
    UnstoredTangent,
    as_operator,
)

M, N1, N2, R = 40, 6, 5, 2
Array = Any
Maker = Callable[[Array, Array, Array], TangentMap]


def transposed(A: Array) -> Operator:
    """The operator of A, stored as its transpose."""
    return TransposedOperator(as_operator(A.mT))


def like_rows(A: Array) -> Array:
    """A positive number for each A_i, in powers of two."""
    numbers = 2.0 ** np.random.default_rng(4).integers(-9, 9, M)
    return namespace(A).asarray(numbers, **like(A))


def twice(A: Array) -> Operator:
    """Every A_i, each after another one that is unrelated."""
    return as_operator(
        namespace(A).reshape(namespace(A).stack([-3 * A, A], axis=1), (-1, *A.shape[1:]))
    )


def every_second(A: Array) -> Array:
    """The numbers of the second of each two rows."""
    return namespace(A).asarray(np.arange(1, 2 * M, 2), device=like(A)["device"])


def rowwise(A: Array, U: Array, V: Array) -> TangentMap:
    """A map by products and by blocks of rows."""
    return UnstoredTangent(as_operator(A), U, V, rows=as_operator(A).tangent(U, V).rows)


# Maps that are all equal to the tangent map of the sensing data A at (U, V).
MAPS: dict[str, Maker] = {
    "stored": lambda A, U, V: as_operator(A).tangent(U, V),
    "unstored": lambda A, U, V: UnstoredTangent(as_operator(A), U, V),
    "scaled": lambda A, U, V: ScaledOperator(as_operator(2 * A), 0.5).tangent(U, V),
    "transposed": lambda A, U, V: transposed(A).tangent(U, V),
    "scaled unstored": lambda A, U, V: TangentView(
        UnstoredTangent(as_operator(2 * A), U, V), factor=0.5
    ),
    "transposed unstored": lambda A, U, V: TangentView(
        UnstoredTangent(as_operator(A.mT), V, U), transposed=True
    ),
    "scaled transposed": lambda A, U, V: ScaledOperator(transposed(2 * A), 0.5).tangent(U, V),
    "counted": lambda A, U, V: CountedOperator(as_operator(A)).tangent(U, V),
    "row scaled": lambda A, U, V: RowScaledOperator(
        as_operator(A / like_rows(A)[:, None, None]), like_rows(A)
    ).tangent(U, V),
    "subset": lambda A, U, V: SubsetOperator(twice(A), every_second(A)).tangent(U, V),
    "row scaled subset": lambda A, U, V: RowScaledOperator(
        SubsetOperator(twice(A / like_rows(A)[:, None, None]), every_second(A)), like_rows(A)
    ).tangent(U, V),
    "subset unstored": lambda A, U, V: TangentView(
        UnstoredTangent(twice(A), U, V), chosen=every_second(A)
    ),
    "rowwise": rowwise,
    "probed": lambda A, U, V: UnstoredTangent(as_operator(A), U, V, probed=True),
    "all rows and columns": lambda A, U, V: TangentView(
        as_operator(A).tangent(U, V), mask=namespace(A).ones((N1 + N2, 1), **like(A))
    ),
    "all at once": lambda A, U, V: TangentView(
        UnstoredTangent(twice(A.mT / (2 * like_rows(A))[:, None, None]), V, U, probed=True),
        factor=2.0,
        factors=like_rows(A),
        chosen=every_second(A),
        transposed=True,
    ),
}
STORED = {"stored", "rowwise", "scaled", "counted", "row scaled", "subset", "row scaled subset"}
UNSTORED = {kind for kind in MAPS if "unstored" in kind}


def arrays(dtype: str) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    shapes = {"A": (M, N1, N2), "U": (N1, R), "V": (N2, R), "W": (N1 + N2, R), "w": (M,)}
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def jacobian(A: Array, U: Array, V: Array) -> np.ndarray[Any, Any]:
    """The map as an (m, r (n1 + n2)) matrix that acts on ``as_vector(W)``, in float64."""
    A, U, V = (part.astype(float) for part in (A, U, V))
    rows = np.concatenate([A @ V, A.mT @ U], axis=1)  # (m, n1 + n2, r)
    return rows.mT.reshape(M, -1)


def padded(upper: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """[dU; 0] in float64."""
    return np.concatenate([upper.astype(float), np.zeros((N2, R))])


@pytest.mark.parametrize("kind", MAPS)
def test_tangent_map_agrees_with_its_definition(xp: Any, dtype: str, kind: str) -> None:
    host = arrays(dtype)
    J = jacobian(host["A"], host["U"], host["V"])
    A, U, V, W, w = (xp.asarray(part) for part in host.values())
    rtol = {"float32": 2e-5, "float64": 1e-12}[dtype]

    def check(found: Array, expected: np.ndarray[Any, Any]) -> None:
        assert like(found) == like(A)
        size = np.linalg.norm(expected)
        assert np.linalg.norm(to_numpy(found).astype(float) - expected) < rtol * size

    along = J @ host["W"].astype(float).T.ravel()
    S = np.random.default_rng(3).standard_normal((J.shape[1], J.shape[1]))
    S += S.T
    with full_precision(A):
        tangent = MAPS[kind](A, U, V)
        values = xp.asarray(host["W"][0])
        check(tangent.measure(values), J @ padded(host["U"] * host["W"][0]).T.ravel())
        check(tangent.apply(W), along)
        check(as_vector(tangent.adjoint(w)), J.T @ host["w"])
        normal = tangent.normal_map(w)
        for _ in range(2):  # it is applied many times
            check(as_vector(normal(W)), J.T @ (host["w"] * along))
        matrix = normal_matrix(tangent, w**2)
        forms = quadratic_forms(tangent, xp.asarray(S.astype(dtype)))
    assert (matrix is not None) == (kind in STORED)
    assert (forms is not None) == (kind in STORED)
    if matrix is not None:
        check(forms, np.sum((J @ S) * J, axis=1))
        check(matrix, J.T @ (host["w"][:, None] ** 2 * J))
    assert tangent.epsilon == np.finfo(dtype).eps
    assert np.array_equal(to_numpy(admissible(tangent, W)), host["W"])
    assert np.array_equal(to_numpy(tangent.U), host["U"])
    assert np.array_equal(to_numpy(tangent.V), host["V"])


def shares_of(J: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How much each measurement depends on each row and column of the matrix."""
    energies = (J.reshape(M, R, N1 + N2) ** 2).sum(axis=1)
    shares: np.ndarray[Any, Any] = energies / energies.sum(axis=1, keepdims=True)
    return shares


@pytest.mark.parametrize("kind", MAPS)
def test_shares_agree_with_their_definition(xp: Any, dtype: str, kind: str) -> None:
    host = arrays(dtype)
    shares = shares_of(jacobian(host["A"], host["U"], host["V"]))
    chosen = np.arange(M) % 3 > 0
    largest = shares[chosen].max(axis=0)
    least = np.sort(shares, axis=0)[M // 2 - 1 : M // 2 + 1].mean(axis=0)  # half are larger
    weights = np.stack([chosen, np.linspace(1, 2, M)])
    with full_precision(xp.asarray(host["A"])):
        tangent = MAPS[kind](*(xp.asarray(host[name]) for name in "AUV"))
        maxima = share_maxima(tangent, xp.asarray(chosen.astype(dtype)))
        arguments = (xp.asarray(part.astype(dtype)) for part in (least, weights))
        counts = share_counts(tangent, *arguments)
    assert (maxima is None) == (counts is None) == (kind in UNSTORED)
    if maxima is None or counts is None:
        return
    assert like(maxima) == like(counts) == like(xp.asarray(host["A"]))
    assert np.allclose(to_numpy(maxima), largest, rtol=1e-4 if dtype == "float32" else 1e-12)
    assert np.allclose(to_numpy(counts), weights @ (shares > least), rtol=1e-5)


@pytest.mark.parametrize("kind", MAPS)
def test_tangent_map_implements_the_protocol(kind: str) -> None:
    members = {name for name in vars(TangentMap) if not name.startswith("_")}
    assert members == {
        "U",
        "V",
        "epsilon",
        "reads",
        "measurements",
        "measure",
        "apply",
        "adjoint",
        "normal_map",
        "rows",
        "shares",
    }
    host = arrays("float64")
    tangent = MAPS[kind](host["A"], host["U"], host["V"])
    assert all(hasattr(tangent, name) for name in members)
    assert tangent.measurements == M


@pytest.mark.parametrize("size", [1e-280, 1e280])
def test_shares_of_normalized_sensing_data_do_not_underflow_or_overflow(size: float) -> None:
    host = arrays("float64")
    scaled = RowScaledOperator(as_operator(size * host["A"]), np.ones(M))
    tangent: Any = ScaledOperator(scaled, 1 / size).tangent(host["U"], host["V"])
    shares = shares_of(jacobian(host["A"], host["U"], host["V"]))
    maxima: Array = share_maxima(tangent, np.ones(M))
    assert np.allclose(maxima, shares.max(axis=0), rtol=1e-12)
    counts: Array = share_counts(tangent, np.full(N1 + N2, 0.05), np.ones((1, M)))
    assert np.allclose(counts, [(shares > 0.05).sum(axis=0)])


def test_part_of_a_map_changes_some_rows_and_columns_only(xp: Any) -> None:
    host = arrays("float64")
    J = jacobian(host["A"], host["U"], host["V"])
    mask = np.zeros((N1 + N2, 1))
    mask[[2, N1, N1 + 3]] = 1
    chosen = np.tile(mask[:, 0], R) > 0  # the entries of as_vector(W)
    A, U, V, W, w = (xp.asarray(part) for part in host.values())
    tangent = TangentView(as_operator(A).tangent(U, V), mask=xp.asarray(mask))
    along = J[:, chosen] @ host["W"].T.ravel()[chosen]
    assert np.allclose(to_numpy(tangent.apply(W)), along)
    for found, expected in (
        (tangent.adjoint(w), J.T @ host["w"]),
        (tangent.normal_map(w)(W), J.T @ (host["w"] * along)),
        (admissible(tangent, W), host["W"].T.ravel()),
    ):
        assert np.allclose(to_numpy(as_vector(found)), np.where(chosen, expected, 0))
    assert normal_matrix(tangent, w) is None  # that of the inner map has other entries


def test_scattered_values_are_at_their_rows(xp: Any) -> None:
    values, rows = xp.asarray(np.asarray([5.0, 6.0])), xp.asarray(np.asarray([0, 3]))
    assert to_numpy(scattered(values, rows, 5)).tolist() == [5, 0, 0, 6, 0]


def test_shares_are_combined_over_all_blocks() -> None:
    rows = np.ones((1100, 1, 4))  # blocks of 512 rows and a remainder
    rows[[700, 1050], 0, 2] = [7, 5]
    tangent = StoredTangent(rows, np.ones((2, 1)), np.ones((2, 1)))
    assert share_maxima(tangent, np.ones(1100)) == pytest.approx([1 / 4, 1 / 4, 49 / 52, 1 / 4])
    without = np.where(np.arange(1100) == 700, 0.0, 1.0)
    assert to_numpy(share_maxima(tangent, without))[2] == pytest.approx(25 / 28)
    counts = share_counts(
        tangent, np.asarray([0.2, 0.3, 0.5, 0.2]), np.stack([without, 1 - without])
    )
    assert to_numpy(counts).tolist() == [[1098, 0, 1, 1098], [0, 0, 1, 0]]


def test_normal_matrix_is_accumulated_over_all_blocks() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((1100, 1, 4))  # blocks of 512 rows and a remainder
    tangent = StoredTangent(rows, np.ones((2, 1)), np.ones((2, 1)))
    w = rng.uniform(0, 1, 1100)
    flat = rows[:, 0]
    assert np.allclose(to_numpy(normal_matrix(tangent, w)), flat.T @ (w[:, None] * flat))


def test_stored_map_accepts_a_leading_axis_of_problems(xp: Any) -> None:
    rng = np.random.default_rng(5)
    rows, W, w = (rng.standard_normal(s) for s in ((3, 20, R, 11), (3, 11, R), (3, 20)))
    tangent = StoredTangent(xp.asarray(rows), None, None)
    found = [tangent.apply(xp.asarray(W)), tangent.adjoint(xp.asarray(w))]
    gram = tangent.normal_map(xp.asarray(w))(xp.asarray(W))
    matrix = to_numpy(normal_matrix(tangent, xp.asarray(w**2)))
    for k in range(3):
        alone = StoredTangent(rows[k], None, None)
        assert np.allclose(to_numpy(found[0])[k], alone.apply(W[k]))
        assert np.allclose(to_numpy(found[1])[k], alone.adjoint(w[k]))
        assert np.allclose(to_numpy(gram)[k], alone.normal_map(w[k])(W[k]))
        assert np.allclose(matrix[k], to_numpy(normal_matrix(alone, w[k] ** 2)))


def test_vector_of_a_matrix_is_column_after_column(xp: Any) -> None:
    W = np.arange(6.0).reshape(3, 2)
    vector = as_vector(xp.asarray(W))
    assert to_numpy(vector).tolist() == [0, 2, 4, 1, 3, 5]
    assert np.array_equal(to_numpy(from_vector(vector, 2)), W)
