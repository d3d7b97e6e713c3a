"""The covariance of a fitted matrix along its tangent space, in units of the noise variance.

Let J be the tangent map of the measurements and W their weights, zero for outliers. Least squares
changes the matrix by (JᵀWJ)⁺ JᵀW ε for noise ε, so the variance of a linear functional with the
tangent vector j is jᵀ (JᵀWJ)⁺ j.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from robustrank.backend import Array, epsilon, like, namespace, to_numpy
from robustrank.linalg import (
    LEVERAGE_LIMIT,
    TangentMap,
    admissible,
    as_vector,
    leverages,
    normal_matrix,
    null_directions,
    quadratic_forms,
    solve_normal_equations,
)
from robustrank.operators import Entries, EntryTangent, Operator

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
    """

    tangent: TangentMap
    weights: Array

    @property
    def factors(self) -> tuple[Matrix, Matrix]:
        """The orthonormal factors in host memory, in double precision."""
        left, right = (to_numpy(one).astype(float) for one in (self.tangent.U, self.tangent.V))
        return left, right

    def of_entries(self, rows: Matrix, columns: Matrix) -> Matrix:
        """The variances of entries of the matrix, (k,), in units of the noise variance."""
        U, V = self.factors
        n, r = len(U) + len(V), U.shape[1]
        # The vector of an entry has two rows that are not zero.
        places = np.stack([rows, len(U) + columns], axis=1)
        values = np.stack([V[columns], U[rows]], axis=1)
        if self._inverse is None:
            return self._by_solving(_scattered(places, values, n))
        blocks = self._inverse.reshape(r, n, r, n)
        # Advanced indices that are separated by a slice come first.
        own = blocks[:, places[:, :, None], :, places[:, None, :]]
        return np.asarray(np.einsum("eak,eabkl,ebl->e", values, own, values))

    def of_functionals(self, tangent: TangentMap) -> Matrix:
        """The variances of the measurements of another tangent map at the same factors."""
        xp = namespace(tangent.U)
        if self._inverse is not None:
            forms = quadratic_forms(tangent, xp.asarray(self._inverse, **like(tangent.U)))
            if forms is not None:
                return to_numpy(forms)
        count = tangent.measurements
        units = (xp.asarray(np.eye(1, count, k)[0], **like(self.weights)) for k in range(count))
        return self._by_solving(tangent.adjoint(unit) for unit in units)

    def of_own_measurements(self, operator: Operator, freedom: int) -> Matrix:
        """The variances of what the tangent map itself measures, which is that of the operator.

        If the matrix is too large, all have the one for which the leverages sum up to ``freedom``.
        """
        if self._inverse is not None:
            if isinstance(operator, Entries):
                return self.of_entries(to_numpy(operator.rows), to_numpy(operator.columns))
            return self.of_functionals(self.tangent)
        own = to_numpy(leverages(self.tangent, self.weights, freedom, LEVERAGE_LIMIT))
        used = to_numpy(self.weights) > 0
        variances = (own[used] / (1 - own[used])) / to_numpy(self.weights)[used]
        return np.full(len(own), float(np.median(variances)))

    def of_vectors(self, vectors: Matrix) -> Matrix:
        """The variances of functionals with given tangent vectors, (k, n1 + n2, r)."""
        if self._inverse is None:
            return self._by_solving(vectors)
        flat = as_vector(vectors)
        return np.asarray(np.sum((flat @ self._inverse) * flat, axis=-1))

    def _by_solving(self, vectors: Iterable[Array]) -> Matrix:
        xp = namespace(self.weights)
        damping = epsilon(self.weights) * xp.sum(self.weights)
        tolerance = xp.asarray(_ACCURACY, **like(self.weights))
        found = []
        for vector in vectors:
            W = admissible(self.tangent, xp.asarray(vector, **like(self.weights)))
            solution = solve_normal_equations(self.tangent, self.weights, W, damping, tolerance)
            found.append(float(xp.sum(W * solution)))
        return np.asarray(found)

    @cached_property
    def _inverse(self) -> Matrix | None:
        """(JᵀWJ)⁺, except along directions that change the factors but not the matrix."""
        U, V = self.factors
        if U.size + V.size > _LARGEST_INVERSE:
            return None
        if isinstance(self.tangent, EntryTangent):
            computed = self.tangent.normal_matrix(self.weights)
        else:
            computed = normal_matrix(self.tangent, self.weights)
        if computed is None:
            return None
        matrix, null = to_numpy(computed).astype(float), null_directions(U, V)
        stiffness = float(np.trace(matrix)) / len(matrix)
        inverse: Matrix = scipy.linalg.pinvh(matrix + stiffness * null.T @ null)
        return inverse


def _scattered(places: Matrix, values: Matrix, rows: int) -> Iterator[Matrix]:
    """Matrices with these values in some of their rows, and zeros elsewhere."""
    for at, value in zip(places, values, strict=True):
        W = np.zeros((rows, value.shape[1]))
        W[at] = value
        yield W
