"""Monte-Carlo studies: the paper's figures and more, resumable and reproducible."""

from experiments.definition import (
    DEFAULT,
    ORACLE,
    PAPER,
    VANILLA,
    Cell,
    Data,
    Method,
    Place,
    Procedure,
    Study,
)
from experiments.registry import NAMES, study
from experiments.rows import Table, pack
from experiments.runner import Completion, completion, load, run

__all__ = [
    "DEFAULT",
    "NAMES",
    "ORACLE",
    "PAPER",
    "VANILLA",
    "Cell",
    "Completion",
    "Data",
    "Method",
    "Place",
    "Procedure",
    "Study",
    "Table",
    "completion",
    "load",
    "pack",
    "run",
    "study",
]
