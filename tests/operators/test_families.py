"""Bilinear, sparse and matrix-free measurements: each agrees with the dense operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import robustrank as rr
from examples.operators.rank_one import RankOneOperator
from robustrank.backend import library, to_numpy
from robustrank.linalg import normal_matrix, quadratic_forms, share_counts, share_maxima
from robustrank.operators import (
    Bilinear,
    CountedOperator,
    Entries,
    LinearMap,
    Operator,
    SparseOperator,
    SymmetricOperator,
    TransposedOperator,
    UnstoredTangent,
    as_operator,
    check_operator,
)
from robustrank.theory import degrees_of_freedom

M, SHAPE, RANK = 300, (12, 9), 2
Matrix = np.ndarray[Any, Any]


def bilinear(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    a, b = (rng.standard_normal((m, n)).astype(dtype) for n in shape)
    return Bilinear(a, b), np.einsum("mi,mj->mij", a, b)


def sparse_rows(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    dense = rng.standard_normal((m, *shape)).astype(dtype)
    dense[rng.random(dense.shape) > 0.1] = 0
    dense[:, 1, 2] = 0  # an entry of M that no measurement depends on is skipped
    return sparse.csc_array(dense.reshape(m, -1)), dense


def single_entries(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    dense = np.zeros((m, *shape), dtype)
    rows, columns = (rng.integers(n, size=m) for n in shape)
    dense[np.arange(m), rows, columns] = rng.uniform(1, 2, m)
    return sparse.coo_matrix(dense.reshape(m, -1)), dense


def linear_operator(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    dense = rng.standard_normal((m, *shape)).astype(dtype)
    return aslinearoperator(dense.reshape(m, -1)), dense


def fourier(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    """Random signs, a convolution with a random kernel, and some points of the result."""
    n1, n2 = shape
    signs = rng.choice([-1.0, 1.0], shape)
    kernel = np.fft.fft2(rng.standard_normal(shape))
    points = rng.choice(n1 * n2, m, replace=m > n1 * n2)

    def matvec(x: Matrix) -> Matrix:
        convolved = np.fft.ifft2(np.fft.fft2(signs * x.reshape(shape)) * kernel).real
        return convolved.ravel()[points].astype(dtype)

    def rmatvec(w: Matrix) -> Matrix:
        spread = np.bincount(points, w.ravel(), n1 * n2).reshape(shape)
        back = np.fft.ifft2(np.fft.fft2(spread) * kernel.conj()).real
        return (signs * back).ravel().astype(dtype)

    given = LinearOperator((m, n1 * n2), matvec=matvec, rmatvec=rmatvec, dtype=np.dtype(dtype))
    return given, np.stack([matvec(x) for x in np.eye(n1 * n2)], axis=1).reshape(m, *shape)


def pylops_operator(
    rng: np.random.Generator, m: int, shape: tuple[int, int], dtype: str
) -> tuple[Any, Matrix]:
    """Random rows after random signs, as a product of two operators."""
    import pylops  # imports PyTorch

    dense = rng.standard_normal((m, shape[0] * shape[1])).astype(dtype)
    signs = rng.choice([-1.0, 1.0], dense.shape[1]).astype(dtype)
    given = pylops.MatrixMult(dense, dtype=dtype) @ pylops.Diagonal(signs, dtype=dtype)
    return given, (dense * signs).reshape(m, *shape)


Family = Callable[[np.random.Generator, int, tuple[int, int], str], tuple[Any, Matrix]]
FAMILIES: dict[str, Family] = {
    "bilinear": bilinear,
    "sparse": sparse_rows,
    "single entries": single_entries,
    "linear operator": linear_operator,
    "fourier": fourier,
    "pylops": pylops_operator,
}
BY_PRODUCTS = {"linear operator", "fourier", "pylops"}


def made(family: str, dtype: str = "float64") -> tuple[Operator, Matrix]:
    """The operator of a family, and its sensing data."""
    given, dense = FAMILIES[family](np.random.default_rng(1), M, SHAPE, dtype)
    return as_operator(given, SHAPE), dense


def close(found: Any, expected: Any, dtype: str = "float64") -> bool:
    difference = np.linalg.norm(np.asarray(found, float) - np.asarray(expected, float))
    tolerance = 1e-11 if dtype == "float64" else 1e-4
    return bool(difference <= tolerance * np.linalg.norm(np.asarray(expected, float)))


@pytest.mark.parametrize("family", FAMILIES)
def test_family_fulfills_the_contract(family: str, dtype: str) -> None:
    operator, _ = made(family, dtype)
    assert operator.shape == (M, SHAPE)
    assert operator.dtype == dtype
    assert type(operator) in (Bilinear, SparseOperator, LinearMap)
    check = check_operator(operator)
    assert check.passed, check


@pytest.mark.parametrize("family", FAMILIES)
def test_family_agrees_with_the_dense_operator(family: str, dtype: str) -> None:
    operator, dense = made(family, dtype)
    plain = as_operator(dense)
    rng = np.random.default_rng(2)
    U, V = (rng.standard_normal((n, RANK)).astype(dtype) for n in SHAPE)
    w = rng.standard_normal(M).astype(dtype)
    assert close(operator.measure(U, V), plain.measure(U, V), dtype)
    for found, expected in zip(
        operator.backproject(w, U[:, :1], V), plain.backproject(w, U[:, :1], V), strict=True
    ):
        assert close(found, expected, dtype)
    values = operator.leading_svd(w, 2, rng, plus=(U, V))[1]
    assert close(values, plain.leading_svd(w, 2, rng, plus=(U, V))[1], dtype)
    norms, exact = operator.row_norms(), np.linalg.norm(dense.astype(float), axis=(1, 2))
    if family in BY_PRODUCTS:
        assert np.allclose(norms, exact, rtol=0.35)
        assert np.median(norms / exact) == pytest.approx(1, abs=0.03)
    else:
        assert close(norms, exact, dtype)


@pytest.mark.parametrize("view", [lambda it: it, CountedOperator, TransposedOperator])
@pytest.mark.parametrize("family", FAMILIES)
def test_tangent_map_agrees_with_the_dense_operator(
    family: str, view: Callable[[Operator], Operator]
) -> None:
    given, dense = made(family)
    operator, plain = view(given), view(as_operator(dense))
    rng = np.random.default_rng(2)
    U, V = (rng.standard_normal((n, RANK)) for n in operator.matrix_shape)
    W, w = rng.standard_normal((sum(SHAPE), RANK)), rng.uniform(0, 1, M)
    found, expected = operator.tangent(U, V), plain.tangent(U, V)
    assert close(found.measure(W[0]), expected.measure(W[0]))
    assert close(found.apply(W), expected.apply(W))
    assert close(found.adjoint(w), expected.adjoint(w))
    assert close(found.normal_map(w)(W), expected.normal_map(w)(W))
    if family in BY_PRODUCTS or view is TransposedOperator:
        assert normal_matrix(found, w) is None
        return
    assert close(normal_matrix(found, w), normal_matrix(expected, w))
    S = rng.standard_normal((RANK * sum(SHAPE),) * 2)
    assert close(quadratic_forms(found, S + S.T), quadratic_forms(expected, S + S.T))


def half_blind(seed: int, square: bool = False) -> Matrix:
    """Sensing data of which each row depends on half of the rows and columns of the matrix."""
    rng = np.random.default_rng(seed)
    n1, n2 = SHAPE if not square else (SHAPE[0],) * 2
    dense = rng.standard_normal((M, n1, n2))
    return dense * (rng.random((M, n1, 1)) < 0.5) * (rng.random((M, 1, n2)) < 0.5)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("form", ["sparse", "linear operator"])
def test_measurements_that_depend_on_a_part_are_counted(form: str, symmetric: bool) -> None:
    dense = half_blind(3, square=symmetric)
    flat = dense.reshape(M, -1)
    given: Any = sparse.csr_array(flat) if form == "sparse" else aslinearoperator(flat)
    operators = [as_operator(given, dense.shape[1:]), as_operator(dense)]
    rng = np.random.default_rng(4)
    U, V = (np.linalg.qr(rng.standard_normal((n, RANK)))[0] for n in dense.shape[1:])
    if symmetric:
        operators, V = [SymmetricOperator(it) for it in operators], U
    found, expected = (CountedOperator(it).tangent(U, V) for it in operators)
    chosen, weights = (np.arange(M) % 3 > 0).astype(float), rng.uniform(0, 1, (2, M))
    maxima, exact = share_maxima(found, chosen), share_maxima(expected, chosen)
    assert maxima is not None
    assert exact is not None
    assert close(maxima, exact)
    counts = share_counts(found, 1e-6 * maxima, weights)
    assert counts is not None
    assert close(counts, share_counts(expected, 1e-6 * exact, weights))
    assert 0.2 * M < counts.min() / weights.mean() < counts.max() / weights.mean() < 0.95 * M


def test_rows_of_the_tangent_map_are_combined_over_all_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator, dense = made("sparse")
    rng = np.random.default_rng(5)
    U, V = (rng.standard_normal((n, RANK)) for n in SHAPE)
    w, least = rng.uniform(0, 1, M), np.full(sum(SHAPE), 0.05)
    monkeypatch.setattr("robustrank.linalg.tangent.BLOCK_ENTRIES", 42 * 7)
    found, expected = operator.tangent(U, V), as_operator(dense).tangent(U, V)
    assert close(normal_matrix(found, w), normal_matrix(expected, w))
    assert close(share_maxima(found, w), share_maxima(expected, w))
    assert close(share_counts(found, least, w[None]), share_counts(expected, least, w[None]))
    S = np.eye(RANK * sum(SHAPE))
    assert close(quadratic_forms(found, S), quadratic_forms(expected, S))


def test_gram_of_bilinear_measurements_is_combined_over_all_blocks(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    operator, dense = made("bilinear", dtype)
    rng = np.random.default_rng(5)
    U, V, W = (rng.standard_normal((n, RANK)).astype(dtype) for n in (*SHAPE, sum(SHAPE)))
    w = rng.uniform(0, 1, M).astype(dtype)
    monkeypatch.setattr("robustrank.operators.bilinear._BLOCK_ENTRIES", 21 * 7)
    gram = operator.tangent(U, V).normal_map(w)(W)
    assert gram.dtype == dtype
    assert close(gram, as_operator(dense).tangent(U, V).normal_map(w)(W), dtype)


def test_products_of_the_tangent_map_are_counted_as_passes() -> None:
    for family, matrices in (("bilinear", 1), ("sparse", 1), ("linear operator", 0)):
        operator = CountedOperator(made(family)[0])
        U, V = (np.ones((n, RANK)) for n in SHAPE)
        tangent = operator.tangent(U, V)
        assert operator.counter.passes == 0
        tangent.apply(np.ones((sum(SHAPE), RANK)))
        tangent.adjoint(np.ones(M))
        tangent.measure(np.ones(RANK))
        assert operator.counter.passes == 3
        tangent.normal_map(np.ones(M))(np.ones((sum(SHAPE), RANK)))
        assert operator.counter.passes == 5
        normal_matrix(tangent, np.ones(M))
        quadratic_forms(tangent, np.eye(RANK * sum(SHAPE)))
        assert operator.counter.passes == 5 + 2 * matrices


def planted(
    family: str, seed: int, share: float, size: float, dtype: str = "float64"
) -> tuple[Any, Matrix, Matrix, Matrix]:
    """60 × 50 of rank 2 with 4 measurements for each degree of freedom, and outliers."""
    rng = np.random.default_rng(seed)
    n1, n2 = 60, 50
    m = 4 * degrees_of_freedom(n1, n2, 2)
    left, right = (rng.standard_normal((n, 2)) for n in (n1, n2))
    given, dense = FAMILIES[family](rng, m, (n1, n2), dtype)
    y = dense.reshape(m, -1).astype(float) @ (left @ right.T).ravel()
    outliers = np.zeros(m, bool)
    outliers[rng.choice(m, round(share * m), replace=False)] = True
    y[outliers] = size * np.std(y) * rng.standard_normal(int(outliers.sum()))
    return given, y.astype(dtype), left @ right.T, outliers


@pytest.mark.parametrize(("share", "size"), [(0.2, 100), (0.1, 1)])
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "single entries"])
def test_planted_matrix_is_recovered_and_certified(family: str, share: float, size: float) -> None:
    A, y, matrix, outliers = planted(family, 1, share, size)
    result = rr.recover(A, y, 2, shape=(60, 50), rng=0)
    assert result.status is rr.Status.RECOVERED
    assert np.linalg.norm(result.matrix - matrix) < 1e-6 * np.linalg.norm(matrix)
    assert (result.outliers == outliers).all()


@pytest.mark.parametrize("family", ["bilinear", "sparse", "linear operator"])
def test_planted_matrix_is_recovered_in_single_precision(family: str) -> None:
    A, y, matrix, _ = planted(family, 2, 0.1, 100, "float32")
    result = rr.recover(A, y, 2, shape=(60, 50), rng=0)
    assert result.status is rr.Status.RECOVERED
    assert str(result.left.dtype) == "float32"
    assert np.linalg.norm(result.matrix - matrix) < 1e-5 * np.linalg.norm(matrix)


def test_pylops_operator_knows_the_shape_of_the_matrix() -> None:
    import pylops

    operator = pylops.FirstDerivative((7, 5), axis=0)
    assert as_operator(operator).matrix_shape == (7, 5)
    with pytest.raises(ValueError, match=r"pass shape=\(n1, n2\) with n1\*n2 = 35"):
        as_operator(pylops.Identity(35))


FORMS: dict[str, Callable[[Matrix], Any]] = {
    "dense": lambda A: A,
    "sparse": lambda A: sparse.csr_array(A.reshape(len(A), -1)),
    "linear operator": lambda A: aslinearoperator(A.reshape(len(A), -1)),
    "bilinear": lambda A: Bilinear(A.any(axis=2), A.any(axis=1)),
    "a new family": lambda A: RankOneOperator(1.0 * A.any(axis=2), 1.0 * A.any(axis=1)),
    "entries": lambda A: Entries(np.nonzero(A)[1], np.nonzero(A)[2], A.shape[1:]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_row_that_a_majority_contradicts_is_not_certified(form: str) -> None:
    """Sampled entries; in row 3, most of them agree on another vector."""
    rng = np.random.default_rng(6)
    n1, n2 = 20, 30
    left, right = (rng.standard_normal((n, 2)) for n in (n1, n2))
    truth = left @ right.T
    observed = truth.copy()
    wrong = rng.choice(n2, 20, replace=False)
    observed[3, wrong] = (rng.standard_normal(2) @ right.T)[wrong]
    A = np.eye(n1 * n2).reshape(-1, n1, n2)
    result = rr.recover(FORMS[form](A), observed.ravel(), 2, shape=(n1, n2), rng=0)
    if form == "entries" or result.certified:  # what is certified are the other rows
        assert result.undecided_rows.tolist() == [3]
        assert np.allclose(np.delete(result.matrix, 3, axis=0), np.delete(truth, 3, axis=0))
        return
    assert not result.certified
    assert result.certificate.contested or result.certificate.objections or result.alternative


def test_bilinear_measurements_work_with_every_array_library(xp: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((400, n)) for n in (20, 15))
    left, right = (rng.standard_normal((n, RANK)) for n in (20, 15))
    y = np.sum((a @ left) * (b @ right), axis=1)
    y[:20] *= -30
    result = rr.recover(Bilinear(xp.asarray(a), xp.asarray(b)), xp.asarray(y), RANK)
    assert result.status is rr.Status.RECOVERED
    assert library(result.left) == library(xp.asarray(y))
    factors = to_numpy(result.left), to_numpy(result.right)
    assert rr.metrics.normalized_error(factors, (left, right)) < 1e-10


def test_quadratic_measurements_of_a_symmetric_matrix() -> None:
    rng = np.random.default_rng(7)
    a, L = rng.standard_normal((400, 20)), rng.standard_normal((20, 2))
    M = L * [2.0, -1.0] @ L.T
    y = np.einsum("ij,jk,ik->i", a, M, a)
    y[:60] = 100 * rng.standard_normal(60)
    result = rr.recover(Bilinear(a, a), y, 2, symmetric=True)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, M)
    assert rr.recover(Bilinear(a, a), y, 2).status is rr.Status.NOT_IDENTIFIED


def test_integers_and_booleans_are_converted() -> None:
    rng = np.random.default_rng(8)
    small = rng.integers(0, 100, (M, 108), dtype=np.int8)
    operator = as_operator(sparse.csr_matrix(small), SHAPE)
    assert operator.dtype == np.float64
    assert close(operator.row_norms(), np.linalg.norm(small.astype(float), axis=1))
    assert Bilinear(small > 50, small).dtype == np.float64
    assert as_operator(aslinearoperator(small), SHAPE).dtype == np.float64


def test_entries_stored_several_times_are_added_and_the_input_is_not_changed() -> None:
    parts = np.full(3, 100, np.int8), (np.zeros(3, int), np.asarray([5, 5, 5]))
    given = sparse.coo_array(parts, shape=(1, 108))
    operator = as_operator(given, SHAPE)
    U, V = (np.eye(n, RANK) for n in SHAPE)
    assert operator.row_norms().tolist() == [300]
    assert operator.measure(U, V).tolist() == [0]
    assert given.nnz == 3


class Columns:
    """Products that are columns instead of vectors."""

    shape, dtype = (5, 12), float

    def matvec(self, x: Matrix) -> Matrix:
        return np.ones((5, 1))

    def rmatvec(self, w: Matrix) -> Matrix:
        return np.ones((12, 1))


def with_products(forward: Any, backward: Any, dtype: Any = float) -> LinearOperator[Any]:
    return LinearOperator((5, 12), matvec=forward, rmatvec=backward, dtype=dtype)


def not_a_number(dtype: Any) -> Any:
    data = np.ones((5, 12), dtype)
    data[3, 4] = np.nan
    return sparse.csr_array(data)


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sparse with NaN": (
        lambda: not_a_number(float),
        ValueError,
        r"NaN or infinity \(first in row 3",
    ),
    "sparse and complex": (
        lambda: sparse.eye_array(12, dtype=complex),
        TypeError,
        "complex128; expected float32",
    ),
    "sparse of another size": (
        lambda: sparse.eye_array(13),
        ValueError,
        r"A has 13 columns, but shape=\(3, 4\) needs 3 × 4 = 12",
    ),
    "sparse without rows": (lambda: sparse.csr_array((0, 12)), ValueError, "no measurements"),
    "no rmatvec": (
        lambda: LinearOperator((5, 12), matvec=lambda x: x[:5]),
        ValueError,
        "without rmatvec; expected one that also",
    ),
    "wrong rmatvec": (
        lambda: with_products(lambda x: x[:5], lambda w: np.arange(12.0) * w.sum()),
        ValueError,
        "expected that rmatvec multiplies by the transpose of what matvec multiplies by",
    ),
    "rmatvec that is slightly wrong": (
        lambda: with_products(lambda x: x[:5], lambda w: 1.0001 * np.pad(w.ravel(), (0, 7))),
        ValueError,
        "the products of A do not belong to one matrix",
    ),
    "not linear": (
        lambda: with_products(lambda x: x[:5] + 1, lambda w: np.pad(w.ravel(), (0, 7))),
        ValueError,
        "the products of A do not belong to one matrix",
    ),
    "complex products": (
        lambda: with_products(lambda x: 1j * x[:5], lambda w: np.pad(w.ravel(), (0, 7))),
        TypeError,
        "matvec of A returns complex128; expected real",
    ),
    "complex operator": (
        lambda: with_products(lambda x: x[:5], lambda w: w, complex),
        TypeError,
        "dtype complex128; expected real numbers",
    ),
    "NaN products": (
        lambda: with_products(lambda x: np.nan * x[:5], lambda w: w),
        ValueError,
        "matvec of A returns NaN or infinity",
    ),
    "columns": (Columns, ValueError, r"returns the shape \(5, 1\); expected \(5,\)"),
    "left has NaN": (
        lambda: Bilinear(np.full((5, 3), np.nan), np.ones((5, 4))),
        ValueError,
        "left contains NaN or infinity",
    ),
    "different numbers of vectors": (
        lambda: Bilinear(np.ones((5, 3)), np.ones((6, 4))),
        ValueError,
        "left has 5 rows and right has 6; expected one of each",
    ),
    "left is a vector": (
        lambda: Bilinear(np.ones(5), np.ones((5, 4))),
        ValueError,
        r"left has shape \(5,\); expected a matrix",
    ),
    "right is complex": (
        lambda: Bilinear(np.ones((5, 3)), np.ones((5, 4), complex)),
        TypeError,
        "right has dtype complex128",
    ),
    "right is masked": (
        lambda: Bilinear(np.ones((5, 3)), np.ma.masked_array(np.ones((5, 4)))),
        TypeError,
        "right is a masked array",
    ),
    "right is a tensor": (
        lambda: Bilinear(np.ones((5, 3)), pytest.importorskip("torch").ones((5, 4))),
        TypeError,
        "left is a numpy array and right is a torch array",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_sensing_data_raises(case: str) -> None:
    make, error, message = BAD[case]
    with pytest.raises(error, match=message):
        as_operator(make(), (3, 4))


def test_sparse_matrix_without_shape_or_entries_raises() -> None:
    with pytest.raises(ValueError, match=r"pass shape=\(n1, n2\) with n1\*n2 = 12"):
        as_operator(sparse.eye_array(12))
    with pytest.raises(ValueError, match="A is all zero"):
        rr.recover(sparse.csr_array((50, 12)), np.ones(50), 1, shape=(3, 4))


@pytest.mark.parametrize("form", ["sparse", "linear operator"])
def test_device_is_refused_with_a_reason(form: str) -> None:
    A = FORMS[form](np.ones((5, 3, 4)))
    with pytest.raises(TypeError, match="expected an array"):
        rr.recover(A, np.ones(5), 1, shape=(3, 4), device="cuda")


@pytest.mark.parametrize(("rank", "products"), [(1, 1), (2, 2), (5, 2)])
def test_probing_takes_at_most_two_products_for_each_row_and_column(
    rank: int, products: int
) -> None:
    dense = half_blind(9)
    operator = CountedOperator(as_operator(aslinearoperator(dense.reshape(M, -1)), SHAPE))
    rng = np.random.default_rng(10)
    U, V = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in SHAPE)
    tangent: Any = operator.tangent(U, V)
    assert isinstance(tangent, UnstoredTangent)
    assert tangent.probed
    expected = as_operator(dense).tangent(U, V)
    exact: Any = share_maxima(expected, np.ones(M))
    maxima: Any = share_maxima(tangent, np.ones(M))
    counts = share_counts(tangent, 1e-6 * maxima, np.ones((1, M)))
    assert operator.counter.passes == products * sum(SHAPE)
    assert close(counts, share_counts(expected, 1e-6 * exact, np.ones((1, M))))
