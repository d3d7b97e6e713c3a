"""``robustrank doctor``: versions, devices and memory bandwidth of this machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, version

import click
import numpy as np
from rich.console import Console
from rich.table import Table

import robustrank
from robustrank.backend import LIBRARIES, can_compile, gpus, thread_pools
from robustrank.inputs import as_operator
from robustrank.operators import check_operator
from robustrank.simulate import plant

_CORE = ("numpy", "scipy", "array-api-compat", "array-api-extra", "threadpoolctl")
_EXTRAS = ("matplotlib", "jinja2", "click", "rich", "numba")
_DATA = ("dask", "distributed", "h5py", "zarr", "pandas", "pyarrow")  # for clusters and files
_PASS_BYTES = 256 * 2**20


@click.command()
def doctor() -> int:
    """Print versions, threads and devices; test the basic products; measure bandwidth."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in (*_versions(), *_kernels(), *_threads(), *_backends(), *_gpus()):
        table.add_row(name, text)
    healthy = True
    for dtype in ("float32", "float64"):
        check = check_operator(as_operator(plant(30, 20, 2, 100, dtype=dtype, rng=0).A))
        healthy = healthy and check.passed
        table.add_row(f"operator check, {dtype}", str(check))
    forward, back = measure_bandwidth()
    table.add_row("memory bandwidth", f"{forward:.1f} GB/s reading A @ x, {back:.1f} GB/s w @ A")
    Console().print(table, highlight=False)
    return 0 if healthy else 1


def _versions() -> Iterator[tuple[str, str]]:
    yield "robustrank", robustrank.__version__
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for package in (*_CORE, *_EXTRAS, *_DATA):
        yield package, _version_of(package)


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _kernels() -> Iterator[tuple[str, str]]:
    missing = "not used: pip install 'robustrank[fast]' installs numba, which compiles them"
    yield "compiled kernels", "used for large NumPy arrays" if can_compile() else missing


def _threads() -> Iterator[tuple[str, str]]:
    yield "cores", str(os.cpu_count())
    for pool in thread_pools():
        yield "threads", f"{pool['num_threads']} in {pool['internal_api']} {pool.get('version')}"


def _backends() -> Iterator[tuple[str, str]]:
    """The installed array libraries, found without importing them."""
    distributions = packages_distributions()
    for module, package in LIBRARIES.items():
        named = distributions.get(module, [package])  # CuPy has one package per CUDA version
        yield f"backend {module}", _version_of(named[0])


def _gpus() -> Iterator[tuple[str, str]]:
    """The GPUs with their memory and bandwidth."""
    found = gpus()
    for gpu in found:
        memory = f"{gpu.free / 1e9:.0f} of {gpu.memory / 1e9:.0f} GB free"
        speed = f"{gpu.copy_bandwidth() / 1e9:,.0f} GB/s copying"
        yield f"device {gpu.device}", f"{gpu.name}, {memory}, {speed}"
    if not found:
        yield "device", "CPU only: PyTorch is not installed or finds no CUDA device"


def measure_bandwidth(repeats: int = 5) -> tuple[float, float]:
    """GB/s of the two products that solvers compute with the sensing data, the best of a few."""
    A = np.ones((1024, _PASS_BYTES // 8 // 1024))
    x, w = np.ones(A.shape[1]), np.ones(A.shape[0])

    def best(product: str) -> float:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            A @ x if product == "forward" else w @ A
            times.append(time.perf_counter() - began)
        return A.nbytes / min(times) / 1e9

    return best("forward"), best("back")
