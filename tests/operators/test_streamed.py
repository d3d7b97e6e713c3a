"""Sensing data that is read in blocks: same results, and memory that does not grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.operators import StreamedOperator, as_operator, check_operator
from robustrank.operators.blocks import BlockReader

M, N1, N2 = 37, 9, 7
Array = np.ndarray[Any, Any]


@pytest.fixture
def sensing(dtype: str) -> Array:
    return np.random.default_rng(5).standard_normal((M, N1, N2)).astype(dtype)


@pytest.mark.parametrize("block_bytes", [1, 1000, 2**25])
def test_result_does_not_depend_on_the_block_size(block_bytes: int, sensing: Array) -> None:
    streamed = StreamedOperator(sensing, (N1, N2), block_bytes=block_bytes)
    whole = as_operator(sensing)
    assert check_operator(streamed).passed
    U, V = np.ones((N1, 2)), np.ones((N2, 2))
    assert np.allclose(streamed.measure(U, V), whole.measure(U, V), rtol=1e-5)
    rows, expected = streamed.tangent(U, V).rows, whole.tangent(U, V).apply(np.ones((N1 + N2, 2)))
    assert np.allclose(rows.sum(axis=(1, 2)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("block_bytes", [1, 1000, 2**25])
def test_blocks_cover_every_row_once_and_in_order(block_bytes: int, sensing: Array) -> None:
    blocks = list(BlockReader(sensing, block_bytes).blocks())
    assert np.array_equal(np.concatenate([block for _, block in blocks]), sensing.reshape(M, -1))
    assert [rows.start for rows, _ in blocks] == [0, *(rows.stop for rows, _ in blocks[:-1])]
    size = N1 * N2 * sensing.itemsize
    assert len(blocks) == -(-M // max(1, block_bytes // size))


def test_changes_to_a_copy_on_write_map_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.ones((M, N1, N2)))
    A = np.load(tmp_path / "A.npy", mmap_mode="c")
    A[3] = 2.0
    operator = as_operator(A)
    for _ in range(2):  # pages are released after the first pass
        measured = operator.measure(np.ones((N1, 1)), np.ones((N2, 1)))
        assert measured.tolist() == [2.0 * N1 * N2 if i == 3 else N1 * N2 for i in range(M)]


PEAK_MEMORY = """
import sys, numpy as np
from robustrank.operators import as_operator
operator = as_operator(np.load(sys.argv[1], mmap_mode="r"))
U, V = np.ones((50, 1)), np.ones((40, 1))
operator.backproject(operator.measure(U, V), U, V)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_the_file(order: str, tmp_path: Path) -> None:
    peaks = []
    for m in (1000, 40_000):  # 8 MB and 320 MB in float32
        shape = (m, 50, 40)
        np.lib.format.open_memmap(
            tmp_path / "A.npy", mode="w+", dtype="f4", shape=shape, fortran_order=order == "F"
        )  # a sparse file: it reads as zeros and occupies memory once it is read
        command = [sys.executable, "-c", PEAK_MEMORY, str(tmp_path / "A.npy")]
        peaks.append(float(subprocess.run(command, capture_output=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 80  # megabytes; it grows by 300 if pages are not released
