"""Success rates against the number of measurements, as curves for planning.

For each family, kind of outliers, method, noise and fraction of outliers, the curve of
``robustrank.planning.curves`` is fitted to the success rates of all sizes, by maximum likelihood
with weak priors, so that it is also defined where no trial fails beyond a number of measurements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from experiments.definition import DEFAULT, PAPER, Cell, Study
from experiments.rows import Row, Table
from experiments.statistics import is_success
from experiments.studies.entries import EntriesCell
from experiments.studies.planning import relative_noise
from robustrank.planning.curves import ENTRIES, GAUSSIAN, Curve, least_inliers, smallness
from robustrank.result import Status
from robustrank.theory import degrees_of_freedom

MODELS = ("huge", "scale")  # outliers that are large, or of the size of measurements
_DECIDED = 0.95  # of the rows and columns of a completed matrix, for a success
_DIGITS = 4
# Passes are counted from a success rate of one half on, up to this many times the measurements for
# a success rate of 95 %.
_NEAR = 1.1
_STARTS = (0.0, 0.5, 1.0)


class Group(NamedTuple):
    """What the trials of a curve have in common."""

    family: str
    outlier_model: str
    method: str
    noise: float
    outliers: float


@dataclass(frozen=True)
class Point:
    """The trials of one method at one setting."""

    group: Group
    shape: tuple[int, int]
    rank: int
    inliers_per_freedom: float
    successes: int
    trials: int
    passes: tuple[int, ...] = ()  # of the successful trials

    @property
    def freedom(self) -> int:
        """The degrees of freedom."""
        return degrees_of_freedom(*self.shape, self.rank)

    @property
    def has_enough_inliers(self) -> bool:
        """Whether success is possible."""
        group = self.group
        least = least_inliers(group.family, group.method, group.noise, self.freedom)
        return round(self.inliers_per_freedom * self.freedom) >= least

    @property
    def smallness(self) -> float:
        """The coordinate of the size."""
        return smallness(self.group.family, self.shape, self.rank)


def points(study: Study[Any], table: Table) -> Iterator[Point]:
    """The success rates of a study at the settings that curves can describe."""
    for cell in study.cells:
        if cell.model not in MODELS or not _is_plain(cell):
            continue
        for method in (DEFAULT.name, PAPER.name):
            rows = table.of(cell.key, method)
            if rows:
                yield _point(cell, method, rows)


def _is_plain(cell: Cell | EntriesCell) -> bool:
    if isinstance(cell, EntriesCell):
        special = cell.condition_number or cell.scales or cell.mean or cell.bound is not None
        return not special and cell.sampling == "uniform"
    # Only with equal singular values is the noise known relative to a measurement.
    usual = cell.condition_number == 1 if cell.noise else cell.condition_number is None
    return usual and cell.rank_bound is None


def _point(cell: Cell | EntriesCell, method: str, rows: Sequence[Row]) -> Point:
    entries = isinstance(cell, EntriesCell)
    noise = cell.noise if isinstance(cell, EntriesCell) else relative_noise(cell)
    freedom = degrees_of_freedom(*cell.shape, cell.rank)
    m = cell.oversampling * freedom if isinstance(cell, EntriesCell) else cell.measurements
    good = [row for row in rows if _succeeds(cell, method, row)]
    model = cell.model if cell.outliers else MODELS[0]
    return Point(
        Group(ENTRIES if entries else GAUSSIAN, model, method, round(noise, 4), cell.outliers),
        cell.shape,
        cell.rank,
        m * (1 - cell.outliers) / freedom,
        len(good),
        len(rows),
        tuple(row["passes"] for row in good if "passes" in row),
    )


def _succeeds(cell: Cell | EntriesCell, method: str, row: Row) -> bool:
    """Whether the result is certified; the paper's method without noise is stopped at an error."""
    certified = Status[row["status"]].certified
    if isinstance(cell, EntriesCell):
        return certified and sum(row["decided"]) >= _DECIDED * sum(cell.shape)
    if cell.noise:
        return certified
    return row["status"] == "RECOVERED" if method == DEFAULT.name else is_success(row)


def fit_curves(found: Sequence[Point]) -> list[Curve]:
    """The curves of all groups with trials of at least two sizes, some of which failed."""
    ordered = sorted(found, key=lambda point: (point.group, point.freedom, *point.shape))
    curves = []
    for group, members in itertools.groupby(ordered, key=lambda point: point.group):
        trials = list(members)
        sizes = {point.rank if group.family == ENTRIES else point.shape for point in trials}
        if len(sizes) > 1 and any(point.successes < point.trials for point in trials):
            curves.append(_curve(group, trials))
    return curves


def _curve(group: Group, found: Sequence[Point]) -> Curve:
    offset = slope = width = None
    if any(point.successes for point in found):
        offset, slope, width = (round(value, _DIGITS) for value in _fit(group.family, found))
    ratios = [point.inliers_per_freedom for point in found]
    freedoms, ranks = [point.freedom for point in found], [point.rank for point in found]
    shares = [round(point.rank / min(point.shape), 3) for point in found]
    curve = Curve(
        *group,
        offset=offset,
        slope=slope,
        width=width,
        passes=None,
        trials=sum(point.trials for point in found),
        freedom=(min(freedoms), max(freedoms)),
        rank=(min(ranks), max(ranks)),
        rank_ratio=(min(shares), max(shares)),
        ratio=(round(min(ratios), 2), round(max(ratios), 2)),
    )
    return _with_passes(curve, found) if curve.is_known else curve


def _with_passes(curve: Curve, found: Sequence[Point]) -> Curve:
    passes: list[int] = []
    for point in found:
        half, most = (curve.inliers_per_freedom(p, point.smallness) for p in (0.5, 0.95))
        if half <= point.inliers_per_freedom <= _NEAR * most:
            passes += point.passes
    return replace(curve, passes=float(np.median(passes)) if passes else None)


# The means and standard deviations of the priors: slope, and logarithm of the width.
_PRIORS = {
    GAUSSIAN: ((1.5, 1.5), (math.log(0.4), 0.25)),
    ENTRIES: ((1.0, 0.7), (math.log(0.08), 0.5)),
}


def _fit(family: str, found: Sequence[Point]) -> tuple[float, float, float]:
    """Offset, slope and width with the largest posterior probability.

    Trials with too few inliers for any success say nothing.
    """
    used = [point for point in found if point.has_enough_inliers]
    logs = np.log([point.inliers_per_freedom for point in used])
    u = np.asarray([point.smallness for point in used])
    good = np.asarray([point.successes for point in used], float)
    bad = np.asarray([point.trials for point in used], float) - good
    (slope_mean, slope_spread), (width_mean, width_spread) = _PRIORS[family]

    def loss(values: np.ndarray[Any, Any]) -> float:
        offset, slope, width = values
        logit = (logs - offset - slope * u) / (math.exp(width) * u)
        data = good @ np.logaddexp(0, -logit) + bad @ np.logaddexp(0, logit)
        prior = (
            offset**2
            + ((slope - slope_mean) / slope_spread) ** 2
            + ((width - width_mean) / width_spread) ** 2
        )
        return float(data + prior / 2)

    fits = [
        minimize(
            loss,
            [start, slope_mean, width_mean],
            method="Nelder-Mead",
            bounds=[(0 if family == GAUSSIAN else None, None), (0, None), (None, None)],
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 10_000},
        )
        for start in _STARTS
    ]
    best = min(fits, key=lambda fit: float(fit.fun))
    return float(best.x[0]), float(best.x[1]), math.exp(float(best.x[2]))
