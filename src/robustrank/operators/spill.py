"""A tangent map that is kept in a temporary file because it does not fit in memory."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import Array, epsilon
from robustrank.linalg import as_vector, from_vector, matvec
from robustrank.operators.block_products import BlockProducts
from robustrank.operators.prefetching import blocks
from robustrank.operators.shares import share_counts, share_maxima
from robustrank.operators.sources import Matrix, RowSource


class SpillFile:
    """Rows of numbers in a temporary file; a ``RowSource`` that can be written.

    The file has no name and disappears with the process, however that ends.
    """

    def __init__(self, rows: int, size: int, dtype: Any, folder: str | None) -> None:
        self.rows, self.size, self.dtype = rows, size, np.dtype(dtype)
        self.precision = self.dtype
        self.stored_bytes = size * self.dtype.itemsize
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # it is open as long as any tangent map uses it

    def write(self, first: int, values: Matrix) -> None:
        """Store rows, beginning with number ``first``."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        position = first * self.stored_bytes
        while len(data):
            count = os.pwrite(self._file.fileno(), data, position)
            data, position = data[count:], position + count

    def read(self, first: int, last: int, out: Matrix | None = None) -> Matrix:
        result = np.empty((last - first, self.size), self.dtype) if out is None else out
        data = result.data.cast("B")
        position = first * self.stored_bytes
        while len(data):
            count = os.preadv(self._file.fileno(), [data], position)
            if count == 0:
                raise OSError("the temporary file with the tangent map was truncated")
            data, position = data[count:], position + count
        return result


@dataclass(frozen=True, eq=False)
class SpilledTangent:
    """A tangent map whose rows are read from a source; see ``linalg.TangentMap``."""

    rows: RowSource  # (m, r (n1 + n2))
    U: Array
    V: Array
    core: Array  # u_kᵀ A_i v_k, (m, r)

    @property
    def epsilon(self) -> float:
        """The machine epsilon of the rows or of the factors, whichever is larger."""
        return max(float(np.finfo(self.rows.dtype).eps), epsilon(self.U))

    def measure(self, values: Array) -> Array:
        """The measurements of U diag(values) Vᵀ."""
        return matvec(self.core, values)

    def apply(self, W: Array) -> Array:
        """The change of the measurements along W: one read of the rows."""
        return BlockProducts(self.rows).matvec(as_vector(W))

    def adjoint(self, w: Array) -> Array:
        """The adjoint of ``apply``."""
        return from_vector(BlockProducts(self.rows).vecmat(w), self.U.shape[1])

    def gram(self, weights: Array, W: Array) -> Array:
        """``adjoint(weights * apply(W))``, in one read of the rows."""
        x = BlockProducts(self.rows).gram(weights, as_vector(W))
        return from_vector(x, self.U.shape[1])

    def normal_map(self, weights: Array) -> Callable[[Array], Array]:
        """The map from W to ``gram(weights, W)``."""
        return lambda W: self.gram(weights, W)

    def normal_matrix(self, weights: Array) -> None:
        """Not available for a map that does not fit in memory."""
        return

    def quadratic_forms(self, matrix: Array) -> None:
        """Not available for a map that does not fit in memory."""
        return

    def admissible(self, W: Array) -> Array:
        """Every W is admissible."""
        return W

    def share_maxima(self, rows: Array) -> Array:
        """The largest share of each row and column of the matrix in a measurement."""
        parts = [share_maxima(self._shaped(block), rows[part]) for part, block in blocks(self.rows)]
        return np.max(np.stack(parts), axis=0)

    def share_counts(self, least: Array, weights: Array) -> Array:
        """The weight of the measurements in which a share is larger than ``least``."""
        total = np.zeros((len(weights), len(least)))
        for part, block in blocks(self.rows):
            total += share_counts(self._shaped(block), least, weights[:, part])
        return total

    def _shaped(self, block: Matrix) -> Matrix:
        return block.reshape(len(block), self.U.shape[1], -1)
