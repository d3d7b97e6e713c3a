"""Small operations of an iteration as one GPU kernel each, compiled by Triton.

Each would otherwise take several kernels, which together take as long as reading the sensing data.
This file is imported only where Triton is installed, by ``gpu.triton_kernels_for``.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from robustrank.backend.arrays import Array

# Comparing all pairs takes longer than the selection of PyTorch for more values than this.
_MOST_VALUES = 8192
# Larger matrices are multiplied by the library.
_MOST_ENTRIES = 2**20


def can_select(values: Array) -> bool:
    """Whether ``kth_smallest`` is faster than the selection of PyTorch."""
    return bool(values.shape[-1] <= _MOST_VALUES)


def can_multiply(rows: int, columns: int) -> bool:
    """Whether the products with a matrix of this shape are faster than those of the library."""
    return rows * columns <= _MOST_ENTRIES


def kth_smallest(values: Array, k: int) -> Array:
    """The k-th smallest value along the last axis; NaN counts as the largest."""
    *leading, m = values.shape
    values = values.contiguous()
    result = values.new_empty(leading)
    with torch.cuda.device(values.device):
        _select[(triton.cdiv(m, 4), result.numel())](
            values, result, m, k, OWN=4, OTHERS=1024, num_warps=4
        )
    return result


def outer_product(U: Array, V: Array) -> Array:
    """U Vᵀ."""
    (n1, r), n2 = U.shape, V.shape[0]
    U, V, result = U.contiguous(), V.contiguous(), U.new_empty((n1, n2))
    with torch.cuda.device(U.device):
        _outer[(triton.cdiv(n1 * n2, 256),)](
            U, V, result, n1 * n2, n2, r, BLOCK=256, RANK=triton.next_power_of_2(r)
        )
    return result


def products_with_factors(G: Array, U: Array, V: Array) -> tuple[Array, Array]:
    """(G V, Gᵀ U), for factors with the same number of columns."""
    (n1, n2), r = G.shape, U.shape[1]
    G, U, V = G.contiguous(), U.contiguous(), V.contiguous()
    result = G.new_empty((n1 + n2, r))
    lines = 8
    with torch.cuda.device(G.device):
        _products[(triton.cdiv(n1, lines) + triton.cdiv(n2, lines), r)](
            G, U, V, result, n1, n2, r, LINES=lines, ALONG=128
        )
    return result[:n1, :], result[n1:, :]


def balanced_step(W: Array, GW: Array, sizes: Array, factors: Array) -> Array:
    """W − sizes · (factors · W (Wᵀ (factors · W)) − GW), the update of gradient descent."""
    n, r = W.shape
    result = torch.empty_like(W)
    with torch.cuda.device(W.device):
        _step[(triton.cdiv(n, 64), r)](
            W, GW, sizes, factors, result, n, r,
            OWN=64, ALL=256, RANK=triton.next_power_of_2(r),
        )  # fmt: skip
    return result


@triton.jit  # type: ignore[untyped-decorator]
def _select(values, result, m, k, OWN: tl.constexpr, OTHERS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Each program counts the values that are smaller than a few own ones."""
    values += tl.program_id(1).to(tl.int64) * m
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    mine = tl.load(values + own, mask=own < m, other=0.0)[:, None]
    is_nan = mine != mine
    smaller = tl.zeros((OWN, OTHERS), tl.int32)
    not_larger = tl.zeros((OWN, OTHERS), tl.int32)
    for first in range(0, m, OTHERS):
        position = first + tl.arange(0, OTHERS)
        exists = (position < m)[None, :]
        other = tl.load(values + position, mask=position < m, other=0.0)[None, :]
        smaller += (exists & ((other < mine) | (is_nan & (other == other)))).to(tl.int32)
        not_larger += (exists & ((other <= mine) | is_nan)).to(tl.int32)
    # Equal values are all found, and write the same number.
    found = (own < m) & (tl.sum(smaller, 1) <= k) & (tl.sum(not_larger, 1) > k)
    tl.store(result + tl.program_id(1) + own * 0, tl.reshape(mine, (OWN,)), mask=found)


@triton.jit  # type: ignore[untyped-decorator]
def _outer(U, V, result, size, n2, r, BLOCK: tl.constexpr, RANK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Each program computes a few consecutive entries."""
    entry = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, RANK)[None, :]
    there = (entry < size)[:, None] & (k < r)
    left = tl.load(U + (entry // n2)[:, None] * r + k, mask=there, other=0.0)
    right = tl.load(V + (entry % n2)[:, None] * r + k, mask=there, other=0.0)
    tl.store(result + entry, tl.sum(left * right, 1), mask=entry < size)


@triton.jit  # type: ignore[untyped-decorator]
def _products(  # type: ignore[no-untyped-def]
    G, U, V, result, n1, n2, r, LINES: tl.constexpr, ALONG: tl.constexpr
):
    """Each program multiplies a few rows, or columns, of G by one column of a factor."""
    k = tl.program_id(1)
    block = tl.program_id(0)
    row_blocks = tl.cdiv(n1, LINES)
    by_rows = block < row_blocks
    if by_rows:  # noqa: SIM108  # Triton has no conditional expression for pointers
        factor = V
    else:
        factor = U
    number = tl.where(by_rows, n1, n2)
    length = tl.where(by_rows, n2, n1)
    to_next, along = tl.where(by_rows, n2, 1), tl.where(by_rows, 1, n2)
    line = tl.where(by_rows, block, block - row_blocks) * LINES + tl.arange(0, LINES)
    total = tl.zeros((LINES, ALONG), G.dtype.element_ty)
    for first in range(0, length, ALONG):
        position = first + tl.arange(0, ALONG)
        there = (line < number)[:, None] & (position < length)[None, :]
        entries = tl.load(
            G + line[:, None] * to_next + position[None, :] * along, mask=there, other=0.0
        )
        values = tl.load(factor + position * r + k, mask=position < length, other=0.0)
        total += entries * values[None, :]
    place = tl.where(by_rows, line, n1 + line)
    tl.store(result + place * r + k, tl.sum(total, 1), mask=line < number)


@triton.jit  # type: ignore[untyped-decorator]
def _step(  # type: ignore[no-untyped-def]
    W, GW, sizes, factors, result, n, r,
    OWN: tl.constexpr, ALL: tl.constexpr, RANK: tl.constexpr,
):  # fmt: skip
    """Each program updates a few entries of one column."""
    k = tl.program_id(1)
    column = tl.arange(0, RANK)[None, :]
    products = tl.zeros((ALL, RANK), W.dtype.element_ty)
    for first in range(0, n, ALL):
        row = first + tl.arange(0, ALL)
        there = (row < n)[:, None] & (column < r)
        scaled = tl.load(W + row * r + k, mask=row < n, other=0.0)
        scaled *= tl.load(factors + row, mask=row < n, other=0.0)
        products += scaled[:, None] * tl.load(W + row[:, None] * r + column, mask=there, other=0.0)
    imbalance = tl.sum(products, 0)[None, :]  # column k of Wᵀ (factors · W)
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    exists = own < n
    there = exists[:, None] & (column < r)
    rows = tl.load(W + own[:, None] * r + column, mask=there, other=0.0)
    balancing = tl.load(factors + own, mask=exists, other=0.0) * tl.sum(rows * imbalance, 1)
    entry = own * r + k
    gradient = balancing - tl.load(GW + entry, mask=exists, other=0.0)
    before = tl.load(W + entry, mask=exists, other=0.0)
    after = before - tl.load(sizes + own, mask=exists, other=0.0) * gradient
    tl.store(result + entry, after, mask=exists)
