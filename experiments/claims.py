"""What the paper says of its figures, what was seen, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np

from experiments.definition import (
    DEFAULT,
    PAPER,
    SUCCESS,
    VANILLA,
    Cell,
    Experiment,
    Method,
)
from experiments.rows import Row, Table
from experiments.statistics import (
    crossing,
    fit_line,
    rate,
    ratio_with_interval,
)


class Verdict(Enum):
    """Whether what was seen is what was said."""

    REPRODUCED = "reproduced"
    IN_PART = "reproduced in part"
    NOT_REPRODUCED = "not reproduced"
    BEYOND = "beyond the paper"
    FALLS_SHORT = "falls short"  # of what is said of the default
    TOLD = "reported"
    MISSING = "not run yet"


@dataclass(frozen=True)
class Claim:
    """One sentence, the figure it is about, what it takes to hold, what was seen, the verdict."""

    figure: str
    statement: str
    asked: str
    seen: str
    verdict: Verdict


Tables = Mapping[str, tuple[Experiment, Table]]


def claims(tables: Tables) -> list[Claim]:
    """The claims of the paper's section on experiments, and those made for the default.

    ``tables`` has an experiment and its rows under the name of each figure.
    """
    found = []
    for question in _QUESTIONS:
        if question.figure not in tables:
            continue
        experiment, table = tables[question.figure]
        try:
            seen, verdict = question.evaluate(experiment, table)
        except _MissingRowsError:
            seen, verdict = "some of its trials are missing", Verdict.MISSING
        else:
            if _is_mixed(table):
                seen += " (not all methods were run on the same library, so not on the same A)"
        found.append(Claim(question.figure, question.statement, question.asked, seen, verdict))
    return found


def _is_mixed(table: Table) -> bool:
    """Whether a trial was run in two places: sensing data depends on the library that draws it."""
    places: dict[tuple[str, int], set[str]] = {}
    for row in table.rows:
        places.setdefault((row["cell"], row["trial"]), set()).add(row["place"])
    return any(len(found) > 1 for found in places.values())


class _MissingRowsError(Exception):
    """Rows are missing."""


def _said(holds: bool, in_part: bool = False) -> Verdict:
    if holds:
        return Verdict.REPRODUCED
    return Verdict.IN_PART if in_part else Verdict.NOT_REPRODUCED


def _more(holds: bool) -> Verdict:
    return Verdict.BEYOND if holds else Verdict.FALLS_SHORT


def _trials(experiment: Experiment, table: Table, method: str) -> list[Row]:
    """The rows of a method, by setting and in the order of the trials, if they are all there."""
    found = []
    for cell in experiment.cells:
        rows = {row["trial"]: row for row in table.of(cell.key, method)}
        if len(rows) < experiment.trials:
            raise _MissingRowsError
        found += [rows[trial] for trial in range(experiment.trials)]
    return found


def _errors(experiment: Experiment, table: Table, method: str) -> list[float]:
    return [row["error"] for row in _trials(experiment, table, method)]


def _complete(experiment: Experiment, table: Table, method: str) -> None:
    _trials(experiment, table, method)


def _by_rank(experiment: Experiment) -> dict[int, list[Cell]]:
    ranks = sorted({cell.rank for cell in experiment.cells})
    return {rank: [cell for cell in experiment.cells if cell.rank == rank] for rank in ranks}


def red_line(cell: Cell) -> float:
    """The paper's heuristic limit: the m at which r = (1 − s) m / (n1 + n2)."""
    return cell.rank * sum(cell.shape) / (1 - cell.outliers)


def transition(experiment: Experiment, table: Table, method: str) -> dict[int, float]:
    """For each rank the m at which half of the trials succeed, where that is within the grid."""
    found = {}
    for rank, cells in _by_rank(experiment).items():
        places = [cell.measurements for cell in cells]
        if (where := _half_succeed(table, cells, places, method)) is not None:
            found[rank] = where
    return found


