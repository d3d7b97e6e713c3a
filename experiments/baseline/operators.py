"""Problems for ``recover`` with every kind of sensing data: operators, files, other libraries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import robustrank as rr
from experiments.baseline.problem import (
    TIME_LIMIT,
    Array,
    Draw,
    Problem,
    SkippedError,
    as_numpy,
    recovery_problem,
    require,
)
from experiments.baseline.sensing import bounded_noise, noise_or_none, planted_by
from robustrank.theory import degrees_of_freedom

KINDS = (
    *("flat", "fortran order", "strided", "integers", "sparse", "sparse csc", "entries"),
    *("bilinear", "linear operator", "user operator", "symmetric", "symmetric rank one", "psd"),
    *("seeded gaussian", "seeded sign", "torch"),
)
FILES = ("npy", "memory map", "several npy", "npy float16", "npy int8", "hdf5", "zarr")
GPU = ("recover", "recover float32", "recover_many", "seeded")


def operators(draw: Draw) -> Problem:
    """Sensing data of one kind."""
    kind = draw.family
    if kind.startswith("seeded"):
        return _seeded(draw)
    if kind in ("symmetric", "symmetric rank one", "psd"):
        return _symmetric(draw)
    shape, r = (draw.integer(12, 22), draw.integer(10, 18)), draw.integer(1, 3)
    m = round(draw.uniform(2, 4) * _factor(kind) * degrees_of_freedom(*shape, r))
    if kind == "entries":
        m = min(m, shape[0] * shape[1])
    A, given = _sensing(kind, m, shape, draw)
    left, right = (draw.rng.standard_normal((n, r)) for n in shape)
    planted = _measured(A, left, right, draw)
    if kind == "torch":
        require("torch")
        import torch

        return recovery_problem(
            replace(planted, y=torch.asarray(planted.y)), given=torch.asarray(A), dense=A
        )
    options: dict[str, Any] = {} if given.ndim == 3 else {"shape": shape}
    return recovery_problem(planted, given=given.data, dense=A, **options)


def _factor(kind: str) -> float:
    """How many more measurements a kind needs than independent dense ones."""
    return 1.5 if kind in ("entries", "sparse", "sparse csc") else 1.0


@dataclass(frozen=True)
class _Given:
    """What is passed as A; ``ndim`` is 2 if it needs a shape."""

    data: Any
    ndim: int = 3


class _UserOperator(rr.operators.Operator):
    """Dense sensing matrices by the two products that a user must define."""

    def __init__(self, A: Array) -> None:
        self.A = A

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return len(self.A), (self.A.shape[1], self.A.shape[2])

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    def measure(self, U: Any, V: Any) -> Any:
        return np.einsum("mij,ir,jr->m", self.A, U, V, optimize=True)

    def backproject(self, w: Any, U: Any, V: Any) -> tuple[Any, Any]:
        total = np.einsum("m,mij->ij", w, self.A)
        return total @ V, total.T @ U


def _sensing(kind: str, m: int, shape: tuple[int, int], draw: Draw) -> tuple[Array, _Given]:
    """The sensing matrices as an array, and as they are given."""
    n1, n2 = shape
    A = draw.rng.standard_normal((m, n1, n2))
    match kind:
        case "flat":
            return A, _Given(A.reshape(m, -1), 2)
        case "fortran order":
            return A, _Given(np.asfortranarray(A))
        case "strided":
            wide = np.zeros((2 * m, n1, n2))
            wide[::2] = A
            return A, _Given(wide[::2])
        case "integers":
            A = draw.rng.integers(-3, 4, A.shape).astype(float)
            return A, _Given(A.astype(np.int16))
        case "sparse" | "sparse csc":
            A = A * (draw.rng.random(A.shape) < 0.2)
            A[np.arange(m), draw.rng.integers(n1, size=m), draw.rng.integers(n2, size=m)] = 1
            flat = A.reshape(m, -1)
            made = scipy.sparse.csr_array if kind == "sparse" else scipy.sparse.csc_matrix
            return A, _Given(made(flat), 2)
        case "entries":
            places = draw.rng.choice(n1 * n2, m, replace=False)
            A = np.zeros((m, n1 * n2))
            A[np.arange(m), places] = 1
            return A.reshape(m, n1, n2), _Given(rr.operators.Entries(*divmod(places, n2), shape))
        case "bilinear":
            a, b = draw.rng.standard_normal((m, n1)), draw.rng.standard_normal((m, n2))
            return a[:, :, None] * b[:, None, :], _Given(rr.operators.Bilinear(a, b))
        case "linear operator":
            return A, _Given(aslinearoperator(A.reshape(m, -1)), 2)
        case "user operator":
            return A, _Given(_UserOperator(A))
        case _:
            return A, _Given(A)


def _measured(A: Array, left: Array, right: Array, draw: Draw) -> rr.simulate.Planted:
    """Measurements with outliers, and with noise in one of three problems."""
    clean = np.einsum("mij,ij->m", A, left @ right.T)
    m, typical = len(clean), float(np.std(clean))
    corrupted = draw.rng.random(m) < draw.uniform(0, 0.25)
    size = draw.choice(1.0, 100.0)
    y = np.where(corrupted, size * typical * draw.rng.standard_normal(m), clean)
    y = y + noise_or_none(draw) * typical * draw.rng.standard_normal(m)
    return rr.simulate.Planted(A, y, left, right, corrupted, draw.seed)


def _symmetric(draw: Draw) -> Problem:
    n, r = draw.integer(10, 20), draw.integer(1, 3)
    freedom = r * n - r * (r - 1) // 2
    m = round(draw.uniform(2, 4) * freedom)
    if draw.family == "symmetric rank one":
        a = draw.rng.standard_normal((m, n))
        A = a[:, :, None] * a[:, None, :]
    else:
        A = draw.rng.standard_normal((m, n, n))
    left = draw.rng.standard_normal((n, r))
    psd = draw.family == "psd"
    right = left if psd else left * draw.rng.choice([-1, 1], r)
    planted = _measured(A, left, right, draw)
    return recovery_problem(planted, symmetric=not psd, psd=psd)


def _seeded(draw: Draw, **options: Any) -> Problem:
    n1, n2, r = draw.integer(12, 20), draw.integer(10, 16), draw.integer(1, 2)
    planted = rr.simulate.plant_seeded(
        n1,
        n2,
        r,
        round(draw.uniform(2, 4) * degrees_of_freedom(n1, n2, r)),
        ensemble="sign" if draw.family.endswith("sign") else "gaussian",
        outliers=draw.uniform(0, 0.2),
        **bounded_noise(noise_or_none(draw)),
        rng=draw.new_seed(),
    )
    return recovery_problem(planted, dense=_rows_of(planted.A, (n1, n2)), **options)


def _rows_of(operator: Any, shape: tuple[int, int]) -> Array:
    """The sensing matrices of an operator, by measuring matrices with one entry."""
    n1, n2 = shape
    A = np.empty((operator.shape[0], n1, n2))
    for i, j in np.ndindex(shape):
        A[:, i, j] = operator.measure(np.eye(n1)[:, [i]], np.eye(n2)[:, [j]])
    return A


def files(draw: Draw) -> Problem:
    """Sensing data that is read in blocks, without and with a limit on the memory."""
    planted = planted_by(draw, share=0.1, ratio=draw.uniform(1.5, 4), noise=noise_or_none(draw))
    rounded = {"npy float16": np.float16, "npy int8": np.int8}.get(draw.family)
    if rounded is not None:
        A = planted.A if rounded is np.float16 else np.clip(np.round(20 * planted.A), -127, 127)
        A = A.astype(rounded)
        change = A.astype(float) - planted.A
        y = planted.y + np.where(
            planted.outliers, 0, np.einsum("mij,ij->m", change, planted.matrix)
        )
        planted = replace(planted, A=A, y=y)
    given = _written(np.asarray(planted.A), draw)
    limit = draw.choice(None, "1MB", "1GB")
    return recovery_problem(planted, given=given, memory_limit=limit)


def _written(A: Array, draw: Draw) -> Any:
    """Sensing matrices in a file: its path, an array on disk, or a list of paths."""
    path = draw.folder / "A.npy"
    match draw.family:
        case "memory map":
            np.save(path, A)
            return np.load(path, mmap_mode="r")
        case "several npy":
            paths = []
            for number, part in enumerate(np.array_split(A, 3)):
                paths.append(draw.folder / f"A{number}.npy")
                np.save(paths[-1], part)
            return paths
        case "hdf5":
            require("h5py")
            import h5py

            with h5py.File(draw.folder / "data.h5", "w") as stream:
                stream["A"] = A
            return f"{draw.folder / 'data.h5'}:/A"
        case "zarr":
            require("zarr")
            import zarr

            stored = zarr.open_array(
                str(draw.folder / "A.zarr"), mode="w", shape=A.shape, chunks=(50, *A.shape[1:])
            )
            stored[:] = A
            return str(draw.folder / "A.zarr")
        case _:
            np.save(path, A)
            return str(path)


def gpu(draw: Draw) -> Problem:
    """The same computations on a CUDA device, with PyTorch."""
    require("torch")
    import torch

    if not torch.cuda.is_available():
        raise SkippedError("there is no CUDA device")
    if draw.family == "seeded":
        return _seeded_on_gpu(draw)
    dtype = np.float32 if draw.family.endswith("float32") else np.float64
    planted = planted_by(draw, noise=noise_or_none(draw), ratio=draw.uniform(2, 4), dtype=dtype)
    A, y = (torch.asarray(part, device="cuda") for part in (planted.A, planted.y))
    if draw.family != "recover_many":
        return recovery_problem(replace(planted, y=y), given=A, dense=planted.A)

    def solve() -> rr.Result:
        return [*rr.recover_many([(A, y)] * 3, planted.rank, rng=0)][draw.trial % 3]

    return recovery_problem(planted, solve=solve)


def _seeded_on_gpu(draw: Draw) -> Problem:
    import torch

    n1, n2, r = draw.integer(12, 20), draw.integer(10, 16), draw.integer(1, 2)
    m, seed = round(draw.uniform(2, 4) * degrees_of_freedom(n1, n2, r)), draw.new_seed()
    here = rr.operators.Seeded(m, (n1, n2), seed)
    dense = _rows_of(here, (n1, n2))
    left, right = (draw.rng.standard_normal((n, r)) for n in (n1, n2))
    planted = _measured(dense, left, right, draw)
    there = rr.operators.Seeded(m, (n1, n2), seed, library="torch", device="cuda")
    y = torch.asarray(planted.y, device="cuda")

    def solve() -> rr.Result:
        return rr.recover(there, y, r, rng=0, time_limit=TIME_LIMIT)

    return recovery_problem(replace(planted, y=as_numpy(planted.y)), solve=solve)
