"""The result for a matrix that is known to be positive semidefinite."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robustrank.backend import namespace, to_numpy
from robustrank.result import Result

_EXACT = 1e-6
_NOISY = 3.0  # expected errors of the matrix


def positive_semidefinite(result: Result) -> Result:
    """A symmetric result as L Lᵀ, not certified if it has an eigenvalue that is clearly negative.

    The right factor of a symmetric result is the left one with the signs of the eigenvalues.
    """
    left, right = result.left, result.right
    xp = namespace(left)
    eigenvalues = to_numpy(xp.sum(left * right, axis=0))
    negative = eigenvalues < 0
    if not negative.any():
        return result
    error = result.certificate.matrix_error
    allowed = _EXACT if math.isnan(error) else _NOISY * error
    largest = float(np.max(np.abs(eigenvalues)))
    if float(-eigenvalues.min()) > allowed * largest:
        certificate = result.certificate.with_objections("the matrix is not positive semidefinite")
        return replace(result, certificate=certificate)
    kept = xp.asarray(np.flatnonzero(~negative), device=left.device)
    left = xp.take(left, kept, axis=1)
    return replace(result, left=left, right=left)
