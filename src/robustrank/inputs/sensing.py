"""From the user's sensing data to an operator: validated once, copied only to convert integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from robustrank.backend import (
    Array,
    as_floating,
    dtype_name,
    floating_dtype,
    is_array,
    namespace,
    reject_masked,
)
from robustrank.operators import (
    DenseOperator,
    Entries,
    LinearMap,
    Operator,
    SparseOperator,
    TransposedOperator,
)
from robustrank.operators.linear_map import is_linear_map
from robustrank.outofcore.array_rows import ArrayRows, is_sliceable
from robustrank.outofcore.engine import Engine
from robustrank.outofcore.file_rows import FileRows
from robustrank.outofcore.opening import Several, open_sensing, path_of
from robustrank.outofcore.sharded import (
    ShardedOperator,
    ShardedRows,
    sharded_chunks,
    sharded_entries,
    sharded_rows,
)
from robustrank.outofcore.sources import Concatenated, RowSource
from robustrank.outofcore.streamed import ColumnStreamedOperator, StreamedOperator
from robustrank.outofcore.tangent_storage import TangentStorage, default_storage, folder_beside


def as_operator(
    A: Any,
    shape: tuple[int, int] | None = None,
    *,
    memory_limit: int | None = None,
    engine: Engine | None = None,
) -> Operator:
    """The operator of sensing data, validated.

    Parameters
    ----------
    A
        One of the following:

        - An operator, which is returned unchanged.
        - An (m, n1, n2) array, or an (m, n1·n2) array together with ``shape``. Arrays of float32 or
          float64 are checked for NaN and infinity, which takes one pass, and never copied. Integers
          and booleans are converted to float64 and half-precision numbers to float32.
        - A memory map, the path of an ``.npy`` file or a ``.zarr`` folder, a list of such paths, a
          dataset of h5py or an array of zarr. It is read in blocks and converted when it is read;
          integers of one byte are converted to float32.
        - An (m, n1·n2) matrix of ``scipy.sparse``, or a ``LinearOperator`` of SciPy or PyLops that
          acts on the matrix in row-major order; its two products are tested.
    shape
        (n1, n2), needed only if A is two-dimensional.
    memory_limit
        How many bytes the process may use if the data is read in blocks; default: half of the
        available memory.
    engine
        Where such data is computed, by default here.

    Returns
    -------
    Operator
        The operator.

    Raises
    ------
    ValueError, TypeError
        If A is invalid; the message says what was passed and what is expected.

    See Also
    --------
    robustrank.recover : Calls it; it is needed only for ``Problem`` and for tests.
    robustrank.operators.check_operator : Test an operator.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> A = np.random.default_rng(1).standard_normal((200, 12, 10))
    >>> rr.operators.as_operator(A)
    DenseOperator(200 measurements of a 12 × 10 matrix, float64)
    """
    if isinstance(A, Operator):
        return _given_operator(A, shape, memory_limit, engine)
    reject_masked(A, "A")
    if engine is None and is_in_memory(A):
        return _checked(_of_array(A, shape))
    if _is_dask_array(A):
        return _of_dask_array(A, shape, engine)
    A = open_sensing(A)
    source = _source(A)
    if source is not None:
        matrix_shape = _matrix_shape(A, shape)
        storage = default_storage(source.rows, folder_beside(path_of(A)), memory_limit)
        operator: Operator = sharded_rows(source, matrix_shape, storage, engine)
    elif engine is not None and not engine.is_local:
        raise TypeError(
            f"A is a {type(A).__name__}, which would have to be sent to the workers; expected "
            "files that they can read, a dask array, or rr.operators.Seeded"
        )
    elif scipy.sparse.issparse(A):
        operator = _of_sparse(A, shape)
    elif is_linear_map(A):
        operator = LinearMap(A, _matrix_shape(A, shape or _dims(A)))
    else:
        operator = _of_array(A, shape)
    return _checked(operator)


def is_in_memory(A: Any) -> bool:
    """Whether sensing data is an array in the memory of this process or of a device."""
    return is_array(A) and not (isinstance(A, np.memmap) or _is_dask_array(A))


def _checked(operator: Operator) -> Operator:
    """The operator; raises if its data contains NaN or infinity."""
    operator.row_norms()
    return operator


def _given_operator(
    A: Operator,
    shape: tuple[int, int] | None,
    memory_limit: int | None,
    engine: Engine | None,
) -> Operator:
    if shape is not None and _pair(shape) != A.matrix_shape:
        raise ValueError(f"shape={shape} differs from the operator's shape {A.matrix_shape}")
    if isinstance(A, ShardedRows) and memory_limit is not None:
        A = A.stored_in(default_storage(A.measurements, A.storage.folder, memory_limit))
    if engine is not None and isinstance(A, ShardedOperator):
        return A.on(engine)
    if engine is None or engine.is_local:
        return A
    if isinstance(A, Entries):
        return sharded_entries(A, engine)
    raise TypeError(
        f"A is a {type(A).__name__}, which cannot be used with a cluster; expected files, a dask "
        "array, rr.operators.Seeded or Entries"
    )


def _source(A: Any) -> RowSource | None:
    """The source of rows that are read in blocks, or None for other arrays."""
    if isinstance(A, Several):
        return A[0] if len(A) == 1 else Concatenated(tuple(A))
    if isinstance(A, np.memmap):
        rows = FileRows.from_memmap(A)
        if rows is not None:
            return rows
        return ArrayRows(A) if _flat_view(A) is None and not _is_transposed(A) else None
    if is_array(A) or not is_sliceable(A):
        return None
    return ArrayRows(A)


def _of_array(A: Any, shape: tuple[int, int] | None) -> Operator:
    """The operator of an array in memory, or of a memory map in Fortran order."""
    sensing = A if is_array(A) else np.asarray(A)
    dtype = floating_dtype(sensing, "A")
    matrix_shape = _matrix_shape(sensing, shape)
    if dtype_name(sensing) != dtype and not isinstance(sensing, np.memmap):
        sensing = as_floating(sensing, "A")
    return _choose(sensing, matrix_shape)


def _of_sparse(A: Any, shape: tuple[int, int] | None) -> Operator:
    matrix_shape = _matrix_shape(A, shape)
    return SparseOperator(A.reshape((A.shape[0], -1)), matrix_shape)


def _dims(A: Any) -> tuple[int, int] | None:
    """The shape of the matrices that an operator of PyLops is made for; None if it is not known."""
    dims: tuple[int, ...] = tuple(getattr(A, "dims", ()))
    return (int(dims[0]), int(dims[1])) if len(dims) == 2 else None


def _is_dask_array(A: Any) -> bool:
    return type(A).__module__.startswith("dask.array")


def _of_dask_array(A: Any, shape: tuple[int, int] | None, engine: Engine | None) -> Operator:
    if engine is None or engine.is_local:
        raise TypeError(
            "A is a dask array; pass client=distributed.Client(…) to compute on its cluster"
        )
    whole = A.rechunk(dict.fromkeys(range(1, A.ndim), -1))
    storage = TangentStorage(budget=0)
    operator = sharded_chunks(whole, _matrix_shape(A, shape), storage, engine)
    operator.row_norms()  # raises if A contains NaN or infinity
    return operator


def _matrix_shape(sensing: Array, shape: tuple[int, int] | None) -> tuple[int, int]:
    got = tuple(int(n) for n in sensing.shape)
    if len(got) not in (2, 3):
        raise ValueError(
            f"A has shape {got}; expected (m, n1, n2), or (m, n1*n2) with shape=(n1, n2)"
        )
    if got[0] == 0:
        raise ValueError(f"A has shape {got} and so no measurements; expected m ≥ 1")
    if len(got) == 3:
        if shape is not None and _pair(shape) != got[1:]:
            raise ValueError(f"A has shape {got}, which does not match shape={_pair(shape)}")
        matrix_shape = got[1:]
    elif shape is None:
        raise ValueError(f"A has shape {got}; pass shape=(n1, n2) with n1*n2 = {got[1]}")
    else:
        matrix_shape = _pair(shape)
    if min(matrix_shape) < 1:
        raise ValueError(f"the matrix would have shape {matrix_shape}; expected at least 1 × 1")
    if len(got) == 2 and matrix_shape[0] * matrix_shape[1] != got[1]:
        raise ValueError(
            f"A has {got[1]} columns, but shape={matrix_shape} needs "
            f"{matrix_shape[0]} × {matrix_shape[1]} = {matrix_shape[0] * matrix_shape[1]}"
        )
    return matrix_shape


def _pair(shape: Any) -> tuple[int, int]:
    whole = isinstance(shape, (tuple, list)) and all(
        isinstance(n, (int, np.integer)) for n in shape
    )
    if not whole or len(shape) != 2:
        raise ValueError(f"shape={shape!r}; expected two integers, (n1, n2)")
    return int(shape[0]), int(shape[1])


def _choose(sensing: Array, matrix_shape: tuple[int, int]) -> Operator:
    n1, n2 = matrix_shape
    if not isinstance(sensing, np.ndarray):
        flat = namespace(sensing).reshape(sensing, (sensing.shape[0], n1 * n2))
        return DenseOperator(flat, matrix_shape)
    flat = _flat_view(sensing)
    if flat is not None:
        return _hold_or_stream(flat, matrix_shape)
    if _is_transposed(sensing):  # column-major, as in MATLAB and Fortran
        flat = _flat_view(sensing.swapaxes(-1, -2))
        return TransposedOperator(_hold_or_stream(flat, (n2, n1)))
    return StreamedOperator(ArrayRows(sensing), matrix_shape)


def _is_transposed(sensing: np.ndarray[Any, Any]) -> bool:
    return sensing.ndim == 3 and _flat_view(sensing.swapaxes(-1, -2)) is not None


def _hold_or_stream(flat: Any, matrix_shape: tuple[int, int]) -> Operator:
    if not isinstance(flat, np.memmap):
        return DenseOperator(flat, matrix_shape)
    if flat.strides[0] < flat.strides[1]:
        return ColumnStreamedOperator(ArrayRows(flat.T), matrix_shape)
    return StreamedOperator(ArrayRows(flat), matrix_shape)


def _flat_view(sensing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The array as (m, n1·n2) for BLAS, or None if that would need a copy."""
    m, size = sensing.shape[0], sensing[0].size
    if not (sensing.dtype.isnative and sensing.flags.aligned):
        return None
    try:
        flat = sensing.reshape(m, size, copy=False)
    except ValueError:
        return None
    item = sensing.itemsize
    row_step, column_step = flat.strides
    by_rows = column_step == item and row_step >= size * item and row_step % item == 0
    by_columns = row_step == item and column_step >= m * item and column_step % item == 0
    return flat if by_rows or by_columns else None
