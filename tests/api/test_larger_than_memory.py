"""Sensing data in files: the same answers as in memory, within a limit, whatever happens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clock import Clock

import robustrank as rr
from robustrank.outofcore import sharded
from robustrank.outofcore.tangent_storage import TangentStorage
from robustrank.simulate import Planted

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice between a file and no file does not depend on the disk of this machine."""
    monkeypatch.setattr(TangentStorage, "_speeds", (1e15, 1e15))


def problem(stored: str, noise: float = 0.0, m: int = 500) -> tuple[Array, Array, Array]:
    """Sensing data, measurements with 10 % outliers, and where these are."""
    rng = np.random.default_rng(21)
    A = rng.standard_normal((m, 20, 15)).astype("float32")
    if stored == "int8":
        A = rng.choice(np.asarray([-1, 1], "int8"), (m, 20, 15))
    U, V = rng.standard_normal((20, 2)), rng.standard_normal((15, 2))
    y = np.einsum("mij,ik,jk->m", A.astype(float), U, V)
    y += noise * np.std(y) * rng.standard_normal(m)
    outliers = rng.random(m) < 0.1
    y[outliers] += 10 * np.std(y) * rng.standard_normal(outliers.sum())
    return A, y, outliers


def saved(A: Array, folder: Path) -> Path:
    np.save(folder / "A.npy", A)
    return folder / "A.npy"


