"""What another method is given, and how it is described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.simulate import PlantedEntries

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Given:
    """A problem as a method may use it: the data, and what some methods must know."""

    entries: tuple[Array, Array, Array]  # rows, columns, values
    X: Array  # the n1 × n2 matrix of the entries, NaN where there is none
    rank: int
    outliers: int

    @classmethod
    def of(cls, planted: PlantedEntries) -> Given:
        """The data of a planted problem, its rank and its number of outliers."""
        rank, outliers = planted.left.shape[1], int(np.sum(planted.outliers))
        return cls(planted.triples, planted.incomplete, rank, outliers)


Solve = Callable[[Given], Array]  # returns the estimated matrix


@dataclass(frozen=True)
class Peer:
    """Another method.

    Attributes
    ----------
    name
        The name in the table.
    settings
        What the method is given besides the data, and its parameters.
    load
        Imports what is needed and returns the function that estimates the matrix. Its time is not
        measured.
    package
        The package to install if ``load`` raises ImportError.
    """

    name: str
    settings: str
    load: Callable[[], Solve]
    package: str = ""
