"""What the paper says of its figures, what was seen, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np

from robustrank.experiments.definition import (
    DEFAULT,
    PAPER,
    SUCCESS,
    VANILLA,
    Cell,
    Experiment,
    Method,
)
from robustrank.experiments.rows import Row, Table
from robustrank.experiments.statistics import (
    crossing,
    fit_line,
    rate,
    ratio_with_interval,
)


class Verdict(Enum):
    """Whether what was seen is what was said."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    BEYOND = "beyond the paper"
    TOLD = "reported"
    MISSING = "not run yet"


@dataclass(frozen=True)
class Claim:
    """One sentence, the figure it is about, the numbers that were seen, and the verdict."""

    figure: str
    statement: str
    seen: str
    verdict: Verdict


Tables = Mapping[str, tuple[Experiment, Table]]


def claims(tables: Tables) -> list[Claim]:
    """The claims of the paper's section on experiments, and those made for the default.

    ``tables`` has an experiment and its rows under the name of each figure.
    """
    found = []
    for figure, statement, judge in _CLAIMS:
        if figure not in tables:
            continue
        try:
            seen, verdict = judge(*tables[figure])
        except _MissingRowsError:
            seen, verdict = "some of its trials are missing", Verdict.MISSING
        else:
            if _is_mixed(tables[figure][1]):
                seen += " (not all methods were run on the same library, so not on the same A)"
        found.append(Claim(figure, statement, seen, verdict))
    return found


def _is_mixed(table: Table) -> bool:
    """Whether a trial was run in two places: sensing data depends on the library that draws it."""
    places: dict[tuple[str, int], set[str]] = {}
    for row in table.rows:
        places.setdefault((row["cell"], row["trial"]), set()).add(row["place"])
    return any(len(found) > 1 for found in places.values())


class _MissingRowsError(Exception):
    """Rows are missing."""


def _said(holds: bool) -> Verdict:
    return Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED


def _more(holds: bool) -> Verdict:
    return Verdict.BEYOND if holds else Verdict.NOT_REPRODUCED


def _trials(experiment: Experiment, table: Table, cell: Cell, method: str) -> list[Row]:
    """The rows of a setting and a method, in the order of the trials, if they are all there."""
    rows = {row["trial"]: row for row in table.of(cell.key, method)}
    if len(rows) < experiment.trials:
        raise _MissingRowsError
    return [rows[trial] for trial in range(experiment.trials)]


def _errors(experiment: Experiment, table: Table, cell: Cell, method: str) -> list[float]:
    return [row["error"] for row in _trials(experiment, table, cell, method)]


def _complete(experiment: Experiment, table: Table, method: str) -> None:
    for cell in experiment.cells:
        _trials(experiment, table, cell, method)


def red_line(cell: Cell) -> float:
    """The paper's heuristic limit: the m at which r = (1 − s) m / (n1 + n2)."""
    return cell.rank * sum(cell.shape) / (1 - cell.outliers)


def transition(experiment: Experiment, table: Table, method: str) -> dict[int, float]:
    """For each rank the m at which half of the trials succeed, where that is within the grid."""
    found = {}
    for rank in sorted({cell.rank for cell in experiment.cells}):
        cells = [cell for cell in experiment.cells if cell.rank == rank]
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
    widths = []
    for rank, middle in transition(experiment, table, PAPER.name).items():
        cells = [cell for cell in experiment.cells if cell.rank == rank]
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
    cells = [cell for cell in experiment.cells if cell.measurements >= _ENOUGH * freedom]
    if not cells:
        raise _MissingRowsError
    above = [e for c in cells for e in _errors(experiment, table, c, method)]
    below = [e for c in cells for e in _errors(experiment, table, c, to)]
    return ratio_with_interval(above, below)


def _against_clean(experiment: Experiment, table: Table, method: str) -> tuple[str, float, float]:
    """A method's error over vanilla-GD's without outliers: in words, itself, its upper bound."""
    ratio, low, high = _ratio(experiment, table, method, f"{VANILLA.name}, no outliers")
    seen = f"error over that of vanilla-GD on clean data {ratio:.3f} (95 %: {low:.3f}–{high:.3f})"
    return seen, ratio, high


