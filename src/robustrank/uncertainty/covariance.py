"""The covariance of a fitted matrix along its tangent space, in units of the noise variance.

Let J be the tangent map of the measurements and W their weights, zero for outliers. Least squares
changes the matrix by (JᵀWJ)⁺ JᵀW ε for noise ε, so the variance of a linear functional with the
tangent vector j is jᵀ (JᵀWJ)⁺ j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.linalg import (
    TangentMap,
    admissible,
    as_vector,
    normal_matrix,
    null_directions,
    quadratic_forms,
    solve_normal_equations,
)

Matrix = np.ndarray[Any, Any]

# The largest number of unknowns for which the normal matrix is inverted; with more of them, each
# functional takes a solve.
_LARGEST_INVERSE = 4000
_ACCURACY = 1e-5


@dataclass(frozen=True, eq=False)
class TangentCovariance:
    """jᵀ (JᵀWJ)⁺ j for tangent vectors j.

    Parameters
    ----------
    tangent
        The map J at orthonormal factors.
    weights
        (m,), zero for outliers.
    normal
        Returns JᵀWJ as a NumPy array; by default it is computed from the map.
    """

    tangent: TangentMap
    weights: Array
    normal: Callable[[], Matrix] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n1, n2, r)."""
        n1, r = self.tangent.U.shape
        return int(n1), int(self.tangent.V.shape[0]), int(r)

    def of_entries(self, rows: Matrix, columns: Matrix) -> Matrix:
        """The variances of entries of the matrix, (k,), in units of the noise variance."""
        U, V = (to_numpy(factor) for factor in (self.tangent.U, self.tangent.V))
        n1, n2, r = self.shape
        if self._inverse is None:
            entries = zip(rows, columns, strict=True)
            return self._by_solving(self._entry_vector(i, j) for i, j in entries)
        blocks = self._inverse.reshape(r, n1 + n2, r, n1 + n2)
        u, v, at, beside = U[rows], V[columns], rows, n1 + columns
        own, other, mixed = (
            # Advanced indices that are separated by a slice come first.
            blocks[:, first, :, second]
            for first, second in ((at, at), (beside, beside), (at, beside))
        )
        total = np.einsum("ek,ekl,el->e", v, own, v) + np.einsum("ek,ekl,el->e", u, other, u)
        return np.asarray(total + 2 * np.einsum("ek,ekl,el->e", v, mixed, u))

    def of_functionals(self, tangent: TangentMap) -> Matrix:
        """The variances of the measurements of another tangent map at the same factors."""
        forms = None
        if self._inverse is not None:
            xp = namespace(tangent.U)
            forms = quadratic_forms(tangent, xp.asarray(self._inverse, **like(tangent.U)))
        if forms is not None:
            return to_numpy(forms)
        xp = namespace(self.weights)
        count = int(tangent.measure(tangent.U[0, :] * 0).shape[0])
        eye = (xp.asarray(np.eye(1, count, k)[0], **like(self.weights)) for k in range(count))
        return self._by_solving(tangent.adjoint(unit) for unit in eye)

    def of_vectors(self, vectors: Matrix) -> Matrix:
        """The variances of functionals with given tangent vectors, (k, n1 + n2, r)."""
        if self._inverse is not None:
            flat = as_vector(vectors)
            return np.asarray(np.sum((flat @ self._inverse) * flat, axis=-1))
        xp = namespace(self.weights)
        return self._by_solving(xp.asarray(one, **like(self.weights)) for one in vectors)

    def _entry_vector(self, row: int, column: int) -> Array:
        n1, n2, r = self.shape
        xp = namespace(self.tangent.U)
        W = np.zeros((n1 + n2, r))
        W[row] = to_numpy(self.tangent.V)[column]
        W[n1 + column] = to_numpy(self.tangent.U)[row]
        return xp.asarray(W, **like(self.tangent.U))

    def _by_solving(self, vectors: Any) -> Matrix:
        xp = namespace(self.weights)
        damping = epsilon(self.weights) * xp.sum(self.weights)
        tolerance = xp.asarray(_ACCURACY, **like(self.weights))
        found = []
        for vector in vectors:
            W = admissible(self.tangent, vector)
            solution = solve_normal_equations(self.tangent, self.weights, W, damping, tolerance)
            found.append(float(xp.sum(W * solution)))
        return np.asarray(found)

    @cached_property
    def _inverse(self) -> Matrix | None:
        """(JᵀWJ)⁺, except along directions that change the factors but not the matrix."""
        n1, n2, r = self.shape
        if r * (n1 + n2) > _LARGEST_INVERSE:
            return None
        if self.normal is not None:
            matrix = self.normal()
        else:
            computed = normal_matrix(self.tangent, self.weights)
            if computed is None:
                return None
            matrix = to_numpy(computed).astype(float)
        U, V = (to_numpy(factor).astype(float) for factor in (self.tangent.U, self.tangent.V))
        null = null_directions(U, V)
        stiffness = float(np.trace(matrix)) / len(matrix)
        inverse: Matrix = scipy.linalg.pinvh(matrix + stiffness * null.T @ null)
        return inverse
