"""The contract between a family of measurements and everything else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from robustrank.backend import Array, frobenius_norm
from robustrank.operators.tangent import Tangent

Factors = tuple[Array, Array]  # (U, V), for U Vᵀ


class PassCounter:
    """Counts how many sensing rows were read; shared by an operator and the subsets taken of it."""

    def __init__(self) -> None:
        self.rows_read = 0

    def add(self, rows: int) -> None:
        """Note that ``rows`` more sensing rows were read."""
        self.rows_read += rows


def sampled_gain(sensing: Array, most_rows: int = 64, most_entries: int = 2**17) -> float:
    """The root mean square entry of stored sensing data, from a few rows spread over it."""
    rows = sensing.shape[0]
    sample = max(1, min(most_rows, most_entries * rows // math.prod(sensing.shape)))
    entries = sensing[:: -(-rows // sample), ...]
    with np.errstate(invalid="ignore"):  # what is not finite is refused elsewhere
        return float(frobenius_norm(entries / math.sqrt(math.prod(entries.shape))))


class Operator(ABC):
    """m linear measurements of an n1 × n2 matrix: A(M)_i = <A_i, M>.

    Solvers see nothing else of the sensing data. Factors are U (n1 × r) and V (n2 × r), and no
    method may assume that U Vᵀ fits in memory.
    """

    @property
    @abstractmethod
    def measurements(self) -> int:
        """m, how many measurements there are."""

    @property
    @abstractmethod
    def matrix_shape(self) -> tuple[int, int]:
        """(n1, n2), the shape of the matrix that is measured."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The precision the sensing data is stored in."""

    @property
    @abstractmethod
    def gain(self) -> float:
        """The typical size of a sensing entry: A*(A(M)) is about m · gain² · M."""

    @property
    @abstractmethod
    def in_memory(self) -> bool:
        """Whether the sensing data is held in memory, rather than read from a file."""

    @abstractmethod
    def asarray(self, values: Any) -> Array:
        """``values`` as an array of the sensing data's library, on its device."""

    @abstractmethod
    def measure(self, U: Array, V: Array) -> Array:
        """A(U Vᵀ), of shape (m,)."""

    @abstractmethod
    def backproject(self, w: Array, U: Array, V: Array) -> tuple[Array, Array]:
        """(G V, Gᵀ U) with G = A*(w) = Σ w_i A_i."""

    @abstractmethod
    def leading_svd(
        self, w: Array, rank: int, rng: np.random.Generator, plus: Factors | None = None
    ) -> tuple[Array, Array, Array]:
        """The leading singular triplets (left, values, right) of A*(w), or of A*(w) + U Vᵀ."""

    @abstractmethod
    def tangent(self, U: Array, V: Array) -> Tangent:
        """The measurements linearised at the factors (U, V)."""

    @abstractmethod
    def rows(self, index: slice) -> Operator:
        """The operator of a subset of the measurements."""

    @property
    @abstractmethod
    def passes(self) -> float:
        """How often the whole sensing data was read so far, reads by subsets included."""

    @abstractmethod
    def add_passes(self, passes: float) -> None:
        """Count reads that went by without a call, as when a card replays recorded steps."""
