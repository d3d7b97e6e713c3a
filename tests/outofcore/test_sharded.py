"""Measurements in shards: the same as those of one array in memory, wherever the rows are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.linalg import (
    TangentMap,
    admissible,
    normal_matrix,
    quadratic_forms,
    share_counts,
    share_maxima,
)
from robustrank.operators import (
    CountedOperator,
    DenseOperator,
    Entries,
    Operator,
    Seeded,
    as_operator,
    check_operator,
    kernels,
)
from robustrank.outofcore import LocalEngine, ShardedRows, blocks, how_it_was_read, sharded
from robustrank.outofcore.sharded import sharded_entries
from robustrank.outofcore.sharded_tangent import ShardedTangent
from robustrank.outofcore.sources import is_in_memory
from robustrank.outofcore.tangent_storage import Place, TangentStorage

M, N1, N2, R = 300, 12, 10, 2
SHARDS = 5
Array = np.ndarray[Any, Any]
VALUES = np.asarray([2.0, -0.5])


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "_SHARD_ENTRIES", M // SHARDS)


def data(stored: str) -> Array:
    rng = np.random.default_rng(8)
    if stored in ("int8", "bool"):
        return rng.integers(0, 2, (M, N1, N2)).astype(stored)
    return rng.standard_normal((M, N1, N2)).astype(stored)


def path(folder: Path, stored: str = "float64", name: str = "A") -> Path:
    np.save(folder / f"{name}.npy", data(stored))
    return folder / f"{name}.npy"


def paths(folder: Path) -> list[Path]:
    for k, part in enumerate(np.split(data("float64"), [70, 71, 200])):
        np.save(folder / f"{k}.npy", part)
    return [folder / f"{k}.npy" for k in range(4)]


def h5py_dataset(folder: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    h5py.File(folder / "A.h5", "w").create_dataset("A", data=data("float64"), chunks=(7, N1, N2))
    return h5py.File(folder / "A.h5", "r")["A"]


def zarr_array(folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(folder / "A.zarr", data=data("float64"), chunks=(11, N1, N2))
    return zarr.open_array(array.store_path.store.root, mode="r")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "memory map": lambda folder: np.load(path(folder), mmap_mode="r"),
    "path": path,
    "list of paths": paths,
    "h5py": h5py_dataset,
    "zarr": zarr_array,
    "path of zarr": lambda folder: (zarr_array(folder), folder / "A.zarr")[1],
    "float32": lambda folder: path(folder, "float32"),
    "float16": lambda folder: path(folder, "float16"),
    "int8": lambda folder: path(folder, "int8"),
    "bool": lambda folder: path(folder, "bool"),
    "Seeded gaussian": lambda _: Seeded(M, (N1, N2), 5),
    "Seeded sign": lambda _: Seeded(M, (N1, N2), 5, "sign"),
    "entries": lambda _: sharded_entries(entries(), LocalEngine()),
}


def entries() -> Entries:
    rows, columns = np.random.default_rng(2).integers(0, [[N1], [N2]], (2, M))
    return Entries(rows, columns, (N1, N2))


def dense(source: str, operator: Operator) -> DenseOperator:
    """The operator of the whole array in float64."""
    if source == "entries":
        A = np.zeros((M, N1, N2))
        A[np.arange(M), *(np.asarray(part) for part in (entries().rows, entries().columns))] = 1
    elif source.startswith("Seeded"):
        assert isinstance(operator, ShardedRows)
        A = np.concatenate([shard.read(0, shard.rows) for shard in operator.shards])
    else:
        A = data(source if source in ("float32", "float16", "int8", "bool") else "float64")
    return DenseOperator(A.reshape(M, -1).astype(float), (N1, N2))


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def operator_of(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    single = source in ("float32", "float16", "int8", "bool")
    monkeypatch.setattr(sharded, "_SHARD_BYTES", M * N1 * N2 * (4 if single else 8) // SHARDS)
    operator = as_operator(SOURCES[source](folder))
    assert isinstance(operator, sharded.ShardedOperator)
    assert len(operator.shards) == SHARDS
    assert sum(operator.counts) == M
    return operator


def factors(dtype: Any) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(3)
    U, V, W = (rng.standard_normal((n, R)).astype(dtype) for n in (N1, N2, N1 + N2))
    return U, V, W, rng.standard_normal(M).astype(dtype)


def close(found: Any, expected: Any, rtol: float) -> None:
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) <= rtol * np.linalg.norm(expected)


def test_products_agree_with_those_of_an_array_in_memory(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = operator_of(source, tmp_path, monkeypatch)
    expected = dense(source, operator)
    rtol = {"float32": 1e-5, "float64": 1e-12}[str(np.dtype(operator.dtype))]
    single = source in ("float32", "float16", "entries")
    assert np.dtype(operator.dtype) == ("float32" if single else "float64")
    assert operator.shape == expected.shape
    assert f"{M} measurements of a {N1} × {N2} matrix" in repr(operator)
    U, V, W, w = factors(operator.dtype)
    close(operator.measure(U, V), expected.measure(U, V), rtol)
    for found, correct in zip(
        operator.backproject(w, U, V), expected.backproject(w, U, V), strict=True
    ):
        close(found, correct, rtol)
    for plus in (None, (U, V)):
        rng = np.random.default_rng(1)
        values = operator.leading_svd(w, 3, rng, plus)[1]
        close(values, expected.leading_svd(w, 3, rng, plus)[1], rtol)
    if source != "entries":  # whose norms are known; those of integers are in float32
        close(operator.row_norms(), expected.row_norms(), 1e-6)
    tangent, stored = operator.tangent(U, V), expected.tangent(U, V)
    values = VALUES.astype(operator.dtype)
    close(tangent.measure(values), stored.measure(values), rtol)
    close(tangent.apply(W), stored.apply(W), rtol)
    close(tangent.adjoint(w), stored.adjoint(w), rtol)
    normal = tangent.normal_map(w)
    for scale in (1, 2):
        close(normal(scale * W), scale * stored.normal_map(w)(W), rtol)
    assert normal_matrix(tangent, w) is None
    assert quadratic_forms(tangent, W) is None
    assert np.array_equal(admissible(tangent, W), W)


def test_shares_agree_with_those_of_an_array_in_memory(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = operator_of(source, tmp_path, monkeypatch)
    U, V, _, _ = factors(operator.dtype)
    tangent, stored = operator.tangent(U, V), dense(source, operator).tangent(U, V)
    chosen = (np.arange(M) % 3 > 0).astype(operator.dtype)
    weights = np.stack([chosen, np.linspace(1, 2, M)])
    maxima = share_maxima(tangent, chosen)
    expected = share_maxima(stored, chosen)
    assert maxima is not None
    close(maxima, expected, 1e-5)
    # Between two neighbouring numbers of a share, so that rounding does not change a count.
    least = np.full(N1 + N2, 1 / np.sqrt(2 * (N1 + N2) ** 2))
    counts = share_counts(tangent, least, weights)
    assert counts is not None
    close(counts, share_counts(stored, least, weights), 1e-6)


def test_contract_is_fulfilled(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = check_operator(operator_of(source, tmp_path, monkeypatch))
    assert check.passed, check


class Fixed(TangentStorage):
    """Storage whose place is given."""

    def __init__(self, where: Place, folder: Path) -> None:
        super().__init__(budget=0, folder=str(folder))
        self.where = where

    def place(self, size: int) -> Place:
        return self.record(self.where, size)


def stored_at(where: Place, folder: Path, scale: float = 1.0) -> ShardedRows:
    np.save(folder / "A.npy", scale * data("float64"))
    operator = as_operator(folder / "A.npy")
    assert isinstance(operator, ShardedRows)
    return replace(operator, storage=Fixed(where, folder))


@pytest.fixture
def five_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", M * N1 * N2 * 8 // SHARDS)


@pytest.fixture
def compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for large data: compiled loops, and maps in single precision."""
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "WORTH_COMPILING", 1)
    monkeypatch.setattr(blocks, "WORTH_COMPILING", 1)


