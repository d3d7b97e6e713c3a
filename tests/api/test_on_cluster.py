"""``recover`` on the workers of a cluster: the same bits as in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robustrank as rr
from robustrank.operators import Entries, Operator, Seeded
from robustrank.outofcore import sharded

pytest.importorskip("distributed")
dask_array = pytest.importorskip("dask.array")

from robustrank.cluster import local_cluster  # noqa: E402
from robustrank.outofcore.cluster import ClusterEngine  # noqa: E402

M, N1, N2, R = 300, 10, 8, 1
SHARDS = 4
Array = np.ndarray[Any, Any]


Clients = Callable[[int], Any]


@pytest.fixture
def client(clients: Clients) -> Any:
    return clients(2)


@pytest.fixture(autouse=True)
def four_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "_SHARD_BYTES", M * N1 * N2 * 8 // SHARDS)
    monkeypatch.setattr(sharded, "_SHARD_ENTRIES", M // SHARDS)


def data() -> Array:
    return np.random.default_rng(31).standard_normal((M, N1, N2))


def npy(folder: Path) -> Any:
    np.save(folder / "A.npy", data())
    return folder / "A.npy"


def files(folder: Path) -> Any:
    for k, part in enumerate(np.split(data(), [90, 91, 200])):
        np.save(folder / f"{k}.npy", part)
    return [folder / f"{k}.npy" for k in range(4)]


def zarr_folder(folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    zarr.create_array(folder / "A.zarr", data=data(), chunks=(35, N1, N2))
    return folder / "A.zarr"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "npy": npy,
    "files": files,
    "zarr": zarr_folder,
    "seeded": lambda _: Seeded(M, (N1, N2), 9, "sign"),
}


def measured(A: Any, noise: float = 0.0) -> Array:
    """Measurements of a matrix of rank one, a tenth of which are outliers."""
    rng = np.random.default_rng(32)
    U, V = rng.standard_normal((N1, R)), rng.standard_normal((N2, R))
    y = A.measure(U, V) if isinstance(A, Operator) else data().reshape(M, -1) @ (U @ V.T).ravel()
    y = y + noise * np.std(y) * rng.standard_normal(len(y))
    y[::10] += 50 * rng.standard_normal(len(y[::10]))
    return np.asarray(y)


def different_bits(one: rr.Result, other: rr.Result) -> list[str]:
    names = ("left", "right", "residual", "outliers")
    different = [
        name for name in names if getattr(one, name).tobytes() != getattr(other, name).tobytes()
    ]
    same = (one.status, one.iterations, one.solver, one.certificate.noise, one.passes) == (
        (other.status, other.iterations, other.solver, other.certificate.noise, other.passes)
    )
    return different if same else ["the rest", *different]


@pytest.mark.parametrize("source", SOURCES)
def test_bits_do_not_depend_on_the_number_of_workers(
    source: str, clients: Clients, tmp_path: Path
) -> None:
    A = SOURCES[source](tmp_path)
    y = measured(A)
    local = rr.recover(A, y, R)
    assert local.status is rr.Status.RECOVERED
    assert local.data.startswith("read in blocks, in 4 shards; tangent map of ")
    for workers in (1, 2, 3) if source == "npy" else (2,):
        found = rr.recover(A, y, R, client=clients(workers))
        assert different_bits(found, local) == []
        assert found.data.startswith("read by the workers of a cluster, in 4 shards; tangent map")
        assert found.data.endswith("in the memory of the workers")


@pytest.mark.parametrize(
    "solver",
    ["gauss-newton", "message-passing", rr.solvers.MedianTGD(max_iterations=20)],
    ids=["gauss-newton", "message-passing", "median-tgd"],
)
def test_every_solver_gives_the_same_bits(solver: Any, client: Any, tmp_path: Path) -> None:
    A, y = npy(tmp_path), measured(None)
    local = rr.recover(A, y, R, solver=solver)
    assert local.iterations >= 3
    found = rr.recover(A, y, R, solver=solver, client=client)
    assert different_bits(found, local) == []


def test_result_with_noise_has_the_same_bits(client: Any, tmp_path: Path) -> None:
    A, y = npy(tmp_path), measured(None, noise=0.01)
    local = rr.recover(A, y, R)
    assert local.status is rr.Status.ESTIMATED
    assert local.certificate.noise > 0
    found = rr.recover(A, y, R, client=client)
    assert different_bits(found, local) == []
    assert found.certificate == local.certificate


def test_dask_array(clients: Clients) -> None:
    y = measured(None)
    array = dask_array.from_array(data(), chunks=(65, 5, -1))
    found = [rr.recover(array, y, R, client=clients(k)) for k in (1, 2)]
    assert found[0].status is rr.Status.RECOVERED
    assert found[0].data.startswith("read by the workers of a cluster, in 5 shards")
    assert different_bits(*found) == []
    in_memory = rr.recover(data(), y, R)
    assert np.array_equal(found[0].outliers, in_memory.outliers)
    assert np.allclose(found[0].matrix, in_memory.matrix, atol=1e-9)


def test_dask_array_with_nan_names_the_row(client: Any) -> None:
    A = data()
    A[211, 2, 3] = np.nan
    array = dask_array.from_array(A, chunks=(65, -1, -1))
    with pytest.raises(ValueError, match=r"first in row 211\)"):
        rr.recover(array, measured(None), R, client=client)


def test_nan_in_a_file_names_the_row(client: Any, tmp_path: Path) -> None:
    A = data()
    A[211, 2, 3] = np.nan
    np.save(tmp_path / "A.npy", A)
    with pytest.raises(ValueError, match=r"first in row 211\)"):
        rr.recover(tmp_path / "A.npy", measured(None), R, client=client)


def test_entries(clients: Clients) -> None:
    rows, columns = np.random.default_rng(2).integers(0, [[N1], [N2]], (2, M))
    A = Entries(rows, columns, (N1, N2))
    y = measured(A)
    solver = rr.solvers.MedianTGD(max_iterations=20)
    found = [rr.recover(A, y, R, solver=solver, client=clients(k)) for k in (1, 2)]
    assert found[0].data == "read by the workers of a cluster, in 4 shards"
    assert different_bits(*found) == []
    local = rr.recover(A, y, R, solver=solver)
    assert np.allclose(found[0].matrix, local.matrix, atol=1e-6 * np.abs(local.matrix).max())


@pytest.mark.usefixtures("fork_server")
def test_worker_that_is_killed_changes_no_bit(tmp_path: Path) -> None:
    A, y = npy(tmp_path), measured(None)
    local = rr.recover(A, y, R, solver="gauss-newton")
    killed: list[int] = []
    client: Any

    def kill_one(progress: rr.Progress) -> None:
        if progress.iteration >= 2 and not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows

    with local_cluster(2) as client:
        found = rr.recover(A, y, R, solver="gauss-newton", client=client, callback=kill_one)
        assert killed
        assert different_bits(found, local) == []
        client.wait_for_workers(2, timeout=60)
        assert killed[0] not in client.run(os.getpid).values()


@pytest.mark.usefixtures("fork_server")
def test_loss_of_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults: Any = ClusterEngine.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "patience", 0.5)
    A, y = npy(tmp_path), measured(None)
    lost: list[bool] = []

    client: Any
    with local_cluster(1) as client:

        def remove_all(progress: rr.Progress) -> None:
            if progress.iteration >= 2 and not lost:
                client.cluster.scale(0)
                lost.append(True)

        with pytest.raises(rr.SensingDataLost, match=r"no workers for 0.5 seconds") as caught:
            rr.recover(A, y, R, solver="gauss-newton", client=client, callback=remove_all)
    recovery = caught.value.result
    assert recovery.stopped is rr.StopReason.INTERRUPTED
    assert recovery.iterations >= 2
    assert np.any(recovery.matrix != 0)
    assert np.all(np.isfinite(recovery.matrix))
    continued = rr.recover(A, y, R, solver="gauss-newton", start=recovery)
    assert continued.status is rr.Status.RECOVERED


def test_file_that_is_lost(client: Any, tmp_path: Path) -> None:
    A, y = npy(tmp_path), measured(None)

    def truncate(progress: rr.Progress) -> None:
        if progress.iteration == 2:
            os.truncate(A, A.stat().st_size // 2)

    with pytest.raises(
        rr.SensingDataLost, match=r"no longer be read: .*A\.npy ends after \d+ bytes"
    ) as caught:
        rr.recover(A, y, R, solver="gauss-newton", client=client, callback=truncate)
    assert np.all(np.isfinite(caught.value.result.matrix))


def test_time_limit(client: Any, tmp_path: Path) -> None:
    A, y = npy(tmp_path), measured(None)
    endless = rr.solvers.MedianTGD(tolerance=0, max_iterations=10**9)
    result = rr.recover(A, y, R, solver=endless, client=client, time_limit=0.5)
    assert result.stopped is rr.StopReason.TIME_LIMIT
    assert np.all(np.isfinite(result.matrix))


def test_ctrl_c(client: Any, tmp_path: Path) -> None:
    def interrupt(progress: rr.Progress) -> None:
        if progress.iteration >= 2:
            raise KeyboardInterrupt

    with pytest.raises(rr.Interrupted) as caught:
        rr.recover(npy(tmp_path), measured(None), R, client=client, callback=interrupt)
    assert np.any(caught.value.result.matrix != 0)


@pytest.mark.parametrize(
    ("A", "given", "message"),
    [
        (data(), True, r"A is a ndarray, which would have to be sent to the workers; expected fil"),
        (rr.operators.as_operator(data()), True, "A is a DenseOperator, which cannot be used with"),
        (dask_array.from_array(data()), False, r"A is a dask array; pass client=distributed\.Cli"),
    ],
    ids=["array", "operator", "dask array"],
)
def test_data_that_cannot_be_used(A: Any, given: bool, message: str, client: Any) -> None:
    with pytest.raises(TypeError, match=message):
        rr.recover(A, measured(None), R, client=client if given else None)


def test_client_that_is_not_a_client(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"client is a str, but must be a dask\.distributed\.Cl"):
        rr.recover(npy(tmp_path), measured(None), R, client="tcp://127.0.0.1:8786")


DRIVER = """
import sys
import numpy as np
import robustrank as rr
from robustrank.operators import Seeded
from robustrank.cluster import connected

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

m, n1, n2 = 20_000, 50, 50
y = np.load(sys.argv[2])
with connected(sys.argv[1]) as client:
    before = peak()
    A = Seeded(m, (n1, n2), 9, "sign")
    result = rr.recover(A, y, 2, solver=rr.solvers.GaussNewton(max_iterations=3), client=client)
    print(result.iterations, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
def test_sensing_data_does_not_pass_through_the_driver(client: Any, tmp_path: Path) -> None:
    """400 MB of sensing data in float64, of which the tangent map has 16 MB."""
    rng = np.random.default_rng(1)
    A = Seeded(20_000, (50, 50), 9, "sign")
    y = A.measure(rng.standard_normal((50, 2)), rng.standard_normal((50, 2)))
    y[::20] *= -3
    np.save(tmp_path / "y.npy", y)
    command = [sys.executable, "-c", DRIVER, client.scheduler.address, str(tmp_path / "y.npy")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert process.returncode == 0, process.stderr
    iterations, grown = process.stdout.split()
    assert int(iterations) == 3
    assert float(grown) < 150  # MiB