def same_bits(one: rr.Result, other: rr.Result) -> bool:
    return one.status is other.status and all(
        np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(other, name)).tobytes()
        for name in ("left", "right", "residual", "outliers")
    )


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("stored", ["float32", "int8"])
def test_answer_for_a_file_is_that_for_the_array(
    stored: str, noise: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", 2**17)
    A, y, outliers = problem(stored, noise)
    in_memory = rr.recover(A, y, 2)
    on_disk = rr.recover(saved(A, tmp_path), y, 2)
    assert in_memory.status is (rr.Status.ESTIMATED if noise else rr.Status.RECOVERED)
    assert on_disk.status is in_memory.status
    assert on_disk.solver == in_memory.solver
    assert np.array_equal(on_disk.outliers, in_memory.outliers)
    assert np.array_equal(on_disk.outliers, outliers) or noise
    # Products with an array of float32 in memory are computed in float32.
    rtol = 1e-9 if stored == "int8" else 1e-6
    for found, expected in ((on_disk.left, in_memory.left), (on_disk.right, in_memory.right)):
        assert np.linalg.norm(found - expected) < rtol * np.linalg.norm(expected)
    assert in_memory.data == ""
    assert re.fullmatch(
        r"read in blocks, in [56] shards; tangent map of \S+ GB in memory", on_disk.data
    )


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_limit_changes_the_place_of_the_tangent_map_and_no_bit(
    noise: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", 2**17)
    A, y, _ = problem("float32", noise)
    path = saved(A, tmp_path)
    plain, limited = (rr.recover(path, y, 2, memory_limit=limit) for limit in (None, "1MB"))
    assert plain.data.endswith("in memory")
    assert limited.data.endswith("GB in a temporary file")
    assert same_bits(plain, limited)
    assert sorted(os.listdir(tmp_path)) == ["A.npy"]


def test_description_of_the_data_is_saved(tmp_path: Path) -> None:
    A, y, _ = problem("int8")
    result = rr.recover(saved(A, tmp_path), y, 2, memory_limit=10**6)
    assert "in a temporary file" in result.data
    result.save(tmp_path / "result.npz")
    assert rr.load(tmp_path / "result.npz").data == result.data


def test_map_that_is_stored_nowhere_gives_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TangentStorage, "_speeds", (1.0, 1.0))
    A, y, outliers = problem("float32")
    result = rr.recover(saved(A, tmp_path), y, 2, memory_limit="1MB")
    assert result.data.endswith("not stored, products take passes over the sensing data")
    assert result.certified
    assert np.array_equal(result.outliers, outliers)


@pytest.mark.parametrize("norms_are_known", [False, True])
def test_limit_for_an_operator_that_was_created_before(norms_are_known: bool) -> None:
    A = rr.operators.Seeded(500, (20, 15), 4)
    rng = np.random.default_rng(1)
    y = A.measure(rng.standard_normal((20, 2)), rng.standard_normal((15, 2)))
    if norms_are_known:
        A.row_norms()
    plain, limited = (rr.recover(A, y, 2, memory_limit=limit) for limit in (None, "1MB"))
    assert plain.data.endswith("in memory")
    assert limited.data.endswith("GB in a temporary file")
    assert same_bits(plain, limited)


@pytest.mark.parametrize("limit", ["lots", 0, -5, 1.5])
def test_invalid_limit_raises(limit: Any, tmp_path: Path) -> None:
    A, y, _ = problem("int8")
    with pytest.raises(ValueError, match="expected bytes, or text such as"):
        rr.recover(saved(A, tmp_path), y, 2, memory_limit=limit)


@pytest.mark.parametrize("kind", ["symmetric", "psd"])
def test_symmetric_matrix_from_a_file(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((300, 12, 12))
    U = rng.standard_normal((12, 2))
    matrix = U @ U.T if kind == "psd" else (U * [1, -1]) @ U.T
    y = np.einsum("mij,ij->m", A, matrix)
    y[:20] += 30
    options: dict[str, Any] = {kind: True}
    result = rr.recover(saved(A, tmp_path), y, 2, memory_limit="1MB", **options)
    assert result.status is rr.Status.RECOVERED
    assert np.allclose(result.matrix, matrix, atol=1e-9)
    assert np.array_equal(np.flatnonzero(result.outliers), np.arange(20))


LIMITED = """
import os, signal, sys
import numpy as np
import robustrank as rr
from robustrank.backend import resident_memory
from robustrank.outofcore.tangent_storage import TangentStorage

TangentStorage._speeds = (1e15, 1e15)
folder, kill = sys.argv[1], sys.argv[2] == "kill"
y = np.load(folder + "/y.npy")
rng = np.random.default_rng(0)  # so that the compiled loops are loaded, which takes memory
rr.recover(rng.standard_normal((1200, 40, 30), "f4"), rng.standard_normal(1200), 3, time_limit=0.2)
limit = resident_memory() + 110 * 2**20

def opened():
    files = []
    for number in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink("/proc/self/fd/" + number))
        except OSError:
            pass
    return [name for name in files if name.startswith(folder)]

def callback(progress):
    if progress.iteration >= 2 and kill:
        print(len([name for name in opened() if "deleted" in name]), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

result = rr.recover(folder + "/A.npy", y, 3, memory_limit=limit, callback=callback)
lines = open("/proc/self/status").read().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
print(result.status.name, "temporary file" in result.data, (peak - limit) / 2**20)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 160 MB, of which the tangent map has 12 MB."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    m, n1, n2 = 10_000, 80, 50
    U, V = rng.standard_normal((n1, 3), "f4"), rng.standard_normal((n2, 3), "f4")
    A = np.lib.format.open_memmap(folder / "A.npy", mode="w+", dtype="f4", shape=(m, n1, n2))
    y = np.empty(m, "f4")
    for rows in (slice(k, k + 1000) for k in range(0, m, 1000)):
        A[rows] = rng.standard_normal((1000, n1, n2), "f4")
        y[rows] = A[rows].reshape(1000, -1) @ (U @ V.T).ravel()
    y[rng.random(m) < 0.05] *= -5
    np.save(folder / "y.npy", y)
    return folder


def run_limited(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory from /proc"
)


@needs_proc
def test_memory_stays_within_the_limit(large: Path) -> None:
    process = run_limited(large, "finish")
    assert process.returncode == 0, process.stderr
    status, in_file, above = process.stdout.split()
    assert (status, in_file) == ("RECOVERED", "True")
    assert float(above) < 10  # MiB; the file has 153
    assert sorted(os.listdir(large)) == ["A.npy", "y.npy"]


@needs_proc
def test_killed_process_leaves_no_file(large: Path) -> None:
    process = run_limited(large, "kill")
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert int(process.stdout) >= 1  # the temporary file that has no name
    assert sorted(os.listdir(large)) == ["A.npy", "y.npy"]


class Sliceable:
    """Sensing data like that of h5py; ``before`` is called with the number of each read."""

    def __init__(self, A: Array, before: Callable[[int], None]) -> None:
        self.A, self.before = A, before
        self.shape, self.dtype = A.shape, A.dtype
        self.reads = 0

    def __getitem__(self, rows: slice) -> Array:
        self.reads += 1
        self.before(self.reads)
        part: Array = self.A[rows]
        return part


def test_time_limit_during_validation(
    small: Planted, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", 2**17)
    slow = Sliceable(small.A, lambda _: clock.forward(100))
    with pytest.raises(TimeoutError, match="time limit was reached while the sensing data was val"):
        rr.recover(slow, small.y, 2, time_limit=250)
    assert slow.reads <= 4


@pytest.mark.parametrize("solver", ["auto", "median-tgd", "message-passing"])
def test_time_limit_during_iterations(
    solver: str, small: Planted, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", 2**18)
    slow = Sliceable(small.A, lambda _: clock.forward(30))
    result = rr.recover(slow, small.y, 2, solver=solver, time_limit=600)
    assert slow.reads <= 24
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert np.all(np.isfinite(result.matrix))
    assert "read in blocks, in 4 shards" in result.data


@pytest.mark.parametrize("solver", ["auto", "median-tgd"])
def test_data_that_is_lost(solver: str, small: Planted) -> None:
    """At any read; during validation there is no result."""

    def failing(last: int) -> Callable[[int], None]:
        def before(number: int) -> None:
            if number > last:
                raise OSError("A.npy ends after 17 bytes")

        return before

    given = rr.solvers.MedianTGD(max_iterations=8) if solver == "median-tgd" else solver
    whole = Sliceable(small.A, lambda _: None)
    rr.recover(whole, small.y, 2, solver=given)
    assert whole.reads >= 8
    for last in range(1, whole.reads):
        with pytest.raises(rr.SensingDataLost, match=r"no longer be read: A\.npy ends") as caught:
            rr.recover(Sliceable(small.A, failing(last)), small.y, 2, solver=given)
        recovery = caught.value.result
        assert recovery.stopped is rr.StopReason.INTERRUPTED
        assert recovery.matrix.shape == (20, 15)
        assert np.all(np.isfinite(recovery.matrix))


def test_data_that_is_lost_during_validation(small: Planted) -> None:
    def before(_: int) -> None:
        raise OSError("A.npy ends after 17 bytes")

    with pytest.raises(OSError, match=r"can no longer be read: A\.npy ends after 17 bytes"):
        rr.recover(Sliceable(small.A, before), small.y, 2)


@pytest.mark.parametrize("at", range(2, 9))
def test_ctrl_c_while_data_is_read(at: int, small: Planted) -> None:
    def before(number: int) -> None:
        if number == at:
            raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(Sliceable(small.A, before), small.y, 2)
    assert caught.value.result.stopped is rr.StopReason.INTERRUPTED
    assert np.all(np.isfinite(caught.value.result.matrix))


def test_ctrl_c_in_a_callback(small: Planted, tmp_path: Path) -> None:
    def callback(progress: rr.Progress) -> None:
        if progress.iteration >= 3:
            raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(saved(small.A, tmp_path), small.y, 2, callback=callback)
    assert caught.value.result.iterations >= 3
    assert np.any(caught.value.result.matrix != 0)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("solver", ["auto", "gauss-newton", "median-tgd"])
def test_start_continues(solver: str, in_file: bool, small: Planted, tmp_path: Path) -> None:
    A = saved(small.A, tmp_path) if in_file else small.A
    whole = rr.recover(A, small.y, 2, solver=solver)
    part = rr.recover(
        A, small.y, 2, solver=solver, callback=lambda p: p.iteration >= whole.iterations // 2
    )
    assert part.stopped is rr.StopReason.CALLBACK
    for start in (part, (part.left, part.right)):
        rest = rr.recover(A, small.y, 2, solver=solver, start=start)
        assert rest.status is whole.status
        assert rest.iterations < whole.iterations
        assert np.linalg.norm(rest.matrix - whole.matrix) < 1e-6 * np.linalg.norm(whole.matrix)
    again = rr.recover(A, small.y, 2, solver=solver, start=whole)
    assert again.iterations < whole.iterations


def test_start_of_a_lower_rank_is_extended(small: Planted) -> None:
    one = rr.recover(small.A, small.y, 1, solver="gauss-newton")
    assert one.rank == 1
    result = rr.recover(small.A, small.y, 2, solver="gauss-newton", start=one)
    assert result.status is rr.Status.RECOVERED
    assert np.linalg.norm(result.matrix - small.matrix) < 1e-9 * np.linalg.norm(small.matrix)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((20, 3), (15, 3)),
        ((15, 2), (20, 2)),
        ((20, 2), (15, 1)),
        ((20,), (15,)),
        ((20, 0), (15, 0)),
    ],
)
def test_start_of_another_shape_raises(left: Any, right: Any, small: Planted) -> None:
    expected = (
        r"the factors to start from have the shapes .*; expected \(20, r\) and \(15, r\) with"
    )
    with pytest.raises(ValueError, match=expected):
        rr.recover(small.A, small.y, 2, start=(np.ones(left), np.ones(right)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_start_that_is_not_finite_raises(bad: float, small: Planted) -> None:
    left, right = np.ones((20, 2)), np.ones((15, 2))
    right[3, 1] = bad
    with pytest.raises(ValueError, match="factors to start from contain NaN or infinity"):
        rr.recover(small.A, small.y, 2, start=(left, right))


@pytest.mark.parametrize("start", [(np.ones((20, 2)),), 5, "start", (None, None), ([[1]], [[1]])])
def test_start_that_is_not_a_pair_of_factors_raises(start: Any, small: Planted) -> None:
    with pytest.raises((TypeError, ValueError), match="start"):
        rr.recover(small.A, small.y, 2, start=start)