def products(tangent: Any, w: Array, W: Array, values: Array = VALUES) -> dict[str, Array]:
    return {
        "measure": tangent.measure(values),
        "apply": tangent.apply(W),
        "adjoint": tangent.adjoint(w),
        "normal map": tangent.normal_map(w)(W),
        "maxima": share_maxima(tangent, w),
        "counts": share_counts(tangent, np.full(N1 + N2, 0.02), np.stack([w, w**2])),
    }


def different_bits(found: dict[str, Array], expected: dict[str, Array]) -> list[str]:
    return [name for name in found if found[name].tobytes() != expected[name].tobytes()]


@pytest.mark.usefixtures("five_shards")
def test_places_of_the_tangent_map_give_the_same_map(tmp_path: Path) -> None:
    U, V, W, w = factors(float)
    found = {}
    for where in (Place.MEMORY, Place.DISK):
        tangent = stored_at(where, tmp_path).tangent(U, V)
        assert isinstance(tangent, ShardedTangent)
        assert len(tangent.maps) == SHARDS
        for part in tangent.maps:
            assert is_in_memory(part.rows) == (where is Place.MEMORY)
        assert tangent.epsilon == np.finfo(float).eps
        found[where] = products(tangent, w, W)
    assert different_bits(found[Place.DISK], found[Place.MEMORY]) == []
    unstored: TangentMap = stored_at(Place.NOWHERE, tmp_path).tangent(U, V)
    assert type(unstored).__name__ == "UnstoredTangent"
    assert share_maxima(unstored, w) is None
    assert share_counts(unstored, np.ones(N1 + N2), np.ones((1, M))) is None
    for name, result in (
        ("measure", unstored.measure(VALUES)),
        ("apply", unstored.apply(W)),
        ("adjoint", unstored.adjoint(w)),
        ("normal map", unstored.normal_map(w)(W)),
    ):
        close(result, found[Place.MEMORY][name], 1e-12)


