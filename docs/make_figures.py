"""Draws the figures of ``algorithm.md``: ``make figures``.

The successes come from the rows of the benchmark that are in the repository; the errors of message
passing are computed here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import robustrank as rr
from robustrank.operators import as_operator
from robustrank.solvers import MessagePassing, MessageState

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benchmarks"))
from rows import wilson  # noqa: E402
from solvers import CELLS  # noqa: E402

ROWS = HERE.parent / "benchmarks" / "results" / "solvers-2026-11-15.jsonl"
SOLVERS = {
    "auto": ("the default", "#1f77b4", "o"),
    "oracle": ("the default, told the clean set", "#7f7f7f", "|"),
    "median-tgd": ("median-TGD, the paper's", "#d62728", "x"),
}


def successes() -> None:
    """The share of planted matrices each solver recovers, with its interval, per setting."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    cells = [cell for cell in CELLS if "noise" not in cell.name]
    figure = Figure(figsize=(8, 9), layout="constrained")
    axes = figure.subplots()
    for k, (solver, (label, color, marker)) in enumerate(SOLVERS.items()):
        for place, cell in enumerate(cells):
            good = [
                row["error"] < 1e-6
                for row in rows
                if (row["cell"], row["solver"]) == (cell.name, solver)
            ]
            if not good:
                continue
            low, high = wilson(sum(good), len(good))
            height = -place + 0.22 * (1 - k)
            axes.plot([low, high], [height, height], color=color, linewidth=1, alpha=0.6)
            axes.plot(
                sum(good) / len(good),
                height,
                marker=marker,
                color=color,
                linestyle="none",
                label=label if place == 0 else None,
            )
    axes.set_yticks([-place for place in range(len(cells))], [cell.name for cell in cells])
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("share of planted matrices recovered to 1e-6, with 95 % interval")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.06), ncols=3, frameon=False)
    figure.savefig(HERE / "successes.png", dpi=110, metadata={"Software": None})


def messages() -> None:
    """The error message passing believes in, and the one it makes, at every step."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    settings = [("flip", 0.2, 2700), ("huge", 0.45, 2700), ("huge", 0.05, 1500)]
    for axes, (model, share, m) in zip(figure.subplots(1, 3, sharey=True), settings, strict=True):
        believed, made = _errors(model, share, m)
        axes.semilogy(made, color="#1f77b4", label="made")
        axes.semilogy(believed, "--", color="#ff7f0e", label="believed in")
        axes.set_title(f"m = {m}, {share:.0%} {model}", fontsize=10)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    first: Any = figure.axes[0]
    first.set_ylabel("relative error")
    first.legend(frameon=False)
    figure.savefig(HERE / "messages.png", dpi=110, metadata={"Software": None})


def _errors(model: str, share: float, m: int) -> tuple[list[float], list[float]]:
    planted = rr.simulate.plant(150, 120, 5, m, outliers=share, outlier_model=model, rng=5)
    given = rr.Problem(as_operator(planted.A), planted.y, 5)
    problem, unit = given.normalized(), given.units.matrix
    truth = planted.left, planted.right
    norm = float(np.linalg.norm(planted.left @ planted.right.T))
    solver = MessagePassing(near=0.03)
    state: Any = solver.start(problem, np.random.default_rng(0))
    believed, made = [], []
    while isinstance(state, MessageState):
        believed.append(float(state.mixture.error) * unit / norm)
        made.append(rr.metrics.normalized_error((state.U * unit, state.V), truth))
        state = solver.step(problem, state)
    return believed, made


if __name__ == "__main__":
    messages()
    successes()
    print(f"wrote {HERE / 'messages.png'} and {HERE / 'successes.png'}")
