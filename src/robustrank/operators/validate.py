"""From the user's sensing data to an operator: validated once, copied only to convert integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import (
    Array,
    as_floating,
    check_exact,
    dtype_name,
    floating_dtype,
    is_array,
    namespace,
    reject_masked,
)
from robustrank.operators.base import Operator
from robustrank.operators.blocks import BlockReader
from robustrank.operators.dense import DenseOperator
from robustrank.operators.streamed import StreamedOperator
from robustrank.operators.views import TransposedOperator


def as_operator(A: Any, shape: tuple[int, int] | None = None) -> Operator:
    """The operator for sensing data ``A``: an (m, n1, n2) array, or (m, n1·n2) with ``shape``.

    An operator is returned unchanged. An array of float32 or float64 is checked for NaN and
    infinity, which takes one pass, and is never copied: a memory map or an array with unusual
    strides is read in blocks. Integers and booleans are converted to float64 and half-precision
    numbers to float32; in a memory map each block is converted when it is read.
    """
    if isinstance(A, Operator):
        if shape is not None and _pair(shape) != A.matrix_shape:
            raise ValueError(f"shape={shape} differs from the operator's shape {A.matrix_shape}")
        return A
    reject_masked(A, "A")
    sensing = A if is_array(A) else np.asarray(A)
    dtype = floating_dtype(sensing, "A")
    matrix_shape = _matrix_shape(sensing, shape)
    if not isinstance(sensing, np.memmap):
        if dtype_name(sensing) != dtype:
            sensing = as_floating(sensing, "A")
    elif dtype_name(sensing) in ("int64", "uint64"):
        for _, block in BlockReader(sensing, dtype=dtype).blocks():
            check_exact(block, "A")
    operator = _choose(sensing, matrix_shape, dtype)
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


def _choose(sensing: Array, matrix_shape: tuple[int, int], dtype: str) -> Operator:
    n1, n2 = matrix_shape
    if not isinstance(sensing, np.ndarray):
        flat = namespace(sensing).reshape(sensing, (sensing.shape[0], n1 * n2))
        return DenseOperator(flat, matrix_shape)
    flat = _flat_view(sensing)
    if flat is not None:
        return _hold_or_stream(flat, matrix_shape, dtype)
    flat = _flat_view(sensing.swapaxes(-1, -2)) if sensing.ndim == 3 else None
    if flat is not None:  # column-major, as in MATLAB and Fortran
        return TransposedOperator(_hold_or_stream(flat, (n2, n1), dtype))
    return StreamedOperator(sensing, matrix_shape, dtype=dtype)


def _hold_or_stream(
    flat: np.ndarray[Any, Any], matrix_shape: tuple[int, int], dtype: str
) -> Operator:
    if not isinstance(flat, np.memmap):
        return DenseOperator(flat, matrix_shape)
    by_columns = flat.strides[0] < flat.strides[1]
    return StreamedOperator(flat, matrix_shape, by_columns=by_columns, dtype=dtype)


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
