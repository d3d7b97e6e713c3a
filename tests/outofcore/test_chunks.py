"""Chunked data is read chunk by chunk, and no chunk is decoded twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustrank.outofcore import array_rows
from robustrank.outofcore.array_rows import ArrayRows

Array = np.ndarray[Any, Any]


class Chunked:
    """An array in chunks of some rows, which records what is read."""

    def __init__(self, rows: int, height: int) -> None:
        self.values = np.arange(rows * 6.0).reshape(rows, 2, 3)
        self.shape, self.dtype = self.values.shape, self.values.dtype
        self.chunks = (height, 2, 3)
        self.read: list[tuple[int, int]] = []

    def __getitem__(self, rows: slice) -> Array:
        self.read.append((rows.start, rows.stop))
        return self.values[rows]


@pytest.mark.parametrize(
    ("height", "asked", "read"),
    [
        (4, [(0, 4), (4, 8), (8, 11)], [(0, 4), (4, 8), (8, 11)]),  # whole chunks
        (4, [(0, 8), (8, 11)], [(0, 8), (8, 11)]),
        (4, [(0, 3), (3, 6), (6, 9), (9, 11)], [(0, 4), (4, 8), (8, 11)]),  # the rest is kept
        (4, [(0, 6), (6, 11)], [(0, 4), (4, 8), (8, 11)]),
        (4, [(0, 10), (10, 11)], [(0, 8), (8, 11)]),
        (4, [(5, 7), (7, 9)], [(5, 8), (8, 11)]),  # from the middle of a chunk
        (4, [(0, 3), (2, 4)], [(0, 4), (2, 4)]),  # rows before those that are kept
        (4, [(0, 2), (3, 4), (4, 5)], [(0, 4), (4, 8)]),  # some that are kept are skipped
        (4, [(0, 2), (6, 7)], [(0, 4), (6, 8)]),  # all of them
        (4, [(0, 2), (2, 3), (3, 4), (4, 6)], [(0, 4), (4, 8)]),
        (1, [(0, 3), (3, 5)], [(0, 3), (3, 5)]),
        (20, [(0, 3), (3, 11)], [(0, 11)]),
    ],
)
def test_every_chunk_is_read_once(
    height: int, asked: list[tuple[int, int]], read: list[tuple[int, int]]
) -> None:
    array = Chunked(11, height)
    source = ArrayRows(array)
    for first, last in asked:
        expected = array.values[first:last].reshape(last - first, 6)
        np.testing.assert_array_equal(source.read(first, last), expected)
    assert array.read == read


@pytest.mark.parametrize(("kept", "chunk_rows"), [(4 * 48, 4), (4 * 48 - 1, 1)])
def test_large_chunks_are_not_kept(
    kept: int, chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row has six numbers, 48 bytes."""
    monkeypatch.setattr(array_rows, "_KEPT_BYTES", kept)
    array = Chunked(11, 4)
    source = ArrayRows(array)
    assert source.stored_bytes == 48
    source.read(0, 3)
    assert array.read == [(0, 3 if chunk_rows == 1 else 4)]


def test_memory_of_the_result_may_be_given() -> None:
    array, out = Chunked(11, 4), np.empty((3, 6))
    assert ArrayRows(array).read(2, 5, out) is out
    np.testing.assert_array_equal(out, array.values[2:5].reshape(3, 6))
