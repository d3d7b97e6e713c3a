"""The sets of problems: one for development, a sealed one, and fresh ones with other seeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.baseline import entries, noise, operators, sensing
from experiments.baseline.problem import Draw, Problem
from experiments.battery.sensing import FAMILIES
from experiments.rows import Key

DEVELOPMENT, SEALED = "development", "sealed"
_FRESH = re.compile(r"battery-\w+")  # the seeds follow from the name
_SHARE_OF_DEVELOPMENT = 7  # times larger is the sealed set
_NOISES = ("normal", "uniform", "t3")


@dataclass(frozen=True)
class Group:
    """Families of problems that are drawn in the same way."""

    study: str
    draw: Callable[[Draw], Problem]
    families: tuple[str, ...]
    trials: int  # of each family in the sealed set, and in fresh ones

    def trials_in(self, name: str) -> int:
        """The number of problems of each family in a set."""
        return -(-self.trials // _SHARE_OF_DEVELOPMENT) if name == DEVELOPMENT else self.trials


_GROUPS = (
    Group("certificates", sensing.certificates, tuple(FAMILIES), 200),
    Group("entry-certificates", entries.certificates, entries.SAMPLINGS, 700),
    Group("zoo", sensing.outliers, sensing.RANDOM, 170),
    Group("faults", sensing.outliers, sensing.FAULTS, 130),
    Group("sensing", sensing.sensing, sensing.QUESTIONS, 170),
    Group("solvers", sensing.solvers, sensing.SOLVERS, 40),
    Group("entries", entries.entries, entries.QUESTIONS, 110),
    Group("robust-pca", entries.robust_pca, entries.PCA, 90),
    Group("ranks", sensing.ranks, sensing.RANKS, 80),
    Group("ranks", entries.ranks, entries.RANKS, 80),
    Group("coverage", sensing.coverage, tuple(f"dense {one}" for one in _NOISES), 100),
    Group("coverage", entries.coverage, tuple(f"entries {one}" for one in _NOISES), 100),
    Group("operators", operators.operators, operators.KINDS, 60),
    Group("files", operators.files, operators.FILES, 50),
    Group("batches", sensing.batches, ("same shape", "different shapes"), 80),
    Group("float32", sensing.single_precision, ("dense",), 140),
    Group("float32", entries.single_precision, entries.SINGLE, 80),
    Group("larger", sensing.larger, ("dense", "dense with noise"), 40),
    Group("larger", entries.larger, ("entries", "entries with noise", "all entries"), 40),
    Group("degenerate", sensing.degenerate, sensing.DEGENERATE, 7),
    Group("gpu", operators.gpu, operators.GPU, 35),
    Group("gpu", entries.gpu, entries.GPU, 35),
    Group("noise", noise.noise, noise.NOISES, 240),
    Group("wrong-sensors", noise.faults, noise.FAULTS, 140),
)
_BY_CELL = {f"{group.study}/{family}": group for group in _GROUPS for family in group.families}
STUDIES = tuple(dict.fromkeys(group.study for group in _GROUPS))


def study_of(cell: str) -> str:
    """The study to which a setting belongs."""
    return cell.partition("/")[0]


def keys_of(name: str) -> list[Key]:
    """The problems of a set in a random order that is always the same.

    A run that is stopped early is a fair sample.
    """
    if name not in (DEVELOPMENT, SEALED) and not _FRESH.fullmatch(name):
        raise ValueError(
            f"the set {name!r} is not known; expected {DEVELOPMENT}, {SEALED}, or battery-NAME for "
            "fresh problems, whose seeds follow from the name"
        )
    keys = [
        (cell, trial, name)
        for cell, group in _BY_CELL.items()
        for trial in range(group.trials_in(name))
    ]
    return [keys[k] for k in np.random.default_rng(0).permutation(len(keys))]


def seed_of(key: Key) -> int:
    """The seed of a problem, which depends on its key only."""
    cell, trial, name = key
    digest = hashlib.blake2b(f"{name} {cell} #{trial}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def drawn(draw: Draw, cell: str) -> Problem:
    """The problem of a setting."""
    return _BY_CELL[cell].draw(draw)
