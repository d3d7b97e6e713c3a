"""How often a problem with wrong sensors is solved, by fault, share of wrong sensors and noise."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.axes import Axes

from experiments.definition import Study
from experiments.rows import Table
from experiments.studies.groups import KINDS, NOISES, SHARES, GroupsCell, is_solved
from robustrank.report.canvas import Sketch


def solved(study: Study[GroupsCell], table: Table, method: str) -> Sketch:
    """The share of solved trials of each setting."""
    columns = [*itertools.product(NOISES, SHARES)]
    rates = np.full((len(KINDS), len(columns)), np.nan)
    for cell in study.cells:
        rows = table.of(cell.key, method)
        if rows:
            place = KINDS.index(cell.fault), columns.index((cell.noise, cell.share))
            rates[place] = float(np.mean([is_solved(cell, row) for row in rows]))

    def paint(axes: Axes) -> None:
        axes.imshow(rates, vmin=0, vmax=1, cmap="Blues", aspect="auto", alpha=0.35)
        for (row, column), rate in np.ndenumerate(rates):
            if np.isfinite(rate):
                axes.text(column, row, f"{rate:.0%}", ha="center", va="center", fontsize=7)
        axes.set_yticks(range(len(KINDS)), KINDS)
        names = [
            f"{share:.0%}" + (f"\n{noise:.0%} noise" if noise else "\nexact")
            for noise, share in columns
        ]
        axes.set_xticks(range(len(columns)), names)
        axes.set_xlabel("wrong sensors")

    caption = (
        "Solved: certified, with the error of an oracle that knows the wrong sensors, every wrong "
        "sensor named and at most one other."
    )
    name = "Solved problems by fault and share of wrong sensors"
    return Sketch(study.title, caption, study.name, name, (5.2, 3.6), paint, ())
