"""Draws the errors of message passing for ``how-it-works.md``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import robustrank as rr
from robustrank.operators import as_operator

HERE = Path(__file__).parent


def message_passing_errors() -> None:
    """The error that message passing estimates, and its actual error, at every step."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    settings = [("flip", 0.2, 2700), ("huge", 0.45, 2700), ("huge", 0.05, 1500)]
    for axes, (model, fraction, m) in zip(
        figure.subplots(1, 3, sharey=True), settings, strict=True
    ):
        estimated, actual = _errors(model, fraction, m)
        axes.semilogy(actual, color="#1f77b4", label="actual")
        axes.semilogy(estimated, "--", color="#ff7f0e", label="estimated")
        axes.set_title(f"m = {m}, {fraction:.0%} {model}", fontsize=10)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    first: Any = figure.axes[0]
    first.set_ylabel("relative error")
    first.legend(frameon=False)
    figure.savefig(HERE / "messages.png", dpi=110, metadata={"Software": None})


def _errors(model: str, fraction: float, m: int) -> tuple[list[float], list[float]]:
    planted = rr.simulate.plant(150, 120, 5, m, outliers=fraction, outlier_model=model, rng=5)
    given = rr.solvers.Problem(as_operator(planted.A), planted.y, 5)
    problem, unit = given.normalized(), given.units.matrix
    truth = planted.left, planted.right
    norm = float(np.linalg.norm(planted.matrix))
    solver = rr.solvers.MessagePassing(target_error=0.03, target_error_at_full_rank=None)
    state = solver.start(problem, np.random.default_rng(0))
    estimated, actual = [], []
    while True:
        estimated.append(float(state.mixture.error) * unit / norm)
        actual.append(rr.metrics.normalized_error((state.U * unit, state.V), truth))
        if bool(solver.is_finished(state)):
            return estimated, actual
        state = solver.step(problem, state)


if __name__ == "__main__":
    message_passing_errors()
    print(f"wrote {HERE / 'messages.png'}")
