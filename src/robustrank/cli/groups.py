"""Rejected measurements by sensor, or by another group of measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.result import Recovery

Vector = np.ndarray[Any, Any]

_SHOWN = 20  # groups that are listed
_FAULTY = 0.5  # a group is faulty if more than this share of it is rejected
_FEWEST = 5  # values that determine a line


@dataclass(frozen=True)
class Group:
    """The measurements of a group."""

    name: str
    rejected: int
    total: int
    line: tuple[float, float] | None  # value ≈ gain · fitted + offset, if most are rejected

    @property
    def share(self) -> float:
        """The share of the measurements that are rejected."""
        return self.rejected / self.total


def groups_of(names: Sequence[str], y: Vector, recovery: Recovery) -> list[Group]:
    """The groups, those with the largest share of rejected measurements first."""
    found, members = np.unique(np.asarray(names), return_inverse=True)
    rejected, residual = to_numpy(recovery.outliers), to_numpy(recovery.residual)
    groups = []
    for k, name in enumerate(found):
        own = members == k
        total, count = int(own.sum()), int(rejected[own].sum())
        line = _line(y[own], residual[own]) if count > _FAULTY * total else None
        groups.append(Group(str(name), count, total, line))
    return sorted(groups, key=lambda group: -group.share)


def described(groups: Sequence[Group]) -> Iterator[str]:
    """Lines that list the groups with rejected measurements."""
    shown = [group for group in groups[:_SHOWN] if group.rejected]
    width = max([len(group.name) for group in shown], default=0)
    for group in shown:
        text = f"{group.name:<{width}}  {group.rejected:,} of {group.total:,} rejected"
        if group.line is not None:
            gain, offset = group.line
            text += f"; value ≈ {gain:.3g} × fitted {'−' if offset < 0 else '+'} {abs(offset):.3g}"
        yield text
    rest = [group for group in groups if group.rejected][len(shown) :]
    if rest:
        yield f"{len(rest):,} other groups have rejected measurements"
    clean = sum(not group.rejected for group in groups)
    if clean:
        yield f"{clean:,} {'group has' if clean == 1 else 'groups have'} none"


def _line(values: Vector, residual: Vector) -> tuple[float, float] | None:
    """Gain and offset of values against what the matrix predicts."""
    finite = np.isfinite(values) & np.isfinite(residual)
    fitted = (values - residual)[finite]
    if len(fitted) < _FEWEST or not np.ptp(fitted) > 0:
        return None
    gain, offset = np.polyfit(fitted, values[finite].astype(float), 1)
    return float(gain), float(offset)
