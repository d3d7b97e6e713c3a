"""Problems with a known solution."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from robustrank.backend import (
    Array,
    check_count,
    check_not_negative,
    check_positive,
    has_double_precision,
    like,
    namespace,
    standard_normal,
    to_numpy,
)
from robustrank.outofcore import LocalEngine, Seeded
from robustrank.simulate.outliers import OutlierContext, find_outlier_model
from robustrank.simulate.streams import Purpose, seed_from, sensing_rows, sensing_seed, stream

Matrix = np.ndarray[Any, Any]

_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True, eq=False)
class Planted:
    """A problem and its solution. Solvers get ``A`` and ``y``; the rest is for evaluating them.

    Attributes
    ----------
    A
        The sensing matrices: an (m, n1, n2) array, or the operator ``Seeded``.
    y
        The measurements, of shape (m,).
    left, right
        The factors X, of shape (n1, r), and Y, of shape (n2, r); the matrix is X Yᵀ.
    outliers
        The corrupted measurements, boolean of shape (m,).
    seed
        The random seed from which the problem was drawn.

    See Also
    --------
    robustrank.simulate.plant : Makes such a problem.
    robustrank.metrics.evaluate : Compares a result with it.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> planted.A.shape, planted.y.shape, planted.matrix.shape
    ((400, 20, 15), (400,), (20, 15))
    >>> int(planted.outliers.sum())
    20
    """

    A: Array  # (m, n1, n2), or the operator ``Seeded``
    y: Array  # (m,)
    left: Matrix  # X, n1 × r
    right: Matrix  # Y, n2 × r
    outliers: Matrix  # (m,) boolean
    seed: int

    @property
    def rank(self) -> int:
        """The rank of the planted matrix."""
        return int(self.left.shape[1])

    @property
    def matrix(self) -> Matrix:
        """The planted matrix, X Yᵀ."""
        product: Matrix = self.left @ self.right.T
        return product


def plant(
    n1: int,
    n2: int,
    rank: int,
    measurements: int,
    *,
    outliers: float = 0.0,
    outlier_model: str = "huge",
    noise: float = 0.0,
    bounded_noise: float = 0.0,
    spectrum: Sequence[float] | None = None,
    condition_number: float | None = None,
    dtype: Any = np.float64,
    rng: int | np.random.Generator | None = None,
    library: str = "numpy",
    device: str | None = None,
    out: Matrix | None = None,
    progress: Callable[[float], None] | None = None,
) -> Planted:
    """A planted problem: a random n1 × n2 matrix, measured with Gaussian sensing matrices.

    Parameters
    ----------
    n1, n2, rank
        The shape and the rank of the matrix. Its factors are Gaussian.
    measurements
        The number of measurements.
    outliers
        The outlier fraction: exactly ``round(outliers * measurements)`` measurements are replaced.
    outlier_model
        How they are replaced: a name in ``OUTLIER_MODELS``. The strength of an offset or a gain
        follows a colon: ``"offset:0.1"`` adds 0.1‖M‖, ``"gain:2"`` doubles.
    noise
        The standard deviation of normal noise, relative to that of a measurement without noise, as
        for ``plan``. It is added to every measurement, clean or corrupted.
    bounded_noise
        Also adds the noise of the paper, uniform between ±bounded_noise·σ_r(M).
    spectrum, condition_number
        Give the matrix these singular values, or geometrically spaced ones with this ratio.
    dtype
        float32 or float64, for ``A`` and ``y``.
    rng
        Random seed or generator; None: another problem in every call. It determines the matrix and
        the outliers for every library; the sensing data also depends on the library and the kind of
        device.
    library, device
        The array library of ``A`` and ``y`` ("numpy", "torch", "jax" or "cupy") and the device on
        which they are drawn.
    out
        A NumPy array for the sensing data, for example a memory-mapped file.
    progress
        A function that is called repeatedly with the fraction that is done.

    Returns
    -------
    Planted
        ``A`` and ``y`` for a solver, and the true matrix and outliers to compare with.

    See Also
    --------
    robustrank.simulate.plant_seeded : The same without storing the sensing matrices.
    robustrank.simulate.plant_entries : Entries of a matrix, for ``complete``.
    robustrank.simulate.find_outlier_model : The model with a name.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.1, outlier_model="gain:3", rng=1)
    >>> planted.rank, int(planted.outliers.sum())
    (2, 40)
    >>> rr.recover(planted.A, planted.y, rank=2).status.name
    'RECOVERED'
    """
    if library != "numpy" and out is not None:
        raise ValueError(f"out is supported for NumPy only, not for library={library!r}; omit it")
    if library == "numpy" and device not in (None, "cpu"):
        raise ValueError(
            f'device={device!r} is not supported for NumPy arrays; pass library="torch" with it'
        )
    precision = _precision(dtype)
    design = _design(
        n1,
        n2,
        rank,
        measurements,
        outliers=outliers,
        outlier_model=outlier_model,
        noise=noise,
        bounded_noise=bounded_noise,
        spectrum=_spectrum(rank, spectrum, condition_number),
        seed=seed_from(rng),
    )
    other = _impostor(design)
    both = np.stack([design.target.ravel(), (other[0] @ other[1] * other[2]).ravel()], axis=1)
    A: Array
    if library == "numpy":
        A = np.empty((measurements, n1, n2), precision) if out is None else out
        clean, impostor = _draw_and_measure(A, both, design.seed, progress)
    else:
        drawn = sensing_seed(design.seed)
        A = standard_normal((measurements, n1, n2), precision, drawn, library, device)
        clean, impostor = _measure_on_device(A, both)
        if progress is not None:
            progress(1.0)
    y, corrupted = _corrupt(design, clean, impostor)
    y = namespace(A).asarray(y.astype(precision if out is None else out.dtype), **like(A))
    return Planted(A, y, design.left, design.right, corrupted, design.seed)


def plant_seeded(
    n1: int,
    n2: int,
    rank: int,
    measurements: int,
    *,
    ensemble: Literal["gaussian", "sign"] = "gaussian",
    outliers: float = 0.0,
    outlier_model: str = "huge",
    noise: float = 0.0,
    bounded_noise: float = 0.0,
    spectrum: Sequence[float] | None = None,
    condition_number: float | None = None,
    dtype: Any = np.float64,
    rng: int | np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> Planted:
    """A planted problem whose sensing matrices are regenerated from a seed instead of stored.

    ``A`` is the operator ``rr.operators.Seeded``, so that the memory needed does not grow with the
    size of the sensing data. The sensing matrices differ from those of ``plant`` with the same
    seed; the true matrix is the same.

    Parameters
    ----------
    n1, n2, rank, measurements
        The shape and the rank of the matrix, and the number of measurements.
    ensemble, dtype
        The distribution of the entries, ``"gaussian"`` or ``"sign"``, and their precision; see
        ``rr.operators.Seeded``.
    outliers, outlier_model, noise, bounded_noise, spectrum, condition_number, rng, progress
        As in ``plant``.

    Returns
    -------
    Planted
        ``A`` and ``y`` for a solver, and the true matrix and outliers to compare with.

    See Also
    --------
    robustrank.simulate.plant : The same with stored sensing matrices.
    robustrank.operators.Seeded : The operator.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_seeded(12, 9, 2, 600, ensemble="sign", outliers=0.1, rng=1)
    >>> rr.recover(planted.A, planted.y, rank=2).status.name
    'RECOVERED'
    """
    precision = _precision(dtype)
    design = _design(
        n1,
        n2,
        rank,
        measurements,
        outliers=outliers,
        outlier_model=outlier_model,
        noise=noise,
        bounded_noise=bounded_noise,
        spectrum=_spectrum(rank, spectrum, condition_number),
        seed=seed_from(rng),
    )
    operator = Seeded(measurements, (n1, n2), sensing_seed(design.seed), ensemble, dtype=precision)
    shards = itertools.count()

    def watch() -> None:  # called before each shard of both products
        if progress is not None:
            progress(next(shards) / (2 * len(operator.shards)))

    watched = operator.on(LocalEngine(watch))
    clean = watched.measure(design.left, design.right)
    left, right, scale = _impostor(design)
    y, corrupted = _corrupt(design, clean, watched.measure(scale * left, right.T))
    if progress is not None:
        progress(1.0)
    y = y.astype(operator.dtype)
    return Planted(operator, y, design.left, design.right, corrupted, design.seed)


@dataclass(frozen=True, eq=False)
class _Design:
    """The matrix, and what is done to its measurements."""

    left: Matrix
    right: Matrix
    target: Matrix  # left · rightᵀ
    norm: float
    measurements: int
    outliers: float
    outlier_model: str
    noise: float
    bounded_noise: float
    seed: int


def _design(
    n1: int,
    n2: int,
    rank: int,
    measurements: int,
    *,
    outliers: float,
    outlier_model: str,
    noise: float,
    bounded_noise: float,
    spectrum: Matrix | None,
    seed: int,
) -> _Design:
    """The validated design of a problem."""
    _check(n1, n2, rank, measurements, outliers)
    check_not_negative(noise=noise, bounded_noise=bounded_noise)
    find_outlier_model(outlier_model)  # raises if it is not known
    left, right = _factors(n1, n2, rank, spectrum, seed)
    target = left @ right.T
    norm = float(np.linalg.norm(target))
    return _Design(
        left,
        right,
        target,
        norm,
        measurements,
        outliers,
        outlier_model,
        noise,
        bounded_noise,
        seed,
    )


def _corrupt(design: _Design, clean: Matrix, impostor: Matrix) -> tuple[Matrix, Matrix]:
    """The measurements with outliers and noise, and which of them are corrupted."""
    measurements, seed = design.measurements, design.seed
    model, strength = find_outlier_model(design.outlier_model)
    median = float(np.median(np.abs(clean)))
    eligible = np.abs(clean) > median if model.beyond_median else np.ones(measurements, bool)
    corrupted = _support(eligible, round(design.outliers * measurements), seed)
    context = OutlierContext(
        clean=clean[corrupted],
        previous=_last_before(clean, corrupted),
        impostor=impostor[corrupted],
        norm=design.norm,
        median=median,
        strength=strength,
        rng=stream(seed, Purpose.OUTLIERS),
    )
    y = clean.copy()
    y[corrupted] = model.corrupt(context)
    generator = stream(seed, Purpose.NOISE)
    if design.bounded_noise:
        rank = design.left.shape[1]
        smallest = float(np.linalg.svd(design.target, compute_uv=False)[rank - 1])
        y += design.bounded_noise * smallest * generator.uniform(-1, 1, measurements)
    if design.noise:  # the standard deviation of a measurement is the norm of the matrix
        y += design.noise * design.norm * generator.standard_normal(measurements)
    return y, corrupted


def _check(n1: int, n2: int, rank: int, measurements: int, outliers: float) -> None:
    if min(n1, n2) < 1:
        raise ValueError(f"the matrix would be {n1} × {n2}; expected at least 1 × 1")
    check_count(rank=rank, measurements=measurements)
    if rank > min(n1, n2):
        raise ValueError(f"rank={rank}; expected 1 ≤ rank ≤ min(n1, n2) = {min(n1, n2)}")
    if not 0 <= outliers < 1:
        raise ValueError(f"outliers={outliers}; expected a fraction, 0 ≤ outliers < 1")


def _support(eligible: Matrix, count: int, seed: int) -> Matrix:
    """Which measurements are corrupted: ``count`` of the eligible ones, boolean."""
    places = np.flatnonzero(eligible)
    if count > len(places):
        raise ValueError(
            f"{count} of {len(eligible)} measurements would be outliers, and this outlier model "
            f"can change only {len(places)}; expected a smaller fraction of outliers"
        )
    corrupted = np.zeros(len(eligible), bool)
    chosen = stream(seed, Purpose.SUPPORT).choice(len(places), count, replace=False)
    corrupted[places[chosen]] = True
    return corrupted


def _last_before(clean: Matrix, corrupted: Matrix) -> Matrix:
    """The last uncorrupted measurement before each corrupted one; before the first, the last."""
    places = np.flatnonzero(~corrupted)
    before = np.searchsorted(places, np.flatnonzero(corrupted)) - 1
    return clean[places[before]]


def _precision(dtype: Any) -> str:
    """The name of a dtype of NumPy or another library."""
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = str(dtype).rpartition(".")[2]
    if name not in ("float32", "float64"):
        raise TypeError(f"dtype={dtype} is not supported; expected float32 or float64")
    return name


def _spectrum(
    rank: int, spectrum: Sequence[float] | None, condition_number: float | None
) -> Matrix | None:
    if spectrum is not None and condition_number is not None:
        raise ValueError("pass spectrum or condition_number, not both")
    if condition_number is not None:
        check_positive(condition_number=condition_number)
        if condition_number < 1:
            raise ValueError(f"condition_number={condition_number}; expected ≥ 1")
        return np.geomspace(condition_number, 1.0, rank)
    if spectrum is None:
        return None
    values = np.sort(np.asarray(spectrum, float))[::-1]
    if values.shape != (rank,) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"spectrum={spectrum}; expected {rank} positive singular values")
    return values


def _factors(
    n1: int, n2: int, rank: int, spectrum: Matrix | None, seed: int
) -> tuple[Matrix, Matrix]:
    rng = stream(seed, Purpose.FACTORS)
    left, right = rng.standard_normal((n1, rank)), rng.standard_normal((n2, rank))
    if spectrum is None:
        return left, right
    root = np.sqrt(spectrum)
    return np.linalg.qr(left)[0] * root, np.linalg.qr(right)[0] * root


def _impostor(design: _Design) -> tuple[Matrix, Matrix, float]:
    """Factors (n1, r) and (r, n2) of another matrix, and the scale that gives it the same norm."""
    rng = stream(design.seed, Purpose.IMPOSTOR)
    (n1, rank), n2 = design.left.shape, len(design.right)
    left, right = rng.standard_normal((n1, rank)), rng.standard_normal((rank, n2))
    return left, right, design.norm / float(np.linalg.norm(left @ right))


def _draw_and_measure(
    A: Matrix, both: Matrix, seed: int, progress: Callable[[float], None] | None
) -> tuple[Matrix, Matrix]:
    """Fill ``A`` with Gaussian rows; measure two matrices with them, rounded to ``A``'s dtype."""
    m, size = A.shape[0], len(both)
    values = np.empty((m, 2))
    height = max(1, _BLOCK_BYTES // (8 * size))
    for first in range(0, m, height):
        block = sensing_rows(seed, first, min(height, m - first), size)
        stored = block.astype(A.dtype, copy=False)
        rows = slice(first, first + len(block))
        A[rows] = stored.reshape(A[rows].shape)
        values[rows] = stored.astype(np.float64, copy=False) @ both
        if progress is not None:
            progress(rows.stop / m)
    return values[:, 0], values[:, 1]


def _measure_on_device(A: Array, both: Matrix) -> tuple[Matrix, Matrix]:
    """Measure two matrices with the rows of ``A`` in double precision, one block at a time.

    If the library has no double precision, the products are computed by NumPy.
    """
    xp = namespace(A)
    flat = xp.reshape(A, (len(A), -1))
    in_library = has_double_precision(A)
    exact = xp.asarray(both, **like(A) | {"dtype": xp.float64}) if in_library else both

    def measured(block: Array) -> Array:
        block = block if in_library else to_numpy(block)
        return namespace(block).astype(block, namespace(exact).float64, copy=False) @ exact

    height = max(1, _BLOCK_BYTES // (8 * len(both)))
    starts = range(0, len(A), height)
    parts = [measured(flat[first : min(first + height, len(A)), :]) for first in starts]
    values = to_numpy(namespace(exact).concat(parts, axis=0))
    return values[:, 0], values[:, 1]
