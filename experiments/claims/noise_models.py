"""Noise of unequal size."""

from __future__ import annotations

import numpy as np

from experiments.claims.base import Judgment, MissingRowsError, claim, default_claim
from experiments.definition import DEFAULT, Study
from experiments.rows import Row, Table
from experiments.studies.noise import BINS, NoiseCell

_RATE, _EFFICIENT, _COVERED = 0.9, 1.1, (0.93, 0.97)
_CALIBRATED = 0.8, 1.25


def by_cell(study: Study[NoiseCell], table: Table) -> dict[str, list[Row]]:
    """The rows of each setting that has any."""
    found = {cell.key: table.of(cell.key, DEFAULT.name) for cell in study.cells}
    if not any(found.values()):
        raise MissingRowsError
    return {key: rows for key, rows in found.items() if rows}


def _listed(values: dict[str, float], form: str) -> str:
    """The settings with their numbers."""
    return "; ".join(f"{key}: {value:{form}}" for key, value in values.items()) or "none"


def _certified(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "ESTIMATED"]


@claim(
    "noise",
    "Results with noise of unequal size are certified where an oracle solves the problem.",
    criterion="certified in 90 % of the trials of each setting",
)
def certified(study: Study[NoiseCell], table: Table) -> Judgment:
    """Count the settings with enough certified results."""
    cells = by_cell(study, table)
    rates = {key: len(_certified(rows)) / len(rows) for key, rows in cells.items()}
    short = {key: rate for key, rate in rates.items() if rate < _RATE}
    total = sum(map(len, cells.values()))
    listed = _listed(short, ".0%")
    observed = (
        f"{sum(len(_certified(rows)) for rows in cells.values()):,} of {total:,} trials; settings "
        f"below {_RATE:.0%}: {listed}"
    )
    return observed, default_claim(not short)


@claim(
    "noise",
    "Their error is that of least squares with the true weights and the true inliers.",
    criterion="a median ratio of at most 1.1 in each setting",
)
def efficient(study: Study[NoiseCell], table: Table) -> Judgment:
    """The median ratio of each setting."""
    cells = by_cell(study, table)
    ratios = {
        key: float(np.median([row["error"] / row["oracle"] for row in rows]))
        for key, rows in cells.items()
    }
    above = {key: ratio for key, ratio in ratios.items() if ratio > _EFFICIENT}
    listed = _listed(above, ".2f")
    observed = (
        f"at most {_EFFICIENT} in {len(ratios) - len(above)} of {len(ratios)} settings, the median "
        f"of all is {np.median([*ratios.values()]):.2f}; others: {listed}"
    )
    return observed, default_claim(not above)


@claim(
    "noise",
    "Intervals of 95 % contain the truth that often, and the stated error is the true one.",
    criterion="93 to 97 % of the entries, and a median of true / stated between 0.8 and 1.25, "
    "in each setting",
)
def calibrated(study: Study[NoiseCell], table: Table) -> Judgment:
    """The coverage and the calibration of each setting."""
    cells = {key: _certified(rows) for key, rows in by_cell(study, table).items()}
    inside = {key: float(np.mean([row["inside"] for row in rows])) for key, rows in cells.items()}
    stated = {
        key: float(np.median([row["error"] / row["stated"] for row in rows]))
        for key, rows in cells.items()
    }
    beyond = sum(row["error"] > row["bound"] for rows in cells.values() for row in rows)
    low, high = _COVERED
    outside = {key: share for key, share in inside.items() if not low <= share <= high}
    off = {key: one for key, one in stated.items() if not _CALIBRATED[0] <= one <= _CALIBRATED[1]}
    listed, wrong = _listed(outside, ".1%"), _listed(off, ".2f")
    observed = (
        f"coverage of all {np.mean([*inside.values()]):.1%}, settings outside: {listed}; true / "
        f"stated {np.median([*stated.values()]):.2f}, settings outside: {wrong}; errors beyond "
        f"the bound: {beyond} of {sum(map(len, cells.values())):,}"
    )
    return observed, default_claim(not (outside or off))


@claim(
    "noise",
    "Probabilities of outliers are calibrated between 10 and 90 %.",
    criterion="the expected number of outliers is within a tenth of the true one",
)
def probabilities(study: Study[NoiseCell], table: Table) -> Judgment:
    """The expected and the true number of outliers by the probability of being one."""
    rows = [row for rows in by_cell(study, table).values() for row in _certified(rows)]
    expected, true = (np.sum([row[name] for row in rows], axis=0) for name in _COUNTS)
    between = slice(1, BINS - 1)
    total, found = float(np.sum(expected[between])), int(np.sum(true[between]))
    pairs = "; ".join(f"{k / BINS:.0%}: {expected[k]:.0f}, {true[k]}" for k in range(1, BINS - 1))
    observed = f"expected {total:.0f}, true {found} ({pairs})"
    return observed, default_claim(abs(total - found) <= 0.1 * found)


_COUNTS = "expected", "outliers"
