"""One draw of a real table: what is hidden and what is wrong, the same for all methods.

The nine combinations of the share and the kind of the hidden cells follow each other; the level
and the kind of the corruption are two Latin squares over them, shifted after every nine draws. So
any nine successive draws have every combination of two of these four factors that have three
values once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from experiments.tables.corruption import KINDS, NONE, corrupt
from experiments.tables.hiding import HIDINGS, Mask, hide
from experiments.tables.sets import table
from experiments.tables.sources import Matrix

SHARES = (0.1, 0.2, 0.4)  # of the cells that are hidden
LEVELS = {
    NONE: (0.0,),
    "far cells": (0.03, 0.05, 0.10),
    "cells in range": (0.03, 0.05, 0.10),
    "ten sigma": (0.05,),
    "rows": (0.05, 0.10, 0.20),
}


def hashed(text: str) -> int:
    """A seed for a text, the same on every machine."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True)
class Design:
    """The factors of one draw."""

    share: float  # hidden
    hiding: str
    level: float  # wrong
    kind: str

    @classmethod
    def of(cls, family: str, trial: int) -> Design:
        """The factors of a trial of a corruption."""
        share, hiding, block = trial % 3, trial // 3 % 3, trial // 9
        levels, kinds = LEVELS[family], KINDS[family]
        return cls(
            SHARES[share],
            [*HIDINGS][hiding],
            levels[(share + hiding + block) % len(levels)],
            kinds[(share + 2 * hiding + block) % len(kinds)],
        )


@dataclass(frozen=True, eq=False)
class Draw:
    """A table in which cells are hidden and something is wrong, and the truth."""

    truth: Matrix
    given: Matrix  # NaN: hidden
    hidden: Mask
    cells: Mask  # wrong and visible
    rows: Mask  # wrong

    @property
    def scored(self) -> Mask:
        """The hidden cells of rows that are not wrong."""
        return np.asarray(self.hidden & ~self.rows[:, None])


@dataclass(frozen=True)
class TableCell:
    """Draws of one table with one kind of corruption."""

    table: str
    family: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"{self.table}, {self.family}"

    def seed(self, trial: int) -> int:
        """The seed of a trial."""
        return hashed(f"{self.key} #{trial}")

    def draw(self, trial: int) -> Draw:
        """The draw of a trial."""
        design, rng = Design.of(self.family, trial), np.random.default_rng(self.seed(trial))
        return drawn(table(self.table), self.family, design, rng)


def drawn(truth: Matrix, family: str, design: Design, rng: np.random.Generator) -> Draw:
    """Corrupt a table and hide cells of it."""
    wrong = corrupt(truth, family, design.kind, design.level, rng)
    hidden = hide(truth, design.hiding, design.share, rng)
    given = np.where(hidden, np.nan, wrong.table)
    return Draw(truth, given, hidden, wrong.cells & ~hidden, wrong.rows)
