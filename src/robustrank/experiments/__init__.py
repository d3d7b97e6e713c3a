"""Monte-Carlo experiments: the paper's figures and beyond, resumable and reproducible."""

from robustrank.experiments.catalogue import NAMES, experiment
from robustrank.experiments.definition import DEFAULT, PAPER, VANILLA, Cell, Experiment, Method
from robustrank.experiments.rows import Table, pack
from robustrank.experiments.runner import Standing, load, run, standing
from robustrank.experiments.trial import Place

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
