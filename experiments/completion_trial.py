"""One trial of a completion study: draw observed entries, complete the matrix, return a row."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from experiments.definition import Data, Method, Place, Setting
from experiments.rows import Row
from robustrank.api import complete, robust_pca
from robustrank.completion import Sample
from robustrank.operators import Entries
from robustrank.result import Result
from robustrank.simulate import PlantedEntries

Array = np.ndarray[Any, Any]

_SWEEPS, _TOLERANCE = 500, 1e-9  # of alternating least squares
_TINY = 1e-12
_BLOCK = 2**22  # entries of the matrix at a time


class CompletionSetting(Setting, Protocol):
    """Problems for ``complete``: observed entries of a matrix."""

    def plant(self, trial: int) -> PlantedEntries:
        """The problem of a trial."""

    def rank_given(self, trial: int) -> int | None:
        """The bound on the rank passed to ``complete``."""


class Part(NamedTuple):
    """Some rows and columns of a matrix, boolean."""

    rows: Array
    columns: Array


def run_completion(setting: CompletionSetting, trial: int, method: Method) -> tuple[Row, float]:
    """The row of a trial, and the seconds it took."""
    planted = setting.plant(trial)
    row = identity(setting, trial, method)
    if method.data is Data.INLIERS:
        began = time.perf_counter()
        factors = oracle(planted)
        seconds = time.perf_counter() - began
        return row | {"error": _rounded(error(planted, factors, determinable(planted)))}, seconds
    bound = setting.rank_given(trial)
    if len(planted.values) == planted.left.shape[0] * planted.right.shape[0]:
        result = robust_pca(planted.incomplete, bound)
    else:
        result = complete(planted.triples, bound, shape=planted.shape)
    return row | described(planted, result), result.seconds


def identity(setting: Setting, trial: int, method: Method) -> Row:
    """The fields that identify a row."""
    return {
        "cell": setting.key,
        "trial": trial,
        "method": method.name,
        "seed": setting.seed(trial),
        "place": str(Place()),
    }


def described(planted: PlantedEntries, result: Result) -> Row:
    """What a row says about a result.

    ``error`` is that of the rows and columns that the inliers determine if they are known, by their
    number; ``decided_error`` that of the part which the result calls decided.
    """
    factors = np.asarray(result.left), np.asarray(result.right)
    part, decided = determinable(planted), decided_part(result)
    return {
        "error": _rounded(error(planted, factors, part)),
        "decided_error": _rounded(error(planted, factors, decided)),
        "determinable": [int(part.rows.sum()), int(part.columns.sum())],
        "decided": [int(decided.rows.sum()), int(decided.columns.sum())],
        "missed": int((part.rows & ~decided.rows).sum() + (part.columns & ~decided.columns).sum()),
        "rank": result.rank,
        "status": result.status.name,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def decided_part(result: Result) -> Part:
    """The rows and columns that a result calls decided."""
    rows, columns = (np.ones(n, bool) for n in result.shape)
    rows[result.undecided_rows] = False
    columns[result.undecided_columns] = False
    return Part(rows, columns)


def determinable(planted: PlantedEntries) -> Part:
    """The rows and columns with more inliers than unknowns, counting only such rows and columns."""
    good = ~planted.outliers
    own, other = planted.rows[good], planted.columns[good]
    needed = planted.left.shape[1] + 1
    rows, columns = (np.ones(n, bool) for n in planted.shape)
    while True:
        inside = rows[own] & columns[other]
        more = Part(
            rows & (np.bincount(own[inside], minlength=len(rows)) >= needed),
            columns & (np.bincount(other[inside], minlength=len(columns)) >= needed),
        )
        if more.rows.sum() == rows.sum() and more.columns.sum() == columns.sum():
            return more
        rows, columns = more


def error(planted: PlantedEntries, factors: tuple[Array, Array], part: Part) -> float:
    """The Frobenius norm of the error in a part, relative to the matrix there; infinite if empty.

    The matrix is formed in blocks of rows.
    """
    left, right = (planted.left[part.rows], planted.right[part.columns])
    P, Q = (factors[0][part.rows], factors[1][part.columns])
    step = max(1, _BLOCK // max(len(right), 1))
    missed = total = 0.0
    for first in range(0, len(left), step):
        chosen = slice(first, first + step)
        true = left[chosen] @ right.T
        missed += float(np.sum((P[chosen] @ Q.T - true) ** 2))
        total += float(np.sum(true**2))
    return float(np.sqrt(missed / total)) if total > 0 else np.inf


def oracle(planted: PlantedEntries) -> tuple[Array, Array]:
    """The best that can be done if the outliers are known: least squares from the true matrix."""
    good = ~planted.outliers
    known = replace(
        planted,
        rows=planted.rows[good],
        columns=planted.columns[good],
        values=planted.values[good],
        outliers=planted.outliers[good],
    )
    sample = Sample.of(Entries(known.rows, known.columns, known.shape), known.values)
    P, Q = planted.left, planted.right
    predicted = sample.by_rows.dot(P, Q)
    for _ in range(_SWEEPS):
        # A tiny ridge, so that no matrix is singular.
        P = sample.fit_rows(P, Q, np.inf, _TINY * float(np.sum(Q**2)))
        Q = sample.transposed.fit_rows(Q, P, np.inf, _TINY * float(np.sum(P**2)))
        before, predicted = predicted, sample.by_rows.dot(P, Q)
        if np.linalg.norm(predicted - before) <= _TOLERANCE * np.linalg.norm(predicted):
            break
    return P, Q
