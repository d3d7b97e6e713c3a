"""The measurements behind a result: what they differ by from it and, of entries, where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, to_numpy

Vector = np.ndarray[Any, Any]
Residuals = tuple[Array, Array, Array]  # rows, columns, and values minus the matrix


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements <A_i, M>, which have no position in the matrix."""

    residuals: Array

    def all(self) -> Residuals:
        raise ValueError("the measurements of this result are not entries of the matrix")

    def chosen(self, flags: Array) -> Residuals:
        return self.all()

    def occupied(self, shape: tuple[int, int]) -> tuple[Vector, Vector]:
        return np.ones(shape[0], bool), np.ones(shape[1], bool)

    def arranged(self, values: Vector, form: tuple[int, ...]) -> Vector:
        return values


@dataclass(frozen=True, eq=False)
class SampledObservations:
    """Entries with a position each, and the values minus the matrix."""

    rows: Array
    columns: Array
    residuals: Array

    def all(self) -> Residuals:
        """All entries, in the order given."""
        return self.rows, self.columns, self.residuals

    def chosen(self, flags: Array) -> Residuals:
        """Some entries, NumPy; ``flags`` are boolean, in the form of the data."""
        rows, columns, residuals = map(to_numpy, self.all())
        which = to_numpy(flags)
        which = which if which.ndim == 1 else which[rows, columns]
        return rows[which], columns[which], residuals[which]

    def occupied(self, shape: tuple[int, int]) -> tuple[Vector, Vector]:
        """Which rows and which columns have entries that are finite; boolean."""
        rows, columns, residuals = map(to_numpy, self.all())
        finite = np.isfinite(residuals)
        flags = np.zeros(shape[0], bool), np.zeros(shape[1], bool)
        flags[0][rows[finite]] = True
        flags[1][columns[finite]] = True
        return flags

    def arranged(self, values: Vector, form: tuple[int, ...]) -> Vector:
        """A number for each entry in the form of the data; NaN where there is no entry."""
        if len(form) == 1:
            return values
        grid = np.full(form, np.nan)
        grid[to_numpy(self.rows), to_numpy(self.columns)] = values
        return grid


@dataclass(frozen=True, eq=False)
class MatrixObservations:
    """All entries of a large matrix; residuals are computed when they are asked for.

    ``values`` is the matrix that was given, not a copy.
    """

    values: Vector
    left: Vector
    right: Vector

    @property
    def residuals(self) -> Array:
        return self.all()[2]

    def all(self) -> Residuals:
        return self.chosen(np.ones(self.values.shape, bool))

    def chosen(self, flags: Array) -> Residuals:
        rows, columns = np.nonzero(to_numpy(flags))
        residuals = self.values[rows, columns].astype(self.left.dtype)
        for left, right in zip(self.left.T, self.right.T, strict=True):
            residuals -= left[rows] * right[columns]
        return rows, columns, residuals

    def occupied(self, shape: tuple[int, int]) -> tuple[Vector, Vector]:
        finite: Vector = np.isfinite(self.values)
        return np.any(finite, axis=1), np.any(finite, axis=0)

    def arranged(self, values: Vector, form: tuple[int, ...]) -> Vector:
        return values.reshape(form)


Observations = Measurements | SampledObservations | MatrixObservations