def transition_by_size(
    experiment: Experiment, table: Table, method: str, share: float
) -> dict[int, float]:
    """Clean measurements for each degree of freedom at which half succeed, by n, for n × n.

    The least of the grid where that is enough, infinity where nothing is.
    """
    found = {}
    for shape in sorted({cell.shape for cell in experiment.cells}):
        cells = [c for c in experiment.cells if (c.shape, c.outliers) == (shape, share)]
        ratios = [(1 - share) * cell.measurements / cell.degrees_of_freedom for cell in cells]
        where = _half_succeed(table, cells, ratios, method)
        if where is None:
            where = ratios[0] if rate(table, cells[0], method).value >= 0.5 else math.inf
        found[shape[0]] = where
    return found


def _half_succeed(
    table: Table, cells: Sequence[Cell], places: Sequence[float], method: str
) -> float | None:
    """Where along settings, each at its place, half of the trials succeed."""
    return crossing(places, [rate(table, cell, method).value for cell in cells], 0.5)


def _linear(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, PAPER.name)
    half = transition(experiment, table, PAPER.name)
    if len(half) < 3:
        seen = f"half of the trials succeed within the grid for {len(half)} ranks only"
        return seen, _said(False)
    line = fit_line([*half], [*half.values()])
    seen = (
        f"half of the trials succeed at m = {line.slope:.0f} r "
        f"{'−' if line.intercept < 0 else '+'} {abs(line.intercept):.0f} "
        f"(R² = {line.r_squared:.4f}, {len(half)} ranks)"
    )
    return seen, _said(line.r_squared > 0.99)


def _sharp(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, PAPER.name)
    widths, settings = [], _by_rank(experiment)
    for rank, middle in transition(experiment, table, PAPER.name).items():
        cells = settings[rank]
        between = [c for c in cells if 0 < rate(table, c, PAPER.name).value < 1]
        step = cells[1].measurements - cells[0].measurements
        widths.append((len(between) + 1) * step / middle)
    if not widths:
        return "no transition lies within the grid", _said(False)
    seen = (
        "from no success to nothing but success within "
        f"{np.median(widths):.0%} of that m (median over ranks, one step of the grid included)"
    )
    return seen, _said(float(np.median(widths)) < 0.5)


# Errors that only a trial on its way to the truth has.
_ON_ITS_WAY = 1e-3


