"""Rejected measurements by sensor, or by another group of measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.result import Result

Vector = np.ndarray[Any, Any]

_SHOWN = 20  # groups that are listed
_FAULTY = 0.5  # a group is faulty if more than this share of it is rejected
# The least number of values that tell about a constant value, an offset or a gain, and about an
# offset and a gain.
_FEWEST, _FEWEST_FOR_TWO = 5, 10
# A fault explains values if it leaves less than this share of their typical residual. With fewer
# than 20 values, which chance explains more easily, the share is smaller in proportion.
_EXPLAINED, _MANY = 0.3, 20
_CLEARLY_LESS = 0.5  # the share of what an offset or a gain leaves that both must leave to be named
_ROUNDING = 1e-6  # of a typical value
_POINTS = 300  # for the slope of a line


@dataclass(frozen=True)
class Group:
    """The measurements of a group."""

    name: str
    rejected: int
    total: int
    fault: str  # what most have in common, if most are rejected; empty if that is not known

    @property
    def share(self) -> float:
        """The share of the measurements that are rejected."""
        return self.rejected / self.total


def groups_of(names: Sequence[str], y: Vector, recovery: Result) -> list[Group]:
    """The groups, those with the largest share of rejected measurements first."""
    found, members = np.unique(np.asarray(names), return_inverse=True)
    rejected, residual = to_numpy(recovery.outliers), to_numpy(recovery.residual)
    groups = []
    with np.errstate(over="ignore", invalid="ignore"):  # values may be infinite or very large
        for k, name in enumerate(found):
            own = members == k
            total, count = int(own.sum()), int(rejected[own].sum())
            faulty = count > _FAULTY * total
            fault = _fault(y[own], residual[own], recovery.noise) if faulty else ""
            groups.append(Group(str(name), count, total, fault))
    return sorted(groups, key=lambda group: -group.share)


def described(groups: Sequence[Group]) -> Iterator[str]:
    """Lines that list the groups with rejected measurements."""
    shown = [group for group in groups[:_SHOWN] if group.rejected]
    width = max([len(group.name) for group in shown], default=0)
    for group in shown:
        text = f"{group.name:<{width}}  {group.rejected:,} of {group.total:,} rejected"
        yield f"{text}; {group.fault}" if group.fault else text
    rest = [group for group in groups if group.rejected][len(shown) :]
    if rest:
        yield f"{len(rest):,} other groups have rejected measurements"
    clean = sum(not group.rejected for group in groups)
    if clean:
        yield f"{clean:,} {'group has' if clean == 1 else 'groups have'} none"


def _fault(values: Vector, residual: Vector, noise: float) -> str:
    """What most of the values have in common, in words: the simplest of what explains them.

    Empty if a constant value, an offset, a gain, or an offset and a gain do not explain them.
    """
    count, finite = len(values), np.isfinite(values) & np.isfinite(residual)
    if np.count_nonzero(finite) < _FEWEST:
        return ""
    value, fitted = values[finite].astype(float), (values - residual)[finite].astype(float)
    typical = float(np.median(np.abs(fitted)))

    def unexplained(predicted: Vector) -> float:
        """The median of what a prediction leaves; smaller ones than the noise are the same."""
        left = np.full(count, np.inf)
        left[finite] = np.abs(value - predicted)
        return max(float(np.median(left)), noise, _ROUNDING * typical)

    most = _EXPLAINED * min(count / _MANY, 1) * unexplained(fitted)
    constant, offset, gain = np.median(value), np.median(value - fitted), _gain(value, fitted)
    simple = {
        f"value ≈ {constant:.3g}": unexplained(np.full_like(fitted, constant)),
        f"value ≈ fitted{_signed(offset)}": unexplained(fitted + offset),
        f"value ≈ {gain:.3g} × fitted": unexplained(gain * fitted),
    }
    text = min(simple, key=lambda words: simple[words])
    slope = _slope(value, fitted)
    offset = np.median(value - slope * fitted)
    line = unexplained(slope * fitted + offset)
    if len(value) >= _FEWEST_FOR_TWO and line < _CLEARLY_LESS * simple[text]:
        return f"value ≈ {slope:.3g} × fitted{_signed(offset)}" if line < most else ""
    return text if simple[text] < most else ""


def _gain(value: Vector, fitted: Vector) -> float:
    """The median ratio of values to fitted ones, of the half for which those are larger."""
    larger = (np.abs(fitted) >= np.median(np.abs(fitted))) & (fitted != 0)
    return float(np.median(value[larger] / fitted[larger])) if larger.any() else 0.0


def _slope(value: Vector, fitted: Vector) -> float:
    """The slope of a line by repeated medians, which any minority of outliers does not change."""
    some = np.linspace(0, len(value) - 1, min(len(value), _POINTS)).astype(int)
    rise, run = (np.subtract.outer(part[some], part[some]) for part in (value, fitted))
    slopes = np.divide(rise, run, out=np.full_like(rise, np.nan), where=run != 0)
    informative = slopes[np.isfinite(slopes).any(axis=1)]
    return float(np.median(np.nanmedian(informative, axis=1))) if len(informative) else 0.0


def _signed(offset: float) -> str:
    return f" {'−' if offset < 0 else '+'} {abs(offset):.3g}"
