"""Random sensing matrices that are regenerated from a seed instead of stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, overload

from robustrank.backend import Array, check_count, empty_array, like, namespace
from robustrank.operators.base import Operator
from robustrank.operators.dense import ArrayBackedOperator, row_norms
from robustrank.operators.kernels import tangent_rows
from robustrank.operators.tangent import StoredTangent
from robustrank.outofcore.seeded_rows import DeviceRows, SeededRows
from robustrank.outofcore.sharded import ShardedRows, sharded_rows
from robustrank.outofcore.tangent_storage import default_storage

_BLOCK_ENTRIES = 2**24


@overload
def Seeded(
    m: int,
    shape: tuple[int, int],
    seed: int,
    ensemble: Literal["gaussian", "sign"] = ...,
    *,
    dtype: Any = ...,
    memory_limit: int | None = ...,
) -> ShardedRows: ...


@overload
def Seeded(
    m: int,
    shape: tuple[int, int],
    seed: int,
    ensemble: Literal["gaussian", "sign"] = ...,
    *,
    dtype: Any = ...,
    memory_limit: int | None = ...,
    library: str,
    device: str | None = ...,
) -> Operator: ...


def Seeded(
    m: int,
    shape: tuple[int, int],
    seed: int,
    ensemble: Literal["gaussian", "sign"] = "gaussian",
    *,
    dtype: Any = "float64",
    memory_limit: int | None = None,
    library: str = "numpy",
    device: str | None = None,
) -> Operator:
    """Measurements by random matrices that a seed determines; they need no memory and no file.

    The rows are the same whatever the block size, the number of threads or the number of workers.
    Each pass generates them again, a block at a time: faster than reading them from a disk or a
    network, and slower than reading them from memory. On a GPU, where y must be too, they are the
    same rows: signs bit for bit, and normal numbers up to rounding errors.

    Parameters
    ----------
    m
        The number of measurements.
    shape
        (n1, n2), the shape of the measured matrix.
    seed
        An integer from 0 to 2^128 − 1.
    ensemble
        ``"gaussian"``: independent standard normal entries. ``"sign"``: entries ±1 with equal
        probability, which are generated about ten times faster.
    dtype
        ``"float64"`` or ``"float32"``. Normal numbers of float32 are a different sequence.
    memory_limit
        The bytes that the process may use; default: half of the available memory. Not used if
        another library than NumPy generates the rows.
    library, device
        The array library that generates the rows, ``"numpy"``, ``"torch"``, ``"jax"`` or
        ``"cupy"``, and its device, such as ``"cuda"``; default: its default device.

    Returns
    -------
    Operator
        The ``A`` of ``recover``.

    See Also
    --------
    robustrank.simulate.plant_seeded : A planted problem with such measurements.

    Examples
    --------
    >>> import numpy as np, robustrank as rr
    >>> A = rr.operators.Seeded(600, (12, 9), seed=7, ensemble="sign")
    >>> rng = np.random.default_rng(0)
    >>> U, V = rng.standard_normal((12, 2)), rng.standard_normal((9, 2))
    >>> rr.recover(A, A.measure(U, V), rank=2).status.name
    'RECOVERED'
    """
    n1, n2 = shape
    check_count(m=m, n1=n1, n2=n2)
    rows = SeededRows(m, n1 * n2, seed, ensemble, dtype)
    if library != "numpy":
        return GeneratedOperator(DeviceRows(rows, empty_array(library, device)), (n1, n2))
    return sharded_rows(rows, (n1, n2), default_storage(m, None, memory_limit))


class GeneratedOperator(ArrayBackedOperator):
    """Measurements whose A_i are the rows of a random source, generated in every pass."""

    def __init__(
        self,
        rows: DeviceRows,
        matrix_shape: tuple[int, int],
        *,
        block_entries: int = _BLOCK_ENTRIES,
    ) -> None:
        self._rows = rows
        self._matrix_shape = matrix_shape
        self._block_entries = block_entries
        self._xp = namespace(rows.example)

    @property
    def shape(self) -> tuple[int, tuple[int, int]]:
        return self._rows.source.rows, self._matrix_shape

    @property
    def dtype(self) -> Any:
        return getattr(self._xp, self._rows.source.precision.name)

    def asarray(self, values: Any) -> Array:
        return self._xp.asarray(values, device=like(self._rows.example)["device"])

    def measure(self, U: Array, V: Array) -> Array:
        x = self._xp.reshape(U @ self._xp.matrix_transpose(V), (-1,))
        return self._xp.concat([block @ x for _, block in self._blocks(U.dtype)], axis=0)

    def adjoint(self, w: Array) -> Array:
        total: Array = 0
        for part, block in self._blocks(w.dtype):
            total = total + w[part] @ block
        return self._xp.reshape(total, self._matrix_shape)

    def tangent(self, U: Array, V: Array, *, precise: bool = False) -> StoredTangent:
        rows = [
            tangent_rows(self._xp.reshape(block, (-1, *self._matrix_shape)), U, V).rows
            for _, block in self._blocks(U.dtype)
        ]
        return StoredTangent(self._xp.concat(rows, axis=0), U, V)

    def _row_norms(self) -> Array:
        each = self._blocks(self.dtype)
        return self._xp.concat([row_norms(block, part.start) for part, block in each], axis=0)

    def _blocks(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """The numbers of some consecutive rows, and these rows in a dtype."""
        m, group = self._rows.source.rows, self._rows.source.group_rows
        height = group * max(1, self._block_entries // (group * self._rows.source.size))
        for first in range(0, m, height):
            last = min(first + height, m)
            block = self._xp.astype(self._rows.read(first, last), dtype, copy=False)
            yield slice(first, last), block
