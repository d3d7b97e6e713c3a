"""Problems for ``recover`` whose sensing matrices are arrays: kinds of outliers, ranks, solvers."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

import robustrank as rr
from experiments.baseline.problem import UNKNOWN, Array, Draw, Problem, recovery_problem
from experiments.battery import problems as battery
from robustrank.theory import degrees_of_freedom

RANDOM = ("huge", "scale", "impostor", "constant", "flip", "cauchy", "one-sided")
FAULTS = (
    *("offset:0.01", "offset:0.1", "offset:0.3", "offset:1", "gain:0.5", "gain:1.2", "gain:2"),
    *("dead", "stuck", "saturated", "swapped", "drift"),
)
QUESTIONS = ("measurements", "outliers", "noise", "condition number", "size", "rank bound")
SOLVERS = ("gauss-newton", "message-passing", "median-tgd", "vanilla-gd", "start")
RANKS = ("exact", "noise", "ill-conditioned", "no structure")
_DRIFT = "drift"


def planted_by(
    draw: Draw,
    *,
    model: str = "huge",
    share: float | None = None,
    noise: float = 0.0,
    ratio: float | None = None,
    shape: tuple[int, int] | None = None,
    rank: int | None = None,
    **options: Any,
) -> rr.simulate.Planted:
    """A small planted problem; what is not given is drawn.

    ``ratio`` is the number of inliers over the degrees of freedom.
    """
    n1, n2 = shape or (draw.integer(14, 30), draw.integer(12, 24))
    r = rank or draw.integer(1, 3)
    part = draw.uniform(0.02, 0.4) if share is None else share
    many = draw.uniform(1.3, 4) if ratio is None else ratio
    m = round(many * degrees_of_freedom(n1, n2, r) / (1 - part))
    drift = model == _DRIFT
    planted = rr.simulate.plant(
        n1,
        n2,
        r,
        m,
        outliers=0.0 if drift else part,
        outlier_model="huge" if drift else model,
        rng=draw.new_seed(),
        **bounded_noise(noise),
        **options,
    )
    return _drifting(planted, part, draw) if drift else planted


def _drifting(planted: rr.simulate.Planted, share: float, draw: Draw) -> rr.simulate.Planted:
    """The offset of the last measurements grows with time."""
    m = len(planted.y)
    late = np.arange(m) >= m - round(share * m)
    size = draw.choice(0.1, 1.0, 10.0) * float(np.linalg.norm(planted.matrix))
    offset = np.where(late, np.cumsum(late) / max(late.sum(), 1), 0.0)
    return replace(planted, y=planted.y + size * offset, outliers=late)


def bounded_noise(level: float) -> dict[str, Any]:
    """The argument of ``plant`` for noise relative to σ_r(M); its name depends on the version."""
    names = inspect.signature(rr.simulate.plant).parameters
    return {"bounded_noise" if "bounded_noise" in names else "noise": level}


def noise_or_none(draw: Draw) -> float:
    """Noise in one of three problems, relative to the smallest singular value."""
    return float(10 ** draw.uniform(-3, -1)) if draw.rng.random() < 1 / 3 else 0.0


def certificates(draw: Draw) -> Problem:
    """The problems of the study of certificates, of which a quarter is impossible."""
    drawn = battery.draw(draw.family, draw.trial, draw.seed)
    planted = rr.simulate.Planted(
        drawn.A, drawn.y, drawn.left, drawn.right, drawn.outliers, draw.seed
    )
    possible = drawn.task in (battery.POSSIBLE, battery.MOSTLY_OUTLIERS)
    options: dict[str, Any] = {"symmetric": True} if drawn.symmetric else {}
    return recovery_problem(planted, rank=drawn.rank, possible=possible, **options)


def outliers(draw: Draw) -> Problem:
    """Gaussian sensing matrices with outliers of one kind, random or faulty sensors."""
    return recovery_problem(planted_by(draw, model=draw.family, noise=noise_or_none(draw)))


def sensing(draw: Draw) -> Problem:
    """What the paper and the studies vary, one at a time, around the limit of what is possible."""
    match draw.family:
        case "measurements":
            planted = planted_by(draw, share=0.05, ratio=draw.uniform(0.9, 2))
        case "outliers":
            planted = planted_by(draw, share=draw.uniform(0.2, 0.55))
        case "noise":
            planted = planted_by(draw, noise=float(10 ** draw.uniform(-4, 0)))
        case "condition number":
            planted = planted_by(draw, rank=3, condition_number=float(10 ** draw.uniform(0, 3)))
        case "size":
            planted = planted_by(draw, shape=(draw.integer(4, 50), draw.integer(4, 40)), rank=2)
        case _:
            planted = planted_by(draw, noise=noise_or_none(draw), ratio=draw.uniform(2, 4))
            bound = draw.choice(planted.rank + 1, 2 * planted.rank, max(1, planted.rank - 1))
            return recovery_problem(planted, rank=bound)
    return recovery_problem(planted)


def solvers(draw: Draw) -> Problem:
    """Single solvers, and the default continued from other factors."""
    planted = planted_by(draw, shape=(20, 16), share=0.1, ratio=draw.uniform(2, 6))
    if draw.family != "start":
        return recovery_problem(planted, solver=draw.family)
    spread = draw.choice(0.01, 0.3, 3.0)
    factors: list[Array] = [
        factor + spread * draw.rng.standard_normal(factor.shape)
        for factor in (planted.left, planted.right)
    ]
    return recovery_problem(planted, start=tuple(factors))


def ranks(draw: Draw) -> Problem:
    """No rank is given."""
    settings: dict[str, Any] = {
        "shape": (draw.integer(16, 28), draw.integer(14, 24)),
        "rank": draw.integer(1, 4),
        "model": draw.choice("huge", "scale"),
        "share": draw.uniform(0, 0.2),
        "ratio": draw.uniform(2, 4),
    }
    if draw.family == "noise":
        settings["noise"] = float(10 ** draw.uniform(-3, -1))
    elif draw.family == "ill-conditioned":
        settings |= {"rank": 3, "condition_number": float(10 ** draw.uniform(0.5, 2))}
    planted = planted_by(draw, **settings)
    structured = draw.family != "no structure"
    if not structured:
        size = float(np.std(planted.y))
        planted = replace(planted, y=size * draw.rng.standard_normal(len(planted.y)))
    return recovery_problem(planted, rank=None, possible=structured)


def coverage(draw: Draw) -> Problem:
    """Noise of several distributions, with intervals for every entry."""
    planted = planted_by(
        draw,
        shape=(24, 18),
        rank=2,
        model=draw.choice("huge", "scale", "offset"),
        share=draw.choice(0.0, 0.1, 0.3),
        ratio=draw.choice(2.0, 3.0, 5.0),
    )
    noise = noise_of(draw, planted.y[~planted.outliers], len(planted.y))
    return replace(
        recovery_problem(replace(planted, y=planted.y + noise)),
        intervals=True,
    )


def noise_of(draw: Draw, clean: Array, count: int) -> Array:
    """Noise of 5 % of the standard deviation of the inliers."""
    drawn = {
        "normal": lambda: draw.rng.standard_normal(count),
        "uniform": lambda: draw.rng.uniform(-np.sqrt(3), np.sqrt(3), count),
        "t3": lambda: draw.rng.standard_t(3, count),
    }[draw.family.split()[-1]]()
    return np.asarray(0.05 * np.std(clean) * drawn)


def single_precision(draw: Draw) -> Problem:
    """Data in single precision."""
    planted = planted_by(
        draw, model=draw.choice(*RANDOM), noise=noise_or_none(draw), dtype=np.float32
    )
    return recovery_problem(planted)


def batches(draw: Draw) -> Problem:
    """One problem of a batch of three."""
    shape, rank = (draw.integer(10, 18), draw.integer(8, 16)), draw.integer(1, 2)
    members = [
        planted_by(
            draw,
            shape=shape if draw.family == "same shape" else None,
            rank=rank,
            share=0.1,
            ratio=3.0 if draw.family == "same shape" else None,
            noise=noise_or_none(draw),
        )
        for _ in range(3)
    ]
    number, batch = draw.trial % 3, draw.choice(None, 1, 3)

    def solve() -> rr.Result:
        pairs = ((one.A, one.y) for one in members)
        return [*rr.recover_many(pairs, rank, batch=batch, rng=0)][number]

    return recovery_problem(members[number], solve=solve)


def larger(draw: Draw) -> Problem:
    """Matrices in which the time is spent on products with the sensing data."""
    noise = float(10 ** draw.uniform(-3, -1)) if draw.family.endswith("noise") else 0.0
    planted = planted_by(
        draw,
        shape=(draw.integer(32, 44), draw.integer(28, 40)),
        rank=draw.integer(2, 3),
        model=draw.choice("huge", "scale", "offset:0.3"),
        share=draw.uniform(0.02, 0.2),
        ratio=draw.uniform(1.8, 3),
        noise=noise,
    )
    return recovery_problem(planted)


DEGENERATE = (
    *("zeros", "mostly zeros", "constant", "one measurement", "nan", "infinite", "rank too large"),
    *("wrong length", "repeated rows", "zero rows", "one row", "tiny", "huge numbers", "no rank"),
)


def degenerate(draw: Draw) -> Problem:
    """Input that is refused, or nearly so: the message is the answer."""
    planted = planted_by(draw, shape=(12, 10), rank=1, share=0.1, ratio=3.0)
    A, y = planted.A, planted.y.copy()
    rank: Any = UNKNOWN
    match draw.family:
        case "zeros":
            y[:] = 0
        case "mostly zeros":
            y[: len(y) * 2 // 3] = 0
        case "constant":
            y[:] = 1
        case "one measurement":
            A, y = A[:1], y[:1]
        case "nan":
            y[draw.integer(0, len(y) - 1)] = np.nan
        case "infinite":
            y[planted.outliers] = np.inf
        case "rank too large":
            rank = 11
        case "wrong length":
            y = y[:-1]
        case "repeated rows":
            A, y = np.repeat(A[:20], 5, axis=0), np.repeat(y[:20], 5)
            planted = replace(planted, outliers=np.repeat(planted.outliers[:20], 5))
        case "zero rows":
            A = np.where(planted.outliers[:, None, None], 0, A)
        case "one row":
            A, y = A[:, :1], y
        case "tiny":
            y = y * 1e-100
        case "huge numbers":
            A = A * 1e100
        case _:
            rank = None
    count = min(len(A), len(y))
    scale = {"tiny": 1e-100, "huge numbers": 1e-100}.get(draw.family, 1.0)
    changed = replace(
        planted,
        A=A,
        y=y,
        left=planted.left[: A.shape[1]] * scale,
        outliers=planted.outliers[:count],
    )
    possible = draw.family in ("infinite", "zero rows", "tiny", "huge numbers", "no rank")
    return recovery_problem(changed, rank=rank, possible=possible)
