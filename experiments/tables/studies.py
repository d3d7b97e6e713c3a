"""The studies of tables, run by the same runner as all others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.definition import Method, Procedure, Study
from experiments.tables.covariance import SETTINGS
from experiments.tables.draws import TableCell
from experiments.tables.methods import OURS, SKETCH
from experiments.tables.peers import COVARIANCES, PEERS
from experiments.tables.pictures import PICTURES
from experiments.tables.planted import LOW_RANK, SMALL
from experiments.tables.sets import SETS
from experiments.tables.timing import SIZES
from experiments.tables.trial import run_problem
from robustrank.solvers import Portfolio

DRAWS = 20
FAMILIES = ("none", "far cells", "cells in range", "rows")
_QUICK = ("median-trimmed", "knn-trimmed", "iterative-trimmed")  # peers beside planted oracles
_FLAGGING = ("median-trimmed",)  # a peer for precision and recall
PARTS = ("tables", "flags", "covariance", "low-rank", "small", "images", "timing")


def study(part: str, which: str, draws: int = DRAWS, sketch: Path | None = None) -> Study[Any]:
    """The study of a part; ``which`` is the set of tables, for the first two parts."""
    cells, peers = _definition(part, which)
    name = f"tables-{which}" if part == "tables" else f"tables-{part}"
    name = f"tables-{which}-flags" if part == "flags" else name
    methods = (OURS, *peers, *([SKETCH] if sketch else []))
    run = functools.partial(run_problem, sketch=sketch, covariance=part == "covariance")
    return Study(
        name,
        f"{part}, {which}" if part in PARTS[:2] else part,
        tuple(cells),
        tuple(Method(method, Portfolio()) for method in methods),  # their solver is not used
        trials=min(draws, 3) if part == "timing" else draws,
        procedure=Procedure(run=run),
    )


def _definition(part: str, which: str) -> tuple[Sequence[Any], Sequence[str]]:
    """The settings and the peers of a part."""
    tables = tuple(SETS[which])
    parts: dict[str, tuple[Sequence[Any], Sequence[str]]] = {
        "tables": ([TableCell(table, f) for table in tables for f in FAMILIES], [*PEERS]),
        "flags": ([TableCell(table, "ten sigma") for table in tables], _FLAGGING),
        "covariance": (SETTINGS, [*COVARIANCES]),
        "low-rank": (LOW_RANK, _QUICK),
        "small": (SMALL, _QUICK),
        "images": (PICTURES, ()),
        "timing": (SIZES, ()),
    }
    return parts[part]
