"""All methods by name."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tables.filled import Filled, TableMethod
from experiments.tables.ours import robustrank
from experiments.tables.peers import COVARIANCES, PEERS, obstacle
from experiments.tables.sources import Matrix

OURS, SKETCH = "robustrank", "sketch"


def method(name: str, sketch: Path | None = None, covariance: bool = False) -> TableMethod:
    """The method with a name; ``sketch`` is the file of a method that is not in the repository.

    With ``covariance``, the method is asked for a covariance.
    """
    if name == OURS:
        return robustrank
    if name == SKETCH and sketch is not None:
        return functools.partial(_sketched, sketch)
    known = PEERS | COVARIANCES if covariance else PEERS
    if name not in known:
        raise ValueError(f"method {name!r} is not known; expected one of {', '.join(known)}")
    return known[name]


def installed(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The methods that can run here, and a notice for each of the others."""
    reasons = {name: obstacle(name) for name in names}
    notices = [f"{name} is left out: {reason}" for name, reason in reasons.items() if reason]
    return [name for name in names if not reasons[name]], notices


def _sketched(path: Path, table: Matrix) -> Filled:
    """The method of a file that defines ``complete(table)``, which returns a fit and its rank."""
    fit, _ = _opened(path).complete(table)
    kept = ~np.isnan(table) & (fit.weights > 0)
    variances = np.broadcast_to(fit.psi * fit.unit**2, table.shape)
    return Filled(
        np.where(kept, table, fit.values()),
        outliers=np.asarray(fit.seen & (fit.weights == 0)),
        row_outliers=np.asarray(fit.wrong_rows),
        standard_errors=np.sqrt(variances),
        covariance=(fit.V @ fit.V.T + np.diag(fit.psi)) * np.outer(fit.unit, fit.unit),
    )


@functools.cache
def _opened(path: Path) -> Any:
    specification = importlib.util.spec_from_file_location("sketch", path)
    if specification is None or specification.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
