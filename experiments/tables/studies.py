"""The studies of tables, run by the same runner as all others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.definition import Method, Procedure, Study
from experiments.tables.draws import TableCell
from experiments.tables.methods import OURS, SKETCH
from experiments.tables.peers import PEERS
from experiments.tables.sets import SETS
from experiments.tables.trial import run_table
from robustrank.solvers import Portfolio

DRAWS = 20
FAMILIES = ("none", "far cells", "cells in range", "rows")
FLAGGING = (OURS, "median-trimmed")  # methods for which precision and recall are measured


def named(name: str) -> Method:
    """A method, as a study knows it; its solver is not used."""
    return Method(name, Portfolio())


def tables(which: str, draws: int = DRAWS, sketch: Path | None = None) -> Study[TableCell]:
    """All methods on all tables of a set, with every family of corruptions."""
    cells = tuple(TableCell(table, family) for table in SETS[which] for family in FAMILIES)
    methods = (OURS, *PEERS, *([SKETCH] if sketch else []))
    return _study(f"tables-{which}", f"real tables, {which}", cells, methods, draws, sketch)


def flags(which: str, draws: int = DRAWS, sketch: Path | None = None) -> Study[TableCell]:
    """Whether wrong cells ten standard deviations away are found."""
    cells = tuple(TableCell(table, "ten sigma") for table in SETS[which])
    methods = (*FLAGGING, *([SKETCH] if sketch else []))
    title = f"cells at ten standard deviations, {which}"
    return _study(f"tables-{which}-flags", title, cells, methods, draws, sketch)


def _study(
    name: str,
    title: str,
    cells: Sequence[Any],
    methods: Sequence[str],
    draws: int,
    sketch: Path | None,
) -> Study[Any]:
    procedure = Procedure(run=functools.partial(run_table, sketch=sketch))
    chosen = tuple(named(method) for method in methods)
    return Study(name, title, tuple(cells), chosen, trials=draws, procedure=procedure)
