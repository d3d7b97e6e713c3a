"""The best that a completion can do: least squares on the true inliers, from the true matrix.

It uses NumPy only, so that it does not change with the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robustrank.simulate import PlantedEntries

Array = np.ndarray[Any, Any]
Part = tuple[Array, Array]  # rows and columns, boolean

_SWEEPS, _TOLERANCE = 300, 1e-8
_RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class EntryOracle:
    """Errors of a completion and of least squares, in a part of the matrix."""

    planted: PlantedEntries
    possible: bool  # whether the entries have anything to do with the matrix

    def error(self, part: Part) -> float | None:
        """The error of least squares in a part; None if the problem has no solution."""
        return self.error_of(self._factors, part) if self.possible else None

    def error_of(self, factors: tuple[Array, Array], part: Part) -> float:
        """The error of factors in a part, relative to the matrix there; infinite if it is empty."""
        rows, columns = part
        true = self.planted.left[rows] @ self.planted.right[columns].T
        norm = float(np.linalg.norm(true))
        found = factors[0][rows] @ factors[1][columns].T
        return float(np.linalg.norm(found - true)) / norm if norm > 0 else np.inf

    @cached_property
    def determinable(self) -> Part:
        """The rows and columns with more inliers than unknowns, counting only such ones."""
        needed = self.planted.left.shape[1] + 1
        inliers = self._inliers > 0
        rows, columns = (np.ones(n, bool) for n in inliers.shape)
        while True:
            inside = inliers & rows[:, None] & columns
            more = rows & (inside.sum(1) >= needed), columns & (inside.sum(0) >= needed)
            if more[0].sum() == rows.sum() and more[1].sum() == columns.sum():
                return more
            rows, columns = more

    @cached_property
    def _inliers(self) -> Array:
        mask = np.zeros(self.planted.shape)
        good = ~self.planted.outliers
        mask[self.planted.rows[good], self.planted.columns[good]] = 1
        return mask

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        mask = self._inliers
        values = np.zeros_like(mask)
        values[self.planted.rows, self.planted.columns] = self.planted.values
        values *= mask
        P, Q = self.planted.left, self.planted.right
        before = P @ Q.T
        for _ in range(_SWEEPS):
            P = _fit(mask, values, Q)
            Q = _fit(mask.T, values.T, P)
            now = P @ Q.T
            if np.linalg.norm((now - before) * mask) <= _TOLERANCE * np.linalg.norm(now * mask):
                break
            before = now
        return P, Q


def _fit(mask: Array, values: Array, other: Array) -> Array:
    """Each row by least squares, with a tiny ridge, so that no equations are singular."""
    r = other.shape[1]
    products = (other[:, :, None] * other[:, None, :]).reshape(len(other), r * r)
    grams = (mask @ products).reshape(-1, r, r)
    grams += _RIDGE * float(np.sum(other**2)) * np.eye(r)
    return np.asarray(np.linalg.solve(grams, (values @ other)[:, :, None])[:, :, 0])
