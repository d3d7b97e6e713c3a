"""Fixtures shared by all tests: array libraries, dtypes, a small problem, clusters, Ctrl-C."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ["JAX_ENABLE_X64"] = "1"  # before JAX is imported; robustrank changes no global setting
from clock import Clock
from hypothesis import settings

from robustrank.simulate import Planted, plant

settings.register_profile("robustrank", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("robustrank")

# Module and device. ``strict`` rejects everything outside the array API standard.
BACKENDS = {
    "numpy": ("numpy", None),
    "strict": ("array_api_strict", None),
    "torch": ("torch", "cpu"),
    "jax": ("jax.numpy", "cpu"),
}
GPUS = {"torch-cuda": ("torch", "cuda"), "jax-cuda": ("jax.numpy", "cuda"), "cupy": ("cupy", None)}


class Library:
    """An array library that creates arrays on one device."""

    def __init__(self, module: str, device: str | None) -> None:
        self._xp = pytest.importorskip(module)
        self._device: Any = device
        if module == "jax.numpy":
            jax = importlib.import_module("jax")
            try:
                self._device = jax.devices(device)[0]
            except RuntimeError:
                pytest.skip(f"JAX has no {device}")
        elif device == "cuda" and not self._xp.cuda.is_available():
            pytest.skip("PyTorch finds no CUDA device")

    def asarray(self, values: Any, **given: Any) -> Any:
        """An array on the device."""
        if self._device is not None:
            given["device"] = self._device
        return self._xp.asarray(values, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xp, name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


@pytest.fixture(params=[*BACKENDS, *(pytest.param(name, marks=pytest.mark.gpu) for name in GPUS)])
def xp(request: pytest.FixtureRequest) -> Any:
    """An array library on the CPU, or on a GPU with ``-m gpu``."""
    return Library(*(BACKENDS | GPUS)[request.param])


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def small() -> Planted:
    """An easy problem: 20 × 15, rank 2, 400 measurements, 5 % huge outliers."""
    return plant(20, 15, 2, 400, outliers=0.05, rng=11)


@pytest.fixture(scope="session")
def fork_server() -> Any:
    """A context of multiprocessing whose processes start quickly, with the libraries imported.

    Windows has none; processes are started as usual there.
    """
    dask = pytest.importorskip("dask")
    utils = pytest.importorskip("distributed.utils")
    if sys.platform != "win32":
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
        used = ["distributed", "robustrank.cluster", "robustrank.outofcore.sharded"]
        utils.get_mp_context().set_forkserver_preload(used)
    return utils.get_mp_context()


@pytest.fixture(scope="module")  # also without work, the workers of a cluster take CPU time
def clients(fork_server: Any) -> Iterator[Callable[[int], Any]]:  # noqa: ARG001
    """Clients of clusters with a given number of workers, for tests that end none of them.

    A cluster is started when it is needed.
    """
    from robustrank.cluster import local_cluster

    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda workers: stack.enter_context(local_cluster(workers)))


def pytest_configure(config: pytest.Config) -> None:
    """Set variables that the processes of pytest-xdist inherit, unless they are set already."""
    for library in ("OPENBLAS_NUM", "OMP_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
        os.environ.setdefault(f"{library}_THREADS", "1")  # more would compete for the cores
    # JAX would reserve most of the memory of a GPU in every process.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if config.option.markexpr != "gpu":  # compile faster
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


@pytest.hookimpl(tryfirst=True)  # before the tests are selected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """JAX compiles every operation for every dtype: by default it is tested with float64 only."""
    for item in items:
        given = getattr(getattr(item, "callspec", None), "params", {})
        by_jax = "jax" in (given.get("xp"), given.get("library"))
        single = given.get("dtype") == "float32"
        if by_jax and (single or item.get_closest_marker("slow_with_jax")):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file share a process, and so do those of JAX: what they make is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "jax" if re.search(r"[\[-]jax[\]-]", nodeid) else nodeid.split("::")[0]

    return ByFile(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("not possible on Windows")


@pytest.fixture
def default_signals() -> Iterator[None]:
    """The default handling of SIGINT, SIGTERM and SIGHUP, here and in processes started here.

    A process that ignores a signal passes that on to its children, as in ``nohup make test &``.
    """
    if sys.platform == "win32":
        pytest.skip("Windows ends a process that sends itself a signal")
    defaults: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
