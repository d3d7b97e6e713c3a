"""Other methods: the median, imputers of scikit-learn and Qolmat, and robust methods of RobPy."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.tables.filled import Filled, TableMethod
from experiments.tables.isolated import cellwise_mcd, interpreter
from experiments.tables.sources import Matrix, imported

_FAR = 4.0  # a robust z-score above this is treated as missing, in the three lines users write
_QOLMAT_ITERATIONS = 200  # its default of 10⁴ takes minutes for 150 × 12 cells


def trimmed(table: Matrix) -> Matrix:
    """A table in which cells far from the median of their column are missing."""
    center = np.nanmedian(table, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(table - center), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(table - center) / spread > _FAR
    return np.where(far & (spread > 0), np.nan, table)


def standardized(fill: Callable[[Matrix], Matrix], trim: bool, table: Matrix) -> Filled:
    """The values of an imputer that works on standardized columns."""
    given = trimmed(table) if trim else table
    center, spread = np.nanmean(given, axis=0), np.nanstd(given, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    values = center + spread * fill((given - center) / spread)
    return Filled(values, outliers=np.isnan(given) & ~np.isnan(table) if trim else None)


def _median(table: Matrix) -> Matrix:
    return np.where(np.isnan(table), np.nanmedian(table, axis=0), table)


def _knn(table: Matrix) -> Matrix:
    imported("sklearn")
    imputer = importlib.import_module("sklearn.impute").KNNImputer(keep_empty_features=True)
    return np.asarray(imputer.fit_transform(table))


def _iterative(table: Matrix) -> Matrix:
    imported("sklearn")
    importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    module = importlib.import_module("sklearn.impute")
    imputer = module.IterativeImputer(random_state=0, keep_empty_features=True)
    return np.asarray(imputer.fit_transform(table))


def _qolmat(name: str, options: dict[str, Any], table: Matrix) -> Matrix:
    imported("qolmat")
    module = importlib.import_module("qolmat.imputations.imputers")
    frame = imported("pandas").DataFrame(table)
    filled = getattr(module, name)(**options).fit_transform(frame).to_numpy()
    return np.where(np.isnan(table), filled, table)


def _cell_detection(table: Matrix) -> Filled:
    """RobPy's detection of deviating cells, which also predicts them."""
    imported("robpy")
    frame = imported("pandas").DataFrame(table)
    detector = importlib.import_module("robpy.outliers.ddc").DDC().fit(frame)
    return Filled(_median(np.asarray(detector.impute(frame).to_numpy())))


def _minimum_covariance(table: Matrix) -> Filled:
    """Scikit-learn's minimum covariance determinant, after missing cells are filled."""
    imported("sklearn")
    values = _median(table) if not np.isnan(table).any() else standardized(_iterative, True, table)
    filled = values.values if isinstance(values, Filled) else values
    module = importlib.import_module("sklearn.covariance")
    fitted = module.MinCovDet(random_state=0).fit(filled)
    return Filled(filled, covariance=np.asarray(fitted.covariance_), mean=fitted.location_)


def _sample_covariance(table: Matrix) -> Filled:
    """The covariance of the values of the iterative imputer after trimming."""
    filled = standardized(_iterative, True, table)
    mean, covariance = filled.values.mean(axis=0), np.cov(filled.values.T)
    return replace(filled, mean=mean, covariance=covariance)


_FILLS: dict[str, Callable[[Matrix], Matrix]] = {
    "median": _median,
    "knn": _knn,
    "iterative": _iterative,
    "qolmat-pcp": functools.partial(_qolmat, "ImputerRpcaPcp", {}),
    "qolmat-noisy": functools.partial(
        _qolmat, "ImputerRpcaNoisy", {"max_iterations": _QOLMAT_ITERATIONS}
    ),
    "qolmat-em": functools.partial(
        _qolmat, "ImputerEM", {"model": "multinormal", "method": "mle", "random_state": 0}
    ),
}
_TRIMMED = ("median", "knn", "iterative")

CELLWISE = "robpy-cellmcd"
PEERS: dict[str, TableMethod] = {
    **{name: functools.partial(standardized, fill, False) for name, fill in _FILLS.items()},
    **{f"{name}-trimmed": functools.partial(standardized, _FILLS[name], True) for name in _TRIMMED},
    "robpy-ddc": _cell_detection,
    CELLWISE: cellwise_mcd,
}
COVARIANCES: dict[str, TableMethod] = {
    "iterative-trimmed": _sample_covariance,
    "mcd": _minimum_covariance,
    CELLWISE: cellwise_mcd,
}
_PACKAGES = {"knn": "sklearn", "iterative": "sklearn", "mcd": "sklearn"}


def obstacle(method: str) -> str:
    """Why a method cannot run here; empty if it can."""
    if method == CELLWISE:
        return "" if interpreter() else "it needs an environment of its own; see isolated.py"
    family = method.partition("-")[0]
    package = {**_PACKAGES, "qolmat": "qolmat", "robpy": "robpy"}.get(family)
    if package is None or importlib.util.find_spec(package) is not None:
        return ""
    return f"the package {package} is not installed"
