"""Planted problems of completion: observed entries of a low-rank matrix, some of them outliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import as_generator, check_count, check_not_negative, check_positive

Array = np.ndarray[Any, Any]

SAMPLINGS = ("uniform", "power-law")


@dataclass(frozen=True, eq=False)
class PlantedEntries:
    """Observed entries of a matrix that is known.

    Attributes
    ----------
    rows, columns, values
        The position and the value of each observed entry, three vectors.
    outliers
        Which of them are corrupted, boolean, of the same length.
    left, right
        The factors of the matrix, of shape (n1, r) and (n2, r); it is ``left @ right.T``.

    See Also
    --------
    robustrank.simulate.plant_entries : Makes such a problem.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> planted.shape, len(planted.values), int(planted.outliers.sum())
    ((40, 30), 700, 70)
    >>> planted.incomplete.shape
    (40, 30)
    """

    rows: Array
    columns: Array
    values: Array
    outliers: Array
    left: Array
    right: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return len(self.left), len(self.right)

    @property
    def matrix(self) -> Array:
        """The true matrix."""
        product: Array = self.left @ self.right.T
        return product

    @property
    def triples(self) -> tuple[Array, Array, Array]:
        """(rows, columns, values), as ``complete`` takes them."""
        return self.rows, self.columns, self.values

    @property
    def incomplete(self) -> Array:
        """The matrix of the observed values, NaN elsewhere."""
        matrix = np.full(self.shape, np.nan)
        matrix[self.rows, self.columns] = self.values
        return matrix


@dataclass(frozen=True)
class _Context:
    """What an outlier model may depend on."""

    clean: Array  # the values before corruption
    deviation: float  # the standard deviation of an entry of the matrix
    largest: float  # the largest |entry| of the matrix
    rng: np.random.Generator

    def signs(self) -> Array:
        return self.rng.choice([-1.0, 1.0], len(self.clean))


ENTRY_OUTLIER_MODELS: Mapping[str, tuple[str, Callable[[_Context], Array]]] = {
    "huge": (
        "normal with 100 times the standard deviation of an entry",
        lambda it: 100 * it.deviation * it.rng.standard_normal(len(it.clean)),
    ),
    "scale": (
        "normal with the standard deviation of an entry",
        lambda it: it.deviation * it.rng.standard_normal(len(it.clean)),
    ),
    "flip": ("the entry with the opposite sign", lambda it: -it.clean),
    "max": (
        "plus or minus the largest entry of the matrix",
        lambda it: it.largest * it.signs(),
    ),
    "offset": (
        "the entry plus or minus 0.1 to 1 of the standard deviation of an entry",
        lambda it: it.clean + it.deviation * it.signs() * it.rng.uniform(0.1, 1, len(it.clean)),
    ),
}


def plant_entries(
    n1: int,
    n2: int,
    rank: int,
    entries: int,
    *,
    outliers: float = 0.0,
    outlier_model: str = "scale",
    noise: float = 0.0,
    condition_number: float | None = None,
    scales: float = 0.0,
    mean: float = 0.0,
    sampling: str = "uniform",
    rng: int | np.random.Generator | None = None,
) -> PlantedEntries:
    """Observed entries of a random n1 × n2 matrix.

    Parameters
    ----------
    n1, n2, rank
        The shape and the rank of the matrix.
    entries
        The number of observed entries; with ``sampling="power-law"`` it is the expected number.
    outliers, outlier_model
        The share of the entries that are corrupted, and how: one of ``ENTRY_OUTLIER_MODELS``.
    noise
        The standard deviation of normal noise, relative to that of an entry without noise, as for
        ``plan``.
    condition_number
        The ratio of the largest to the smallest singular value, which are spaced geometrically;
        by default the factors are Gaussian.
    scales
        The standard deviation of the logarithm of random scales of the rows and of the columns.
    mean
        A constant that is added to all entries, relative to the standard deviation of an entry
        without it. If it is not zero, the rank of the matrix is larger by one. Outliers are made
        before it is added.
    sampling
        ``"uniform"``, or ``"power-law"``: the number of entries of a row, and of a column, is
        proportional to 1/k for the k-th row in a random order, as long as probabilities stay below
        one.
    rng
        Random seed or generator; None: another problem in every call.

    Returns
    -------
    PlantedEntries
        The entries, as triples or as a matrix, and the true matrix and outliers to compare with.

    See Also
    --------
    robustrank.complete : Completes the matrix.
    robustrank.simulate.plant : Dense measurements, for ``recover``.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> rr.complete(planted.triples, shape=planted.shape).status.name
    'RECOVERED'
    """
    check_count(n1=n1, n2=n2, rank=rank, entries=entries)
    check_not_negative(noise=noise, scales=scales)
    if not 0 <= outliers < 1:
        raise ValueError(f"outliers={outliers}; expected a fraction, 0 ≤ outliers < 1")
    if outlier_model not in ENTRY_OUTLIER_MODELS:
        known = ", ".join(ENTRY_OUTLIER_MODELS)
        raise ValueError(f"outlier_model={outlier_model!r} is not known; expected one of {known}")
    if entries > n1 * n2:
        raise ValueError(f"entries={entries}; a {n1} × {n2} matrix has only {n1 * n2}")
    generator = as_generator(rng)
    left, right = _factors(n1, n2, rank, condition_number, scales, generator)
    places = _places(n1, n2, entries, sampling, generator)
    rows, columns = np.divmod(places, n2)
    clean = np.sum(left[rows] * right[columns], axis=1)
    deviation, largest = _sizes(left, right)
    values = clean + noise * deviation * generator.standard_normal(len(clean))
    corrupted = np.zeros(len(clean), bool)
    count = round(outliers * len(clean))
    corrupted[generator.choice(len(clean), count, replace=False)] = True
    corrupt = ENTRY_OUTLIER_MODELS[outlier_model][1]
    values[corrupted] = corrupt(_Context(values[corrupted], deviation, largest, generator))
    if mean:
        values = values + mean * deviation
        left = np.hstack([left, np.ones((n1, 1))])
        right = np.hstack([right, np.full((n2, 1), mean * deviation)])
    return PlantedEntries(rows, columns, values, corrupted, left, right)


def _factors(
    n1: int,
    n2: int,
    rank: int,
    condition_number: float | None,
    scales: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    left, right = rng.standard_normal((n1, rank)), rng.standard_normal((n2, rank))
    if condition_number is not None:
        check_positive(condition_number=condition_number)
        root = np.sqrt(np.geomspace(condition_number, 1.0, rank))
        size = (n1 * n2) ** 0.25
        left, right = (np.linalg.qr(factor)[0] * root * size for factor in (left, right))
    if scales:
        left *= np.exp(scales * rng.standard_normal((n1, 1)))
        right *= np.exp(scales * rng.standard_normal((n2, 1)))
    return left, right


def _sizes(left: Array, right: Array) -> tuple[float, float]:
    """The standard deviation and the largest size of an entry, without the whole matrix."""
    n1, n2 = len(left), len(right)
    square = float(np.sum((left.T @ left) * (right.T @ right)))
    block = max(1, 2**22 // n2)
    largest = max(np.abs(left[k : k + block] @ right.T).max() for k in range(0, n1, block))
    return (square / (n1 * n2)) ** 0.5, float(largest)


def _places(n1: int, n2: int, entries: int, sampling: str, rng: np.random.Generator) -> Array:
    """The numbers of the observed entries, row by row."""
    if sampling == "uniform":
        return rng.choice(n1 * n2, entries, replace=False)
    if sampling != "power-law":
        raise ValueError(f"sampling={sampling!r} is not known; expected one of {SAMPLINGS}")
    weights = np.outer(*(1 / (1 + rng.permutation(n)) for n in (n1, n2)))
    low, high = 0.0, entries / weights.min()
    for _ in range(200):  # the factor with which the probabilities add up to the number of entries
        middle = (low + high) / 2
        enough = np.minimum(middle * weights, 1).sum() >= entries
        low, high = (low, middle) if enough else (middle, high)
    return np.flatnonzero(rng.random((n1, n2)) < np.minimum(high * weights, 1))
