"""Small problems of completion: everything about a problem is drawn from the seed of its trial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.battery.problems import MOSTLY_OUTLIERS, NOISE_ONLY, POSSIBLE, TOO_FEW
from robustrank.simulate import ENTRY_OUTLIER_MODELS, PlantedEntries, plant_entries
from robustrank.theory import degrees_of_freedom

Array = np.ndarray[Any, Any]

IMPOSTOR, LOCAL_IMPOSTOR = "impostor", "local impostor"
_KINDS = (*ENTRY_OUTLIER_MODELS, IMPOSTOR, LOCAL_IMPOSTOR)
# If most entries have the wrong sign, the matrix with that sign is the answer.
_UNRELATED = [kind for kind in ENTRY_OUTLIER_MODELS if kind != "flip"]
# A quarter of the problems is impossible.
_TASKS = (*[POSSIBLE] * 3, TOO_FEW, *[POSSIBLE] * 3, NOISE_ONLY, *[POSSIBLE] * 3, MOSTLY_OUTLIERS)


@dataclass(frozen=True)
class EntriesProblem:
    """Observed entries with their solution and a description of how they were drawn."""

    planted: PlantedEntries
    bound: int | None  # on the rank, that ``complete`` is given
    task: str
    kind: str  # of the outliers
    noise: float
    oversampling: float


def draw(sampling: str, trial: int, seed: int) -> EntriesProblem:
    """The problem of a trial, with uniform or power-law sampling or all entries observed."""
    rng = np.random.default_rng([seed, trial, *sampling.encode()])
    task = _TASKS[trial % len(_TASKS)]
    n1, n2, r = int(rng.integers(20, 81)), int(rng.integers(20, 61)), int(rng.integers(1, 5))
    everything = sampling == "all"
    if everything and task == TOO_FEW:
        task = NOISE_ONLY
    oversampling = float(rng.uniform(0.4, 0.95) if task == TOO_FEW else rng.uniform(1.2, 9))
    kind = str(rng.choice(_KINDS))
    share = float(rng.uniform(0, 0.45)) if rng.random() > 0.1 else 0.0
    if task == MOSTLY_OUTLIERS:
        share, kind = float(rng.uniform(0.6, 0.8)), str(rng.choice(_UNRELATED))
    noise = float(10 ** rng.uniform(-3, -0.7)) if rng.random() < 0.5 else 0.0
    free = degrees_of_freedom(n1, n2, r)
    random_kind = kind in ENTRY_OUTLIER_MODELS
    planted = plant_entries(
        n1,
        n2,
        r,
        n1 * n2 if everything else min(round(oversampling * free), n1 * n2),
        outliers=share if random_kind else 0.0,
        outlier_model=kind if random_kind else "scale",
        noise=noise,
        condition_number=float(10 ** rng.uniform(0, 2)) if rng.random() < 0.3 else None,
        scales=float(rng.uniform(0, 1)) if rng.random() < 0.3 else 0.0,
        sampling="uniform" if everything else sampling,
        rng=rng,
    )
    if not random_kind:
        planted = _with_impostor(planted, share, local=kind == LOCAL_IMPOSTOR, rng=rng)
    if task == NOISE_ONLY:
        size = float(np.std(planted.values))
        planted = replace(planted, values=size * rng.standard_normal(len(planted.values)))
    bound = [r, r, r + 1, 2 * r, None, max(r - 1, 1)][int(rng.integers(6))]
    return EntriesProblem(planted, bound, task, kind, noise, len(planted.values) / free)


def _with_impostor(
    planted: PlantedEntries, share: float, *, local: bool, rng: np.random.Generator
) -> PlantedEntries:
    """Some entries are those of another matrix, which may differ in some of the columns only."""
    left, right = planted.left, np.asarray(rng.standard_normal(planted.right.shape))
    sees = np.ones(len(planted.values), bool)
    if local:
        columns = rng.random(len(right)) < rng.uniform(0.05, 0.5)
        right = np.where(columns[:, None], right * np.std(planted.right), planted.right)
        sees = columns[planted.columns]
    else:
        left = np.asarray(rng.standard_normal(left.shape)) * 10 ** rng.uniform(-1, 1) * np.std(left)
    chosen = _minority(planted, sees, share, rng)
    other = np.sum(left[planted.rows] * right[planted.columns], axis=1)
    values = np.where(chosen, other, planted.values)
    return replace(planted, values=values, outliers=chosen)


def _minority(
    planted: PlantedEntries, sees: Array, share: float, rng: np.random.Generator
) -> Array:
    """A share of some entries at random, but fewer than half in every row and every column.

    A certificate assumes that: otherwise the other matrix is the answer there.
    """
    chosen = sees & (rng.random(len(sees)) < share)
    for index in (planted.rows, planted.columns):
        for part in np.unique(index):
            entries = rng.permutation(np.flatnonzero((index == part) & chosen))
            most = (np.count_nonzero(index == part) - 1) // 2
            chosen[entries[most:]] = False
    return chosen
