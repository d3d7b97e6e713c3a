"""What is wrong with each group of measurements, such as a sensor: a table of plain data."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

# The verdicts on groups that are not wrong.
GOOD, NOISY, NOT_CHECKED, NOT_TESTED = "good", "noisy", "not checked", "not tested"
_SHOWN = 20  # groups that are printed
_HEAD = ("rejected", "offset", "gain", "noise", "verdict")


@dataclass(frozen=True)
class GroupRow:
    """A group of measurements, compared with what the other groups predict for it.

    Offset, gain and noise are those of the line through most of its values y against their
    predictions: y ≈ offset + gain × prediction. They are NaN if they cannot be estimated.

    Attributes
    ----------
    label
        The label of the group, as it was passed.
    count, rejected
        The number of its measurements, and of those that are rejected.
    offset, offset_error
        The offset and its standard error, in the units of y.
    gain, gain_error
        The gain and its standard error; 1 if nothing is wrong, and about 0 for a dead sensor.
    noise, noise_error
        The standard deviation of the noise about this line and its standard error, for a typical
        measurement of the group. Errors of the prediction are part of it.
    verdict
        In words: "good", "noisy" (more noise than the others), or what is wrong: "offset", "gain",
        "offset and gain", "dead" (zero), "stuck" at a value, "noise only" (it does not depend on
        the matrix), or "exchanged with" another group. "not checked" if the other groups do not
        predict what it measures, and "not tested" if the run was stopped.

    See Also
    --------
    robustrank.result.GroupTable : The rows of all groups.

    Examples
    --------
    >>> import robustrank as rr
    >>> row = rr.result.GroupRow("S1", count=30, rejected=30, gain=2.0, verdict="gain")
    >>> row.is_wrong, row.share
    (True, 1.0)
    """

    label: Any
    count: int
    rejected: int
    offset: float = math.nan
    offset_error: float = math.nan
    gain: float = math.nan
    gain_error: float = math.nan
    noise: float = math.nan
    noise_error: float = math.nan
    verdict: str = NOT_TESTED

    @property
    def share(self) -> float:
        """The share of its measurements that are rejected."""
        return self.rejected / self.count

    @property
    def is_wrong(self) -> bool:
        """Whether the group is wrong altogether."""
        return self.verdict not in (GOOD, NOISY, NOT_CHECKED, NOT_TESTED)

    def cells(self) -> tuple[str, ...]:
        """The row as text: label, rejected, offset, gain, noise, verdict."""
        return (
            str(self.label),
            f"{self.rejected:,} of {self.count:,}",
            with_error(self.offset, self.offset_error),
            with_error(self.gain, self.gain_error),
            f"{self.noise:.2g}" if math.isfinite(self.noise) else "–",
            self.verdict,
        )


@dataclass(frozen=True)
class GroupTable:
    """The groups of measurements in the order of their labels; ``print(table)`` shows the worst.

    Attributes
    ----------
    rows
        A ``GroupRow`` for each group.

    See Also
    --------
    robustrank.recover : Called with ``groups``, it returns a result with this table.

    Examples
    --------
    A sensor with a gain of 1.2 among ten:

    >>> import numpy as np
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, noise=0.01, rng=1)
    >>> sensor = np.arange(400) % 10
    >>> y = np.where(sensor == 3, 1.2 * planted.y, planted.y)
    >>> groups = rr.recover(planted.A, y, groups=sensor).groups
    >>> [row.label for row in groups.wrong], groups.rows[3].verdict
    ([3], 'gain')
    """

    rows: tuple[GroupRow, ...]

    @property
    def wrong(self) -> tuple[GroupRow, ...]:
        """The groups that are wrong altogether."""
        return tuple(row for row in self.rows if row.is_wrong)

    @property
    def sentence(self) -> str:
        """How many groups are wrong, and which."""
        wrong = [f"{row.label} ({row.verdict})" for row in self.wrong]
        if not wrong:
            return f"none of {len(self.rows):,} is wrong altogether"
        named = ", ".join(wrong[:_SHOWN]) + (", …" if len(wrong) > _SHOWN else "")
        return f"{len(wrong):,} of {len(self.rows):,} wrong altogether: {named}"

    def worst(self) -> Sequence[GroupRow]:
        """The groups that are not good or have rejected measurements, the worst ones first."""
        some = [row for row in self.rows if row.verdict != GOOD or row.rejected]
        return sorted(some, key=lambda row: (not row.is_wrong, -row.share))

    def to_frame(self) -> Any:
        """The table as a data frame of pandas, with a row for each group.

        Returns
        -------
        pandas.DataFrame
            Its index are the labels; its columns are the other attributes of ``GroupRow``, and
            ``is_wrong``.
        """
        from robustrank.result.labels import new_frame

        names = [*(one.name for one in fields(GroupRow)), "is_wrong"][1:]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        return new_frame(columns, [row.label for row in self.rows], "group")

    def __str__(self) -> str:
        shown = self.worst()[:_SHOWN]
        table = [("group", *_HEAD), *(row.cells() for row in shown)] if shown else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)
            ).rstrip()
            for cells in table
        ]
        return "\n".join([*lines, *self._rest()])

    def _rest(self) -> list[str]:
        """What is said about the groups that are not listed."""
        others, good = len(self.worst()[_SHOWN:]), len(self.rows) - len(self.worst())
        lines = [f"{others:,} other groups are not listed; see to_frame()"] if others else []
        if good:
            noun = "group is" if good == 1 else "groups are"
            lines.append(f"{good:,} {noun} good, with no rejected measurements")
        return lines

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("group", *_HEAD))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row.cells()) + "</tr>"
            for row in self.worst()[:_SHOWN]
        )
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f"<table><tr>{head}</tr>{rows}</table>{rest}"


def with_error(value: float, error: float) -> str:
    """A number with its standard error, in as many digits as that allows: 1.20 ± 0.04."""
    if not math.isfinite(value):
        return "–"
    if not (math.isfinite(error) and error > 0):
        return f"{value:.3g}"
    digits = 1 - math.floor(math.log10(error))
    if digits > 6 or not 1e-6 < max(abs(value), error) < 1e6:
        return f"{value:.3g} ± {error:.1g}"
    return f"{round(value, digits):.{max(digits, 0)}f} ± {round(error, digits):.{max(digits, 0)}f}"