def _comparable(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    seen, ratio, _ = _against_clean(experiment, table, PAPER.name)
    return seen, _said(0.5 < ratio < 2)


def _unreliable(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    errors = [
        error
        for cell in experiment.cells
        for error in _errors(experiment, table, cell, VANILLA.name)
    ]
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
    ratios = {
        m.extra_rank: _ratio(experiment, table, m.name, PAPER.name, freedoms[m]) for m in bounds
    }
    seen = f"error over that with the true rank, where m is at least {_ENOUGH} d: " + "; ".join(
        f"rank + {extra}: {r:.2f} ({low:.2f}–{high:.2f})"
        for extra, (r, low, high) in ratios.items()
    )
    return seen, _said(all(r < 3 for r, _, _ in ratios.values()))


def _default_with_noise(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    seen, _, high = _against_clean(experiment, table, DEFAULT.name)
    return seen, _more(high < 1.2)


def _default_with_bound(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    (bound,) = _with_bounds(experiment, DEFAULT)
    ratio, low, high = _ratio(experiment, table, bound.name, DEFAULT.name)
    seen = (
        f"error over that with the true rank, rank + {bound.extra_rank}, at every m: "
        f"{ratio:.3f} ({low:.3f}–{high:.3f})"
    )
    return seen, _more(high < 1.1)


def slope_of(row: Row) -> float:
    """The decades that the error falls in an iteration, over the part where it falls steadily."""
    points = [(k, e) for k, _, e in row["trace"] if e > 0]
    floor, first = min(e for _, e in points), points[0][1]
    steady = [(k, e) for k, e in points if 3 * floor < e < 0.5 * first]
    if len(steady) < 2:
        return math.nan
    return -fit_line([k for k, _ in steady], [math.log10(e) for _, e in steady]).slope


def _same_rate(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    (cell,) = experiment.cells
    slopes = [
        [slope_of(row) for row in _trials(experiment, table, cell, method)]
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
    (cell,) = experiment.cells
    vanilla = _errors(experiment, table, cell, VANILLA.name)
    paper = _errors(experiment, table, cell, PAPER.name)
    seen = f"error {np.median(vanilla):.2g} for vanilla-GD, {np.median(paper):.2g} for median-TGD"
    return seen, _said(min(vanilla) > 10 * max(paper))


def _default_iterations(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    (cell,) = experiment.cells
    ours, theirs = (
        [_passes_to(row, 1.05 * row["error"]) for row in _trials(experiment, table, cell, name)]
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
    worse = better = only_ours = only_theirs = 0
    for cell in experiment.cells:
        ours, theirs = (rate(table, cell, name) for name in (DEFAULT.name, PAPER.name))
        worse += ours.interval[1] < theirs.interval[0]
        better += ours.interval[0] > theirs.interval[1]
        pairs = zip(
            _errors(experiment, table, cell, DEFAULT.name),
            _errors(experiment, table, cell, PAPER.name),
            strict=True,
        )
        for mine, other in pairs:
            only_ours += mine < SUCCESS <= other
            only_theirs += other < SUCCESS <= mine
    seen = (
        f"better beyond the 95 % intervals at {better} of {len(experiment.cells)} settings, "
        f"worse at {worse}; {only_ours:,} problems solved by the default alone, {only_theirs:,} by "
        "the paper's method alone"
    )
    return seen, _more(not worse and only_theirs <= only_ours)


def _near_the_line(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, DEFAULT.name)
    gaps = _from_the_line(experiment, table, DEFAULT.name)
    return _listed(gaps), _more(all(gap.value <= 0.1 for gap in gaps))


def _papers_line(experiment: Experiment, table: Table) -> tuple[str, Verdict]:
    _complete(experiment, table, PAPER.name)
    return _listed(_from_the_line(experiment, table, PAPER.name)), Verdict.TOLD


@dataclass(frozen=True)
class _Gap:
    """How far from the paper's red line half of the trials succeed, as a share of it."""

    value: float  # or what it is at most; infinity where they never do
    text: str


def _from_the_line(experiment: Experiment, table: Table, method: str) -> list[_Gap]:
    """For every rank, with half a step of the grid, which is how well a place is known."""
    half = transition(experiment, table, method)
    gaps = []
    for rank in sorted({cell.rank for cell in experiment.cells}):
        first, second, *_, last = (cell for cell in experiment.cells if cell.rank == rank)
        line = red_line(first)
        if rank in half:
            gap = half[rank] / line - 1
            step = (second.measurements - first.measurements) / 2 / line
            gaps.append(_Gap(gap, f"r = {rank}: {gap:+.1%} ± {step:.0%}"))
        elif rate(table, first, method).value >= 0.5:
            gap = first.measurements / line - 1
            gaps.append(_Gap(gap, f"r = {rank}: at most {gap:+.1%}"))
        else:
            gap = last.measurements / line - 1
            gaps.append(_Gap(math.inf, f"r = {rank}: more than {gap:+.1%}"))
    return gaps


def _listed(gaps: Sequence[_Gap]) -> str:
    return "half of the trials succeed this far from it: " + ", ".join(gap.text for gap in gaps)


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


Judge = Callable[[Experiment, Table], tuple[str, Verdict]]
_CLAIMS: Iterable[tuple[str, str, Judge]] = (
    ("fig1a", "The number of measurements needed grows linearly with the rank.", _linear),
    ("fig1a", "The transition from failure to success is sharp.", _sharp),
    (
        "fig1a",
        "The paper's method, against the heuristic limit (1 − s) m = r (n1 + n2).",
        _papers_line,
    ),
    ("fig1a", "The default's region of success contains the paper's method's.", _contains),
    ("fig1a", "The default's transition lies within 10 % of the heuristic limit.", _near_the_line),
    ("fig1b", "Performance degrades smoothly as the share of outliers grows.", _smooth),
    ("fig1b", "The default's region of success contains the paper's method's.", _contains),
    ("fig2", "The error is comparable to that of vanilla-GD on outlier-free data.", _comparable),
    ("fig2", "Vanilla-GD gives no reliable estimate once there are outliers.", _unreliable),
    ("fig2", "The error is stable as long as an upper bound of the rank is used.", _stable),
    (
        "fig2",
        "The default's error is that of vanilla-GD on outlier-free data.",
        _default_with_noise,
    ),
    (
        "fig2",
        "The default's error with an upper bound on the rank is that with the true one.",
        _default_with_bound,
    ),
    ("fig3a", "Without outliers both methods converge at comparable rates.", _same_rate),
    ("fig3a", "The default needs a tenth of the reads of the data, or fewer.", _default_iterations),
    ("fig3b", "With 1 % outliers vanilla-GD collapses and median-TGD does not.", _collapse),
    ("fig3c", "With 10 % outliers vanilla-GD collapses and median-TGD does not.", _collapse),
    ("zoo", "Whatever outliers look like, the default succeeds where median-TGD does.", _contains),
    (
        "kappa",
        "Whatever the condition number, the default succeeds where median-TGD does.",
        _contains,
    ),
    ("sizes", "The default needs fewer measurements, and does so at every size.", _with_size),
)
