"""The error with noise of unequal size, relative to that of an oracle that knows the sizes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.definition import Study
from experiments.rows import Table
from experiments.studies.noise import KINDS, OUTLIERS, NoiseCell
from robustrank.report.canvas import Sketch


def ratios(study: Study[NoiseCell], table: Table, method: str) -> Sketch:
    """The median ratio and the share of certified results of each setting."""
    rows = [(family, kind) for family, kinds in KINDS.items() for kind in kinds]
    errors, certified = (np.full((len(rows), len(OUTLIERS)), np.nan) for _ in range(2))
    for cell in study.cells:
        found = table.of(cell.key, method)
        if found:
            place = (
                rows.index((cell.family, cell.noise)),
                OUTLIERS.index((cell.outliers, cell.model)),
            )
            errors[place] = float(np.median([row["error"] / row["oracle"] for row in found]))
            certified[place] = float(np.mean([row["status"] == "ESTIMATED" for row in found]))

    def paint(axes: Axes) -> None:
        axes.imshow(certified, vmin=0, vmax=1, cmap="Blues", aspect="auto", alpha=0.35)
        for (row, column), ratio in np.ndenumerate(errors):
            if np.isfinite(ratio):
                text = f"{ratio:.2f}\n{certified[row, column]:.0%}"
                axes.text(column, row, text, ha="center", va="center", fontsize=6)
        axes.set_yticks(range(len(rows)), [f"{family}, {kind}" for family, kind in rows])
        names = [f"{share:.0%}\n{model}" if share else "none" for share, model in OUTLIERS]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel("outliers")

    caption = (
        "The median error, relative to that of least squares with the true inliers and the true "
        "sizes of the noise, and the share of results that are certified."
    )
    name = "Error relative to that of an oracle, by noise and outliers"
    return Sketch(study.title, caption, study.name, name, (5.6, 5.2), paint, ())
