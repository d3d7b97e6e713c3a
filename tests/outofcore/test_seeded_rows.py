"""Rows that are generated from a seed: the same however they are read."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustrank.outofcore.blocks import blocks
from robustrank.outofcore.seeded_rows import SeededRows

ENSEMBLES: tuple[Any, ...] = ("gaussian", "sign")


@pytest.mark.parametrize("ensemble", ENSEMBLES)
@pytest.mark.parametrize("size", [1, 1003, 2**14, 70_001])
def test_rows_do_not_depend_on_how_they_are_read(ensemble: Any, size: int, dtype: str) -> None:
    source = SeededRows(max(5, 150_000 // size), size, 9, ensemble, dtype)
    whole = source.read(0, source.rows)
    assert whole.dtype == source.dtype == np.dtype(dtype)
    for rows, block in blocks(source, 300_000):
        assert np.array_equal(block, whole[rows])

    @given(st.integers(0, source.rows), st.integers(0, source.rows))
    def check(a: int, b: int) -> None:
        first, last = min(a, b), max(a, b)
        assert np.array_equal(source.read(first, last), whole[first:last])

    check()


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_rows_do_not_depend_on_the_number_of_threads(
    ensemble: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SeededRows(2000, 300, 4, ensemble)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        results.append(source.read(13, 1987).tobytes())
    assert len(set(results)) == 1


def test_rows_do_not_depend_on_their_number() -> None:
    assert np.array_equal(SeededRows(3, 7, 1).read(0, 3), SeededRows(9, 7, 1).read(0, 3))


# The beginning of rows 0 and 70,001 of a source with rows of 40 entries.
NORMALS = {
    "float64": (
        [1.2563017674082932, -0.6887393613928546, 1.3569342871062071],
        [-0.7114076923105419, 0.17328343207873273, -0.3141234225775219],
    ),
    "float32": (
        [0.36440613865852356, -1.283803105354309, -1.493194341659546],
        [1.465590238571167, -0.1696774661540985, 0.1007453054189682],
    ),
}
SIGNS = ("a802303380", "5d5c63dcf3")


def test_the_random_sequences_never_change(dtype: str) -> None:
    normal = SeededRows(100_000, 40, 2**100 + 12345, "gaussian", dtype)
    sign = SeededRows(100_000, 40, 2**100 + 12345, "sign", dtype)
    for k, row in enumerate((0, 70_001)):
        assert normal.read(row, row + 1)[0, :3].tolist() == NORMALS[dtype][k]
        assert np.packbits(sign.read(row, row + 1) > 0).tobytes().hex() == SIGNS[k]


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_moments(ensemble: Any, dtype: str) -> None:
    X = SeededRows(1000, 1000, 0, ensemble, dtype).read(0, 1000).astype(float)
    if ensemble == "sign":
        assert set(np.unique(X)) == {-1.0, 1.0}
    assert abs(X.mean()) < 4e-3  # four standard deviations
    assert abs((X**2).mean() - 1) < 6e-3
    correlation = np.corrcoef(X)[~np.eye(1000, dtype=bool)]  # of rows, also of different groups
    assert abs(correlation).max() < 6 / np.sqrt(1000)
    assert abs(np.mean(X[:, 1:] * X[:, :-1])) < 4e-3


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_seeds_and_groups_differ(ensemble: Any, dtype: str) -> None:
    seeds = [0, 1, 2**64, 2**64 + 1, 2**127, 2**128 - 1]
    rows = [SeededRows(3000, 64, seed, ensemble, dtype).read(0, 1) for seed in seeds]
    assert len({row.tobytes() for row in rows}) == len(seeds)
    every = SeededRows(3000, 64, 0, ensemble, dtype).read(0, 3000)
    assert len({row.tobytes() for row in every}) == 3000


def test_signs_are_the_same_in_both_dtypes() -> None:
    single = SeededRows(50, 99, 5, "sign", "float32").read(0, 50)
    assert np.array_equal(SeededRows(50, 99, 5, "sign").read(0, 50), single)


def test_pickled_by_value() -> None:
    source = SeededRows(10**6, 10**4, 2**128 - 1, "sign", np.float32)
    pickled = pickle.dumps(source)
    assert len(pickled) < 500
    assert pickle.loads(pickled) == source == SeededRows(10**6, 10**4, 2**128 - 1, "sign", "f4")
    assert source != SeededRows(10**6, 10**4, 2**128 - 1, "sign", "f8")


@pytest.mark.parametrize("seed", [-1, 2**128, 1.0, True, None, "1"])
def test_bad_seeds_raise(seed: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"seed=.*from 0 to 2\^128 - 1"):
        SeededRows(1, 1, seed)


def test_other_bad_arguments_raise() -> None:
    with pytest.raises(ValueError, match="rows=0"):
        SeededRows(0, 1, 1)
    with pytest.raises(ValueError, match='expected "gaussian" or "sign"'):
        SeededRows(1, 1, 1, "uniform")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='expected "float32" or "float64"'):
        SeededRows(1, 1, 1, dtype="float16")
