"""Random sensing matrices that are regenerated from a seed instead of stored."""

from __future__ import annotations

from typing import Any, Literal, overload

from robustrank.backend import check_count, empty_array
from robustrank.operators.base import Operator
from robustrank.operators.device_rows import DeviceRows
from robustrank.operators.generated import GeneratedOperator
from robustrank.operators.seeded_rows import SeededRows
from robustrank.operators.sharded import ShardedRows, sharded_rows
from robustrank.operators.tangent_storage import default_storage


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
