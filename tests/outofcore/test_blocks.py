"""Blocks read in the background: in order, without leaking threads or memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.blocks import block_rows, blocks
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.sources import RowSource, Slice

M, SIZE = 41, 12
Array = np.ndarray[Any, Any]


@pytest.fixture
def A(dtype: str) -> Array:
    return np.random.default_rng(1).standard_normal((M, SIZE)).astype(dtype)


class Failing:
    """A source whose row 20 cannot be read."""

    rows, size, stored_bytes = M, SIZE, 8 * SIZE
    dtype = precision = np.dtype("float64")

    def read(self, first: int, last: int, out: Array | None = None) -> Array:
        if first <= 20 < last:
            raise OSError("the disk failed")
        result = np.empty((last - first, SIZE)) if out is None else out
        result[...] = np.arange(first, last)[:, None]
        return result


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "robustrank-reader" in thread.name]


@pytest.mark.parametrize("ahead", [0, 1, 3, 100])
@pytest.mark.parametrize("block_bytes", [1, 1000, 2**23])
def test_every_row_once_and_in_order(
    block_bytes: int, ahead: int, A: Array, tmp_path: Path
) -> None:
    np.save(tmp_path / "A.npy", A)
    for source in (FileRows.from_npy(tmp_path / "A.npy"), ArrayRows(A), ArrayRows(A[::-1][::-1])):
        height = block_rows(source, block_bytes)
        parts = [(rows, block.copy()) for rows, block in blocks(source, block_bytes, ahead)]
        assert [rows.start for rows, _ in parts] == list(range(0, M, height))
        assert [rows.stop for rows, _ in parts] == [*range(height, M, height), M]
        assert np.array_equal(np.concatenate([block for _, block in parts]), A)
    assert not readers()


def test_a_block_stays_valid_while_the_next_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.repeat(np.arange(300.0)[:, None], 64, axis=1))
    for rows, block in blocks(FileRows.from_npy(tmp_path / "A.npy"), 64 * 8):
        time.sleep(0.0005)
        assert (block == rows.start).all()


def test_the_block_height_depends_only_on_size_and_dtype(A: Array) -> None:
    contiguous, strided = ArrayRows(A), ArrayRows(np.asfortranarray(A))
    assert block_rows(contiguous, 1000) == block_rows(strided, 1000) == 1000 // A[0].nbytes
    assert block_rows(contiguous, 1) == 1


@pytest.mark.parametrize("part", [False, True])
def test_an_array_in_memory_is_not_copied(part: bool, A: Array) -> None:
    source: RowSource = Slice(ArrayRows(A), 3, 30) if part else ArrayRows(A)
    for _, block in blocks(source, 500):
        assert np.shares_memory(block, A)
        assert not readers()


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_an_error_of_the_source_is_raised_at_its_block(ahead: int) -> None:
    iterator = blocks(Failing(), 4 * 8 * SIZE, ahead)
    for first in (0, 4, 8, 12, 16):
        assert next(iterator)[1][:, 0].tolist() == list(range(first, first + 4))
    with pytest.raises(OSError, match="the disk failed"):
        next(iterator)
    assert not readers()


class Slow(Failing):
    """A source that records what it reads, slowly."""

    def __init__(self) -> None:
        self.read_rows: list[int] = []

    def read(self, first: int, last: int, out: Array | None = None) -> Array:
        time.sleep(0.01)
        self.read_rows.append(first)
        return np.zeros((last - first, SIZE)) if out is None else out


@pytest.mark.parametrize("left_by", ["close", "break", "interrupt", "collection"])
def test_the_thread_ends_when_the_iteration_is_left(left_by: str) -> None:
    source = Slow()
    iterator = blocks(source, 8 * SIZE, ahead=5)
    next(iterator)
    assert len(readers()) == 1
    if left_by == "close":
        iterator.close()  # type: ignore[attr-defined]
    elif left_by == "collection":
        del iterator
    elif left_by == "break":
        for _ in iterator:
            break
        del iterator
    else:
        with pytest.raises(KeyboardInterrupt):
            iterator.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert not readers()
    assert len(source.read_rows) <= 4  # what was not yet read is not read any more


def test_an_abandoned_iteration_does_not_keep_the_process_alive() -> None:
    code = """
import numpy as np
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.blocks import blocks
iterator = blocks(ArrayRows(np.asfortranarray(np.ones((50, 50)))), 400)
next(iterator)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


PEAK_MEMORY = """
import sys, numpy as np
from robustrank.outofcore.array_rows import ArrayRows
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.blocks import blocks
def memory(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
opened = {
    "FileRows": FileRows.from_npy,
    "ArrayRows": lambda path: ArrayRows(np.load(path, mmap_mode="r")),
}
source = opened[sys.argv[2]](sys.argv[1])
before = memory("VmRSS")
for rows, block in blocks(source):
    block.sum()
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
@pytest.mark.parametrize(("kind", "stored"), [("FileRows", "i1"), ("ArrayRows", "f4")])
def test_memory_does_not_grow_with_the_file(kind: str, stored: str, tmp_path: Path) -> None:
    shape = (400_000_000 // 2000 // np.dtype(stored).itemsize, 2000)
    np.lib.format.open_memmap(tmp_path / "A.npy", mode="w+", dtype=stored, shape=shape)
    command = [sys.executable, "-c", PEAK_MEMORY, str(tmp_path / "A.npy"), kind]
    done = subprocess.run(command, capture_output=True, check=True)
    assert float(done.stdout) < 100  # megabytes
