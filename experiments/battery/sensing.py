"""Families of sensing matrices, from independent Gaussian rows to sampled entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sensing:
    """m sensing matrices of one family, and what outliers can be organized by."""

    A: Array  # (m, n1, n2)
    copies: Array  # (m,) rows with the same number are (nearly) parallel
    block: Array  # (n1, n2) boolean: the part that a local impostor changes


@dataclass(frozen=True)
class Family:
    """How the sensing matrices of a family are drawn."""

    draw: Callable[[int, int, int, np.random.Generator], Sensing]
    independent: bool = False  # independent dense rows: the certificate should have full power
    local: bool = False  # some rows do not see some parts of the matrix
    redundancy: float = 1.0  # measurements per independent measurement
    symmetric: bool = False
    sizes_differ: bool = False  # noise of one size would hide the small rows


def _plain(A: Array, copies: Array | None = None, block: Array | None = None) -> Sensing:
    m, n1, n2 = A.shape
    if block is None:
        block = np.zeros((n1, n2), bool)
        block[:, : max(1, n2 // 2)] = True
    return Sensing(A, np.arange(m) if copies is None else copies, block)


def _gaussian(m: int, n1: int, n2: int, rng: np.random.Generator) -> Array:
    return rng.standard_normal((m, n1, n2))


def _correlated(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Consecutive rows have a correlation of 0.9."""
    A = _gaussian(m, n1, n2, rng)
    for i in range(1, m):
        A[i] = 0.9 * A[i - 1] + np.sqrt(1 - 0.81) * A[i]
    return _plain(A)


def _repeated(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Every setting is measured two to five times."""
    copies = np.sort(np.arange(m) % -(-m // int(rng.integers(2, 6))))
    return _plain(_gaussian(copies.max() + 1, n1, n2, rng)[copies], copies)


def _nearly_repeated(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Every setting is measured twice, up to a percent."""
    copies = np.arange(m) // 2
    A = _gaussian(copies.max() + 1, n1, n2, rng)[copies]
    A[1::2] += 0.01 * rng.standard_normal(A[1::2].shape)
    return _plain(A, copies)


def _two_sizes(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    sizes = np.where(rng.random(m) < 0.4, 1e-3, 1.0)
    return _plain(sizes[:, None, None] * _gaussian(m, n1, n2, rng))


def _many_sizes(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    sizes = 10 ** rng.uniform(-3, 3, m)
    return _plain(sizes[:, None, None] * _gaussian(m, n1, n2, rng))


def _blocks(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Every row sees one of four blocks of the matrix."""
    A = np.zeros((m, n1, n2))
    upper, left = np.arange(n1) < n1 // 2, np.arange(n2) < n2 // 2
    for i in range(m):
        rows = upper if rng.random() < 0.5 else ~upper
        columns = left if rng.random() < 0.5 else ~left
        A[i] = np.outer(rows, columns) * rng.standard_normal((n1, n2))
    return _plain(A, block=np.outer(upper, left))


def _scarce_columns(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Half of the columns are seen by a fifth to a half of the rows."""
    A = _gaussian(m, n1, n2, rng)
    scarce = np.arange(n2) < n2 // 2
    blind = rng.random(m) > rng.uniform(0.2, 0.5)
    A[np.ix_(blind, np.arange(n1), scarce)] = 0
    return _plain(A, block=np.outer(np.ones(n1, bool), scarce))


def _sparse(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    A = _gaussian(m, n1, n2, rng) * (rng.random((m, n1, n2)) < rng.uniform(0.03, 0.2))
    A[np.arange(m), rng.integers(n1, size=m), rng.integers(n2, size=m)] = 1.0  # no empty row
    return _plain(A)


def _rank_one(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    return _plain(rng.standard_normal((m, n1, 1)) * rng.standard_normal((m, 1, n2)))


def _symmetric(m: int, n1: int, _n2: int, rng: np.random.Generator) -> Sensing:
    if rng.random() < 0.5:
        a = rng.standard_normal((m, n1))
        return _plain(a[:, :, None] * a[:, None, :])
    A = _gaussian(m, n1, n1, rng)
    return _plain((A + A.swapaxes(1, 2)) / 2)


def _entries(m: int, n1: int, n2: int, rng: np.random.Generator) -> Sensing:
    """Sampled entries, each at most once."""
    m = min(m, n1 * n2)
    position = rng.choice(n1 * n2, m, replace=False)
    A = np.zeros((m, n1 * n2))
    A[np.arange(m), position] = 1.0
    return _plain(A.reshape(m, n1, n2))


FAMILIES = {
    "gaussian": Family(lambda *given: _plain(_gaussian(*given)), independent=True),
    "sign": Family(lambda *given: _plain(np.sign(_gaussian(*given))), independent=True),
    "uniform": Family(lambda m, n1, n2, rng: _plain(rng.random((m, n1, n2))), independent=True),
    "non-centered": Family(lambda *given: _plain(10 + _gaussian(*given)), independent=True),
    "two sizes": Family(_two_sizes, independent=True, sizes_differ=True),
    "many sizes": Family(_many_sizes, independent=True, sizes_differ=True),
    "correlated": Family(_correlated),
    "repeated": Family(_repeated, redundancy=3.5),
    "nearly repeated": Family(_nearly_repeated, redundancy=2),
    "blocks": Family(_blocks, local=True, redundancy=1.3),
    "scarce columns": Family(_scarce_columns, local=True, redundancy=1.5),
    "sparse": Family(_sparse, redundancy=1.3),
    "rank one": Family(_rank_one, redundancy=1.2),
    "symmetric": Family(_symmetric, redundancy=1.2, symmetric=True),
    "entries": Family(_entries, local=True, redundancy=2),
}