@pytest.mark.parametrize("precise", [False, True])
def test_maps_of_several_blocks_have_the_same_bits_in_memory_and_in_a_file(
    precise: bool, tmp_path: Path
) -> None:
    """The map has 8 MB or more, in several blocks of 4 MB; loops are compiled."""
    m, r = 12_000, 8
    rng = np.random.default_rng(4)
    np.save(tmp_path / "A.npy", rng.standard_normal((m, N1, N2)).astype("f4"))
    operator = as_operator(tmp_path / "A.npy")
    assert isinstance(operator, ShardedRows)
    U, V, W = (rng.standard_normal((n, r)) for n in (N1, N2, N1 + N2))
    w, values = rng.standard_normal(m), rng.standard_normal(r)
    found = []
    for where in (Place.MEMORY, Place.DISK):
        stored = replace(operator, storage=Fixed(where, tmp_path))
        tangent = stored.tangent(U, V, precise=precise)
        found.append(products(tangent, w, W, values))
    assert different_bits(*found) == []


@pytest.mark.usefixtures("five_shards", "compiled_loops")
@pytest.mark.parametrize("where", [Place.MEMORY, Place.DISK])
@pytest.mark.parametrize(
    ("precise", "scale", "dtype"),
    [(False, 1.0, "f4"), (True, 1.0, "f8"), (False, 1e30, "f8"), (False, 1e-30, "f8")],
)
def test_map_is_stored_in_single_precision_where_that_suits(
    where: Place, precise: bool, scale: float, dtype: str, tmp_path: Path
) -> None:
    """Not if it is to be precise, or if rows are near the limits of single precision."""
    U, V, W, _ = factors(float)
    operator = stored_at(where, tmp_path, scale)
    tangent = operator.tangent(U, V, precise=precise)
    assert isinstance(tangent, ShardedTangent)
    for part in tangent.maps:
        assert part.rows.dtype == dtype
    assert tangent.epsilon == np.finfo(dtype).eps
    assert operator.storage.used[where] == M * R * (N1 + N2) * np.dtype(dtype).itemsize
    exact = DenseOperator(data("float64").reshape(M, -1) * scale, (N1, N2))
    along = exact.measure(W[:N1], V) + exact.measure(U, W[N1:])
    error = np.linalg.norm(tangent.apply(W) / scale - along / scale)
    error /= np.linalg.norm(along / scale)
    assert (error < 1e-12) == (dtype == "f8")
    assert error < 1e-6
    # The core has full precision also if the rows do not.
    close(tangent.measure(np.ones(R)) / scale, exact.measure(U, V) / scale, 1e-13)


@pytest.mark.usefixtures("five_shards")
@pytest.mark.parametrize("row", [0, 59, 60, 200, M - 1])
def test_row_that_is_not_finite_is_named(row: int, tmp_path: Path) -> None:
    A = data("float64")
    A[row, 3, 4] = np.nan
    np.save(tmp_path / "A.npy", A)
    with pytest.raises(ValueError, match=rf"first in row {row}\)"):
        as_operator(tmp_path / "A.npy")


@pytest.mark.usefixtures("five_shards")
def test_norms_are_read_once_and_move_to_another_engine(tmp_path: Path) -> None:
    operator = as_operator(path(tmp_path))
    assert isinstance(operator, ShardedRows)
    (tmp_path / "A.npy").unlink()
    calls: list[None] = []
    moved = operator.on(LocalEngine(lambda: calls.append(None)))
    assert np.array_equal(moved.row_norms(), operator.row_norms())
    assert not calls
    assert operator.storage.pass_seconds > 0


@pytest.mark.usefixtures("five_shards")
def test_passes_are_counted(tmp_path: Path) -> None:
    U, V, W, w = factors(float)
    counted = CountedOperator(stored_at(Place.DISK, tmp_path))
    counted.measure(U, V)
    counted.backproject(w, U, V)
    counted.leading_svd(w, 2, np.random.default_rng(0))
    tangent = counted.tangent(U, V)
    tangent.apply(W)
    assert counted.counter.passes == 4
    unstored = CountedOperator(stored_at(Place.NOWHERE, tmp_path))
    unstored.tangent(U, V).normal_map(w)(W)
    assert unstored.counter.passes == 2


@pytest.mark.usefixtures("five_shards")
def test_description(tmp_path: Path) -> None:
    operator = stored_at(Place.DISK, tmp_path)
    assert how_it_was_read(CountedOperator(operator)) == "read in blocks, in 5 shards"
    operator.tangent(*factors(float)[:2])
    text = how_it_was_read(operator)
    assert re.fullmatch(
        r"read in blocks, in 5 shards; tangent map of .* GB in a temporary file", text
    )
    assert how_it_was_read(as_operator(data("float64"))) == ""
    of_entries = sharded_entries(entries(), LocalEngine())
    assert how_it_was_read(of_entries) == "read in blocks, in 5 shards"


def test_places_of_an_earlier_call_are_not_recorded() -> None:
    operator = Seeded(50, (6, 5), seed=1)
    operator.tangent(np.eye(6)[:, :1], np.eye(5)[:, :1])
    assert str(operator.storage).endswith("in memory")
    assert str(operator.on(LocalEngine()).storage) == ""
