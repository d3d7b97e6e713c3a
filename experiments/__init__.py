"""Monte-Carlo experiments: the paper's figures and beyond, resumable and reproducible."""

from experiments.definition import DEFAULT, PAPER, VANILLA, Cell, Experiment, Method
from experiments.registry import NAMES, experiment
from experiments.rows import Table, pack
from experiments.runner import Standing, load, run, standing
from experiments.trial import Place

__all__ = [
    "DEFAULT",
    "NAMES",
    "PAPER",
    "VANILLA",
    "Cell",
    "Experiment",
    "Method",
    "Place",
    "Standing",
    "Table",
    "experiment",
    "load",
    "pack",
    "run",
    "standing",
]