def _enough_iterations(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    errors = [e for e in _errors(experiment, table, PAPER.name) if e < _ON_ITS_WAY]
    if not errors:
        return f"no trial came below {_ON_ITS_WAY:g}", _said(False)
    there = sum(error < SUCCESS for error in errors)
    seen = (
        f"{there:,} of the {len(errors):,} trials that came below {_ON_ITS_WAY:g} "
        f"({there / len(errors):.1%}) reached {SUCCESS:g} before the end"
    )
    return seen, _said(there >= 0.99 * len(errors), in_part=there >= 0.9 * len(errors))


def _smooth(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, PAPER.name)
    shares = sorted({cell.outliers for cell in experiment.cells})
    largest = []
    for share in shares:
        good = [
            cell.rank
            for cell in experiment.cells
            if cell.outliers == share and rate(table, cell, PAPER.name).value >= 0.5
        ]
        largest.append(max(good, default=0))
    falls = all(a >= b for a, b in pairwise(largest))
    steps = max(a - b for a, b in pairwise(largest))
    text = ", ".join(f"{s:.0%}: {r}" for s, r in zip(shares, largest, strict=True))
    seen = f"largest rank with half of the trials recovered, by share of outliers: {text}"
    return seen, _said(falls and steps <= 3)


# Measurements for each degree of freedom of the rank that is given, below which all else is moot.
_ENOUGH = 1.5


def _ratio(
    experiment: Experiment, table: Table, method: str, to: str, freedom: int = 0
) -> tuple[float, float, float]:
    """Of the errors of two methods, over settings that leave something over for the freedom."""
    cells = tuple(cell for cell in experiment.cells if cell.measurements >= _ENOUGH * freedom)
    if not cells:
        raise _MissingRowsError
    enough = replace(experiment, cells=cells)
    return ratio_with_interval(_errors(enough, table, method), _errors(enough, table, to))


def _against_clean(
    experiment: Experiment, table: Table, method: str, freedom: int = 0
) -> tuple[str, float, float]:
    """A method's error over vanilla-GD's without outliers: in words, itself, its upper bound."""
    clean = f"{VANILLA.name}, no outliers"
    ratio, low, high = _ratio(experiment, table, method, clean, freedom)
    where = f"where m is at least {_ENOUGH} d" if freedom else "at every m"
    seen = (
        f"error over that of vanilla-GD without outliers {ratio:.3f} (95 %: {low:.3f}–{high:.3f}) "
        f"{where}"
    )
    return seen, ratio, high


def _comparable(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    seen, ratio, _ = _against_clean(experiment, table, PAPER.name)
    return seen, _said(0.5 < ratio < 2)


def _unreliable(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    errors = _errors(experiment, table, VANILLA.name)
    seen = (
        f"error of vanilla-GD with outliers at least {min(errors):.2g}, "
        f"median {np.median(errors):.2g}"
    )
    return seen, _said(min(errors) > 0.1)


def _with_bounds(experiment: Experiment, method: Method) -> list[Method]:
    """The forms of a method that are given more than the rank."""
    return [m for m in experiment.methods if m.extra_rank and m.solver == method.solver]


def _stable(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    bounds = _with_bounds(experiment, PAPER)
    cell = experiment.cells[0]
    freedoms = {m: replace(cell, rank=cell.rank + m.extra_rank).degrees_of_freedom for m in bounds}
    enough = {m: _ratio(experiment, table, m.name, PAPER.name, freedoms[m]) for m in bounds}
    always = {m: _ratio(experiment, table, m.name, PAPER.name)[0] for m in bounds}
    seen = (
        f"error over that with the true rank, where m is at least {_ENOUGH} times the degrees of "
        "freedom of the rank given, and at every m: "
    ) + "; ".join(
        f"rank + {m.extra_rank}: {r:.2f} ({low:.2f}–{high:.2f}), {always[m]:.1f}"
        for m, (r, low, high) in enough.items()
    )
    return seen, _said(
        all(r < 3 for r in always.values()), in_part=all(r < 3 for r, _, _ in enough.values())
    )


def _default_with_noise(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    freedom = experiment.cells[0].degrees_of_freedom
    seen, _, high = _against_clean(experiment, table, DEFAULT.name, freedom)
    return seen, _more(high <= 1.1)


def _default_with_bound(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    (bound,) = _with_bounds(experiment, DEFAULT)
    ratio, low, high = _ratio(experiment, table, bound.name, DEFAULT.name)
    seen = (
        f"error over that with the true rank, rank + {bound.extra_rank}, at every m: "
        f"{ratio:.3f} ({low:.3f}–{high:.3f})"
    )
    return seen, _more(high <= 1.1)


def slope_of(row: Row) -> float:
    """The decades that the error falls in an iteration, over the part where it falls steadily."""
    points = [(k, e) for k, _, e in row["trace"] if e > 0]
    floor, first = min(e for _, e in points), points[0][1]
    steady = [(k, e) for k, e in points if 3 * floor < e < 0.5 * first]
    if len(steady) < 2:
        return math.nan
    return -fit_line([k for k, _ in steady], [math.log10(e) for _, e in steady]).slope


def _same_rate(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    slopes = [
        [slope_of(row) for row in _trials(experiment, table, method)]
        for method in (PAPER.name, VANILLA.name)
    ]
    if not np.isfinite(slopes).all():
        return "the traces have too few looks to tell a slope", Verdict.MISSING
    ratio, low, high = ratio_with_interval(*slopes)
    seen = (
        f"decades an iteration, median-TGD over vanilla-GD: {ratio:.3f} "
        f"(95 %: {low:.3f}–{high:.3f})"
    )
    return seen, _said(0.8 < ratio < 1.25)


def _collapse(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    vanilla = _errors(experiment, table, VANILLA.name)
    paper = _errors(experiment, table, PAPER.name)
    seen = f"error {np.median(vanilla):.2g} for vanilla-GD, {np.median(paper):.2g} for median-TGD"
    return seen, _said(min(vanilla) > 10 * max(paper))


def _default_iterations(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    ours, theirs = (
        [_passes_to(row, 1.05 * row["error"]) for row in _trials(experiment, table, name)]
        for name in (DEFAULT.name, PAPER.name)
    )
    seen = (
        f"to within 5 % of where each ends: {np.median(ours):.0f} reads of the sensing data, "
        f"median-TGD {np.median(theirs):,.0f}"
    )
    return seen, _more(float(np.median(ours)) < float(np.median(theirs)) / 10)


def _passes_to(row: Row, error: float) -> float:
    return float(next((passes for _, passes, e in row["trace"] if e <= error), row["trace"][-1][1]))


def _contains(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    mine, other = (_errors(experiment, table, name) for name in (DEFAULT.name, PAPER.name))
    only_ours = sum(a < SUCCESS <= b for a, b in zip(mine, other, strict=True))
    only_theirs = sum(b < SUCCESS <= a for a, b in zip(mine, other, strict=True))
    worse = better = 0
    for cell in experiment.cells:
        ours, theirs = (rate(table, cell, name) for name in (DEFAULT.name, PAPER.name))
        worse += ours.interval[1] < theirs.interval[0]
        better += ours.interval[0] > theirs.interval[1]
    seen = (
        f"better beyond the 95 % intervals at {better} of {len(experiment.cells)} settings, "
        f"worse at {worse}; {only_ours:,} problems solved by the default alone, {only_theirs:,} by "
        "the paper's method alone"
    )
    return seen, _more(not worse and only_theirs <= only_ours)


def _near_the_line(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, DEFAULT.name)
    gaps = _from_the_line(experiment, table, DEFAULT.name)
    within = all(low >= -0.1 and high <= 0.1 for low, high in gaps.values())
    outside = any(low > 0.1 or high < -0.1 for low, high in gaps.values())
    if within or outside:
        return _between(gaps), _more(within)
    return f"{_between(gaps)}; the grid is too coarse to tell", Verdict.TOLD


def _papers_line(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, PAPER.name)
    return _between(_from_the_line(experiment, table, PAPER.name)), Verdict.TOLD


def _from_the_line(
    experiment: Experiment, table: Table, method: str
) -> dict[int, tuple[float, float]]:
    """For each rank the two m between which half of the trials succeed, against the red line.

    The lower is the last of the grid with fewer successes, or as many clean measurements as
    there are degrees of freedom, with less than which nobody can do.
    """
    gaps = {}
    for rank, cells in _by_rank(experiment).items():
        line, least = red_line(cells[0]), cells[0].degrees_of_freedom / (1 - cells[0].outliers)
        failed = [c.measurements for c in cells if rate(table, c, method).value < 0.5]
        low = max(failed, default=0)
        high = min((c.measurements for c in cells if c.measurements > low), default=math.inf)
        gaps[rank] = (max(low, least) / line - 1, high / line - 1)
    return gaps


def _between(gaps: Mapping[int, tuple[float, float]]) -> str:
    text = ", ".join(
        f"r = {rank}: {low:+.1%} to {high:+.1%}"
        if math.isfinite(high)
        else f"r = {rank}: more than {low:+.1%}"
        for rank, (low, high) in gaps.items()
    )
    return f"half of the trials succeed this far from it: {text}"


def _with_size(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    for name in (DEFAULT.name, PAPER.name):
        _complete(experiment, table, name)
    text, fewer = [], []
    for share in sorted({cell.outliers for cell in experiment.cells}):
        ours, theirs = (
            transition_by_size(experiment, table, name, share)
            for name in (DEFAULT.name, PAPER.name)
        )
        fewer += [ours[n] < theirs[n] for n in ours]
        pairs = ", ".join(f"n = {n}: {ours[n]:.2f} against {theirs[n]:.2f}" for n in ours)
        text.append(f"{share:.0%} outliers: {pairs}".replace("inf", "more than the grid has"))
    seen = f"clean measurements for each degree of freedom, {'; '.join(text)}"
    return seen, _more(all(fewer))


@dataclass(frozen=True)
class _Question:
    """A sentence about a figure, what it takes to hold, and who looks."""

    figure: str
    statement: str
    asked: str
    evaluate: Callable[[Experiment, Table], tuple[str, Verdict]]


_CONTAINED = "no setting worse beyond the 95 % intervals, and no fewer problems solved alone"
_COLLAPSED = "the least error of vanilla-GD ten times the largest of median-TGD"

_QUESTIONS = (
    _Question(
        "fig1a",
        "The number of measurements needed grows linearly with the rank.",
        "R² of a line above 0.99",
        _linear,
    ),
    _Question(
        "fig1a",
        "The transition from failure to success is sharp.",
        "within less than half of the m in its middle",
        _sharp,
    ),
    _Question(
        "fig1a",
        "10,000 iterations are enough for median-TGD to converge.",
        "99 % of the trials that come below 1e-3 reach 1e-6; in part: 90 %",
        _enough_iterations,
    ),
    _Question(
        "fig1a",
        "The paper's method, against the heuristic limit (1 − s) m = r (n1 + n2).",
        "nothing: the paper shows it without a number",
        _papers_line,
    ),
    _Question(
        "fig1a",
        "The default's region of success contains the paper's method's.",
        _CONTAINED,
        _contains,
    ),
    _Question(
        "fig1a",
        "The default's transition lies within 10 % of the heuristic limit.",
        "both ends between −10 and +10 %, for every rank",
        _near_the_line,
    ),
    _Question(
        "fig1b",
        "Performance degrades smoothly as the share of outliers grows.",
        "never a larger rank with more outliers, and at most three fewer in a step",
        _smooth,
    ),
    _Question(
        "fig1b",
        "The default's region of success contains the paper's method's.",
        _CONTAINED,
        _contains,
    ),
    _Question(
        "fig2",
        "The error is comparable to that of vanilla-GD on outlier-free data.",
        "between half and twice, geometric mean over all trials",
        _comparable,
    ),
    _Question(
        "fig2",
        "Vanilla-GD gives no reliable estimate once there are outliers.",
        "an error above 0.1 in every trial",
        _unreliable,
    ),
    _Question(
        "fig2",
        "The error is stable as long as an upper bound of the rank is used.",
        f"at most three times, at every m; in part: where m is at least {_ENOUGH} d",
        _stable,
    ),
    _Question(
        "fig2",
        "The default's error is within a tenth of vanilla-GD's on outlier-free data.",
        "the upper end of the interval at most 1.1",
        _default_with_noise,
    ),
    _Question(
        "fig2",
        "The default's error with an upper bound on the rank is that with the true one.",
        "the upper end of the interval at most 1.1",
        _default_with_bound,
    ),
    _Question(
        "fig3a",
        "Without outliers both methods converge at comparable rates.",
        "a ratio between 0.8 and 1.25",
        _same_rate,
    ),
    _Question(
        "fig3a",
        "The default needs a tenth of the reads of the data, or fewer.",
        "the median over trials",
        _default_iterations,
    ),
    _Question(
        "fig3b",
        "With 1 % outliers vanilla-GD collapses and median-TGD does not.",
        _COLLAPSED,
        _collapse,
    ),
    _Question(
        "fig3c",
        "With 10 % outliers vanilla-GD collapses and median-TGD does not.",
        _COLLAPSED,
        _collapse,
    ),
    _Question(
        "zoo",
        "Whatever outliers look like, the default succeeds where median-TGD does.",
        _CONTAINED,
        _contains,
    ),
    _Question(
        "kappa",
        "Whatever the condition number, the default succeeds where median-TGD does.",
        _CONTAINED,
        _contains,
    ),
    _Question(
        "sizes",
        "The default needs fewer measurements, and does so at every size.",
        "fewer for half of the trials at every size, with and without outliers",
        _with_size,
    ),
)
