"""Seeded rows that another array library generates: the same as those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.backend import load_library, to_numpy
from robustrank.operators import Seeded, check_operator
from robustrank.outofcore.random_numbers import philox_words, ziggurat
from robustrank.outofcore.seeded import GeneratedOperator
from robustrank.outofcore.seeded_rows import DeviceRows, SeededRows

ENSEMBLES: Any = ("gaussian", "sign")
PLACES = [
    pytest.param("torch", "cpu", id="torch"),
    pytest.param("jax", "cpu", id="jax"),
    pytest.param("torch", "cuda", id="torch-cuda", marks=pytest.mark.gpu),
    pytest.param("jax", "cuda", id="jax-cuda", marks=pytest.mark.gpu),
    pytest.param("cupy", None, id="cupy", marks=pytest.mark.gpu),
]
in_every_library = pytest.mark.parametrize(("library", "device"), PLACES)
# JAX compiles every operation for every shape.
in_libraries_but_jax = pytest.mark.parametrize(
    ("library", "device"), [place for place in PLACES if place.values[0] != "jax"]
)


def seeded(library: str, device: str | None, m: int = 600, **other: Any) -> Any:
    pytest.importorskip(library)
    return Seeded(m, (12, 9), seed=2**100 + 7, library=library, device=device, **other)


@pytest.mark.parametrize("count", [1, 4, 1003])
def test_words_are_those_of_numpy(xp: Any, count: int) -> None:
    seed, streams = 2**127 + 12345, [0, 5, 2**40]
    words = to_numpy(philox_words(seed, xp.asarray(streams, dtype=xp.int64), count))
    for stream, found in zip(streams, words, strict=True):
        expected = np.random.Philox(key=seed, counter=stream << 128).random_raw(count)
        np.testing.assert_array_equal(found.view(np.uint64), expected)


@in_libraries_but_jax
@pytest.mark.parametrize("size", [1, 108, 1003, 70_001])
def test_signs_are_those_of_numpy(library: str, device: Any, size: int, dtype: str) -> None:
    pytest.importorskip(library)
    source = SeededRows(max(7, 200_000 // size), size, 9, "sign", dtype)
    rows = DeviceRows(source, rr.backend.empty_array(library, device))
    for first, last in ((0, source.rows), (3, 5), (source.rows - 1, source.rows)):
        found = to_numpy(rows.read(first, last))
        assert found.dtype == source.dtype
        np.testing.assert_array_equal(found, source.read(first, last))


@in_libraries_but_jax
@pytest.mark.parametrize("size", [1, 1003, 70_001])
def test_normal_numbers_are_those_of_numpy(
    library: str, device: Any, size: int, dtype: str
) -> None:
    """Up to rounding: a number that is missing or too many would shift all that follow."""
    pytest.importorskip(library)
    source = SeededRows(max(6, 300_000 // size), size, 2**90 + 1, "gaussian", dtype)
    rows = DeviceRows(source, rr.backend.empty_array(library, device))
    whole = source.read(0, source.rows)
    assert np.abs(whole).max() > 3.7  # so that the tail is tested
    found = to_numpy(rows.read(0, source.rows))
    assert found.dtype == source.dtype
    assert np.all(np.abs(found - whole) <= 256 * np.finfo(dtype).eps * np.abs(whole))
    np.testing.assert_array_equal(to_numpy(rows.read(2, 6)), found[2:6])


@in_libraries_but_jax
@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_products_are_those_of_numpy(library: str, device: Any, ensemble: Any, dtype: str) -> None:
    host = Seeded(700, (12, 9), seed=2**100 + 7, ensemble=ensemble, dtype=dtype)
    operator = seeded(library, device, 700, ensemble=ensemble, dtype=dtype)
    rng = np.random.default_rng(0)
    shapes = (12, 2), (9, 2), (700,)
    U, V, w = (rng.standard_normal(shape).astype(str(host.dtype)) for shape in shapes)
    there = [operator.asarray(array) for array in (U, V, w)]
    pairs = [
        (operator.measure(*there[:2]), host.measure(U, V)),
        *zip(operator.backproject(there[2], *there[:2]), host.backproject(w, U, V), strict=True),
    ]
    for found, expected in pairs:
        error = np.linalg.norm(to_numpy(found) - expected) / np.linalg.norm(expected)
        assert error < 100 * np.finfo(str(host.dtype)).eps
    np.testing.assert_allclose(to_numpy(operator.row_norms()), host.row_norms(), rtol=1e-6)


@in_libraries_but_jax
def test_it_is_an_operator(library: str, device: Any, dtype: str) -> None:
    assert check_operator(seeded(library, device, ensemble="sign", dtype=dtype)).passed


@pytest.mark.slow_with_jax
@in_every_library
@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_measurements_of_numpy_are_solved(library: str, device: Any, ensemble: Any) -> None:
    planted = rr.simulate.plant_seeded(12, 9, 2, 600, ensemble=ensemble, outliers=0.1, rng=1)
    seed = planted.A.shards[0].source.seed
    operator = Seeded(600, (12, 9), seed, ensemble, library=library, device=device)
    recovery = rr.recover(operator, operator.asarray(planted.y), 2)
    assert recovery.status is rr.Status.RECOVERED
    assert rr.metrics.evaluate(recovery, planted).error < 1e-12


def test_limits_in_single_precision_are_those_of_numpy() -> None:
    """One that is off by one would change one number in two billion, and all that follow."""
    philox = np.random.Philox(0)
    generator, state = np.random.Generator(philox), philox.state

    def uses_one_word(word: int) -> bool:
        state["buffer"], state["buffer_pos"] = np.full(4, 2**64 - 1, np.uint64), 0
        state["has_uint32"], state["uinteger"] = 1, word
        philox.state = state
        generator.standard_normal(dtype=np.float32)
        return bool(philox.state["buffer_pos"] == 0)

    for layer, limit in enumerate(ziggurat("float32").limits.tolist()):
        assert limit == 0 or uses_one_word(layer | (limit - 1) << 9)
        assert not uses_one_word(layer | limit << 9)


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_products_do_not_depend_on_the_blocks(ensemble: Any) -> None:
    pytest.importorskip("torch")
    source = SeededRows(1300, 108, 3, ensemble)
    rows = DeviceRows(source, rr.backend.empty_array("torch", "cpu"))
    tangents = []
    for entries in (1, 10**9):
        operator = GeneratedOperator(rows, (12, 9), block_entries=entries)
        U, V = (operator.asarray(np.eye(n)[:, :2]) for n in (12, 9))
        tangents.append(to_numpy(operator.tangent(U, V).stored))
    assert np.array_equal(tangents[0], tangents[1])  # entries of A: no rounding


def test_an_unknown_library_is_reported() -> None:
    with pytest.raises(ValueError, match="library='tensorflow' is not known"):
        Seeded(5, (2, 2), 0, library="tensorflow")


def test_jax_needs_64_bit_numbers() -> None:
    pytest.importorskip("jax")
    jax = load_library("jax")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(ValueError, match="64-bit numbers switched off"):
            Seeded(5, (2, 2), 0, library="jax")
    finally:
        jax.config.update("jax_enable_x64", True)
