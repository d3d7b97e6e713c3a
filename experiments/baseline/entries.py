"""Problems for ``complete`` and ``robust_pca``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.baseline.problem import (
    UNKNOWN,
    Draw,
    Problem,
    SkippedError,
    completion_problem,
    require,
)
from experiments.baseline.sensing import noise_of, noise_or_none
from experiments.battery import entries as battery
from experiments.battery.problems import NOISE_ONLY
from robustrank.simulate import PlantedEntries, plant_entries
from robustrank.theory import degrees_of_freedom

SAMPLINGS = ("uniform", "power-law", "all")
QUESTIONS = (
    *("huge", "scale", "flip", "max", "offset", "no outliers", "noise", "condition number"),
    *("scales", "mean", "power-law", "rank bound", "repeated", "matrix with NaN"),
)
PCA = ("huge", "scale", "flip", "max", "offset", "noise", "wide", "mean")
RANKS = ("entries", "entries with noise", "entries with mean", "all entries", "entries of noise")
SINGLE = ("entries", "all entries")
GPU = ("complete", "robust_pca")


def certificates(draw: Draw) -> Problem:
    """The problems of the study of certificates of completions; a quarter is impossible."""
    drawn = battery.draw(draw.family, draw.trial, draw.seed)
    possible = drawn.task != NOISE_ONLY
    return completion_problem(drawn.planted, rank=drawn.bound, possible=possible)


def planted_by(
    draw: Draw,
    *,
    model: str = "scale",
    share: float | None = None,
    oversampling: float | None = None,
    rank: int | None = None,
    everything: bool = False,
    shape: tuple[int, int] | None = None,
    **options: Any,
) -> PlantedEntries:
    """Observed entries of a small matrix; what is not given is drawn."""
    n1, n2 = shape or (draw.integer(40, 90), draw.integer(30, 70))
    r = rank or draw.integer(1, 4)
    many = draw.uniform(2.5, 8) if oversampling is None else oversampling
    free = degrees_of_freedom(n1, n2, r + (1 if options.get("mean") else 0))
    return plant_entries(
        n1,
        n2,
        r,
        n1 * n2 if everything else min(round(many * free), n1 * n2),
        outliers=draw.uniform(0.02, 0.25) if share is None else share,
        outlier_model=model,
        rng=draw.new_seed(),
        **options,
    )


def entries(draw: Draw) -> Problem:
    """What the study of completion varies, one at a time."""
    rank: Any = UNKNOWN
    given: Any = None
    match draw.family:
        case "no outliers":
            planted = planted_by(draw, share=0.0, oversampling=draw.uniform(1.1, 3))
        case "noise":
            planted = planted_by(draw, noise=float(10 ** draw.uniform(-3, -0.5)))
        case "condition number":
            planted = planted_by(draw, condition_number=float(10 ** draw.uniform(0, 3)))
        case "scales":
            planted = planted_by(draw, scales=draw.uniform(0.2, 1.2))
        case "mean":
            rank = draw.choice(None, UNKNOWN)
            planted = planted_by(draw, mean=float(10 ** draw.uniform(0, 2)))
        case "power-law":
            planted = planted_by(draw, sampling="power-law", noise=noise_or_none(draw))
        case "rank bound":
            planted = planted_by(draw, noise=noise_or_none(draw))
            rank = max(1, planted.left.shape[1] + draw.choice(-1, 1, 3))
        case "repeated":
            planted = planted_by(draw, noise=noise_or_none(draw))
            rows, columns, values = planted.triples
            given = (np.tile(rows, 2), np.tile(columns, 2), np.tile(values, 2))
            doubled = completion_problem(planted, given=given)
            return replace(
                doubled, values=np.tile(values, 2), outliers=np.tile(planted.outliers, 2)
            )
        case "matrix with NaN":
            planted = planted_by(draw, noise=noise_or_none(draw))
            places = planted.rows, planted.columns
            return replace(completion_problem(planted, given=planted.incomplete), places=places)
        case model:
            planted = planted_by(draw, model=model, noise=noise_or_none(draw))
    return completion_problem(planted, rank=rank, given=given)


def robust_pca(draw: Draw) -> Problem:
    """All entries are observed."""
    options: dict[str, Any] = {"everything": True, "share": draw.uniform(0.02, 0.45)}
    match draw.family:
        case "noise":
            planted = planted_by(draw, noise=float(10 ** draw.uniform(-3, -0.5)), **options)
        case "wide":
            shape = (draw.integer(8, 16), draw.integer(150, 300))
            planted = planted_by(draw, shape=shape, rank=draw.integer(1, 2), **options)
        case "mean":
            planted = planted_by(draw, mean=float(10 ** draw.uniform(0, 2)), **options)
        case model:
            planted = planted_by(draw, model=model, **options)
    return completion_problem(planted, rank=draw.choice(UNKNOWN, None), everything=True)


def ranks(draw: Draw) -> Problem:
    """No rank is given."""
    everything = draw.family == "all entries"
    options: dict[str, Any] = {"share": draw.uniform(0, 0.2), "rank": draw.integer(1, 6)}
    if draw.family == "entries with noise":
        options["noise"] = float(10 ** draw.uniform(-3, -0.7))
    elif draw.family == "entries with mean":
        options["mean"] = float(10 ** draw.uniform(0, 2))
    planted = planted_by(
        draw, everything=everything, oversampling=draw.uniform(3, 7), shape=(70, 60), **options
    )
    possible = draw.family != "entries of noise"
    if not possible:
        values = float(np.std(planted.values)) * draw.rng.standard_normal(len(planted.values))
        planted = replace(planted, values=values)
    return completion_problem(planted, rank=None, possible=possible, everything=everything)


def larger(draw: Draw) -> Problem:
    """Matrices in which the time is spent on products with the entries."""
    everything = draw.family == "all entries"
    planted = planted_by(
        draw,
        shape=(draw.integer(120, 200), draw.integer(100, 150)),
        rank=draw.integer(2, 6),
        model=draw.choice("huge", "scale", "flip", "max"),
        everything=everything,
        noise=float(10 ** draw.uniform(-3, -1)) if draw.family.endswith("noise") else 0.0,
    )
    return completion_problem(planted, everything=everything, rank=draw.choice(UNKNOWN, None))


def coverage(draw: Draw) -> Problem:
    """Noise of several distributions, with intervals for every entry."""
    planted = planted_by(
        draw,
        shape=(60, 45),
        rank=2,
        model=draw.choice("huge", "scale", "offset"),
        share=draw.choice(0.0, 0.1, 0.3),
        oversampling=draw.choice(3.0, 6.0),
    )
    noise = noise_of(draw, planted.values[~planted.outliers], len(planted.values))
    noisy = replace(planted, values=planted.values + noise)
    return replace(completion_problem(noisy), intervals=True)


def single_precision(draw: Draw) -> Problem:
    """Entries in single precision."""
    everything = draw.family == "all entries"
    noise = noise_or_none(draw)
    planted = planted_by(
        draw, model=draw.choice("huge", "scale"), everything=everything, noise=noise
    )
    planted = replace(planted, values=planted.values.astype(np.float32))
    given = planted.incomplete.astype(np.float32) if everything else planted.triples
    return completion_problem(planted, everything=everything, given=given, single=True)


def gpu(draw: Draw) -> Problem:
    """Completions on a CUDA device, with PyTorch."""
    require("torch")
    import torch

    if not torch.cuda.is_available():
        raise SkippedError("there is no CUDA device")
    everything = draw.family == "robust_pca"
    planted = planted_by(draw, everything=everything, noise=noise_or_none(draw))
    given: Any = [torch.asarray(part, device="cuda") for part in planted.triples]
    given = torch.asarray(planted.incomplete, device="cuda") if everything else tuple(given)
    return completion_problem(planted, everything=everything, given=given)
