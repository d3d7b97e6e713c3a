"""The result for a matrix that is known to be positive semidefinite."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robustrank.backend import namespace, to_numpy
from robustrank.result import Recovery, Status

_EXACT = 1e-6
_NOISY = 3.0  # expected errors of the matrix


def positive_semidefinite(recovery: Recovery) -> Recovery:
    """A symmetric result as L Lᵀ, not certified if it has an eigenvalue that is clearly negative.

    The right factor of a symmetric result is the left one with the signs of the eigenvalues.
    """
    left, right = recovery.left, recovery.right
    xp = namespace(left)
    eigenvalues = to_numpy(xp.sum(left * right, axis=0))
    negative = eigenvalues < 0
    if not negative.any():
        return recovery
    error = recovery.certificate.matrix_error
    allowed = _EXACT if math.isnan(error) else _NOISY * error
    largest = float(np.max(np.abs(eigenvalues)))
    if float(-eigenvalues.min()) > allowed * largest:
        objection = "the matrix is not positive semidefinite"
        certificate = replace(
            recovery.certificate, objections=(*recovery.certificate.objections, objection)
        )
        status = Status.UNEXPLAINED if recovery.certified else recovery.status
        return replace(recovery, certificate=certificate, status=status)
    kept = xp.asarray(np.flatnonzero(~negative), device=left.device)
    left = xp.take(left, kept, axis=1)
    return replace(recovery, left=left, right=left)
