"""One draw of a real table: what is hidden and what is wrong, the same for all methods.

The nine combinations of the share and the kind of the hidden cells follow each other; the level
and the kind of the corruption are two Latin squares over them, shifted after every nine draws. So
any nine successive draws have every combination of two of these four factors that have three
values once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from experiments.rows import Row
from experiments.tables.corruption import KINDS, NONE, corrupt
from experiments.tables.filled import Filled
from experiments.tables.hiding import HIDINGS, Mask, hide
from experiments.tables.measure import counts, coverage, finite, rms, rounded
from experiments.tables.seeds import Seeded
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
    design: Design

    @property
    def counted(self) -> Mask:
        """The hidden cells of rows that are not wrong."""
        return np.asarray(self.hidden & ~self.rows[:, None])

    def about(self) -> Row:
        """The factors of the draw."""
        return asdict(self.design)

    def scored(self, filled: Filled) -> Row:
        """The error in clean column deviations, and what the method makes possible besides."""
        if not finite(filled.values, self.truth.shape):
            return {"failure": "the values are not finite or have another shape"}
        errors = filled.values - self.truth
        row: Row = {"error": rounded(rms((errors / self.truth.std(axis=0))[self.counted]))}
        if filled.outliers is not None:
            visible = ~self.hidden & ~self.rows[:, None]
            row["cells"] = counts(filled.outliers, self.cells, visible)
        if filled.row_outliers is not None:
            row["rows"] = counts(filled.row_outliers, self.rows, np.ones_like(self.rows))
        if filled.standard_errors is not None:
            row["inside"] = rounded(coverage(errors, filled.standard_errors, self.counted))
        return row


@dataclass(frozen=True)
class TableCell(Seeded):
    """Draws of one table with one kind of corruption."""

    table: str
    family: str

    @property
    def key(self) -> str:
        """The setting as one line."""
        return f"{self.table}, {self.family}"

    def draw(self, trial: int) -> Draw:
        """The draw of a trial."""
        design, rng = Design.of(self.family, trial), np.random.default_rng(self.seed(trial))
        return drawn(table(self.table), self.family, design, rng)


def drawn(truth: Matrix, family: str, design: Design, rng: np.random.Generator) -> Draw:
    """Corrupt a table and hide cells of it."""
    wrong = corrupt(truth, family, design.kind, design.level, rng)
    hidden = hide(truth, design.hiding, design.share, rng)
    given = np.where(hidden, np.nan, wrong.table)
    return Draw(truth, given, hidden, wrong.cells & ~hidden, wrong.rows, design)
