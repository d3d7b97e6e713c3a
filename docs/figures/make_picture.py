"""Draws the picture of the README.

The matrix is smooth, so that differences are easy to see; the measurements are random as usual.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import robustrank as rr

Matrix = np.ndarray[Any, Any]
HERE = Path(__file__).parent
N1, N2, RANK, M, OUTLIERS = 60, 90, 4, 2000, 0.05


def smooth_factors() -> tuple[Matrix, Matrix]:
    """Four overlapping waves and bumps along each side."""
    s, t = np.linspace(0, 1, N1)[:, None], np.linspace(0, 1, N2)[:, None]
    k = np.arange(1, RANK + 1)
    left = np.cos(np.pi * k * s + 0.4 * k) + np.exp(-((s - k / 5) ** 2) / 0.01)
    right = np.sin(np.pi * k * t + 0.7 * k) + np.exp(-((t - k / 6) ** 2) / 0.02)
    return left, right


def corrupted_measurements(target: Matrix) -> tuple[Matrix, Matrix]:
    """Gaussian measurements of the target, some of them replaced by large random numbers."""
    planted = rr.simulate.plant(N1, N2, RANK, M, outliers=OUTLIERS, rng=4)
    y = np.tensordot(planted.A, target, axes=2)
    y[planted.outliers] = (
        100
        * np.linalg.norm(target)
        * np.random.default_rng(4).standard_normal(int(planted.outliers.sum()))
    )
    return planted.A, y


def main() -> None:
    """Solve with both methods and draw the results."""
    truth = smooth_factors()
    target = truth[0] @ truth[1].T
    A, y = corrupted_measurements(target)
    robust = rr.recover(A, y, RANK)
    naive = rr.recover(A, y, RANK, solver=rr.solvers.VanillaGD(max_iterations=500))
    panels = [(f"planted: {N1} × {N2}, rank {RANK}", target)]
    for result, name in ((robust, "robustrank"), (naive, "gradient descent")):
        error = rr.metrics.normalized_error((result.left, result.right), truth)
        panels.append((f"{name}: error {error:.0e}", result.matrix))
    figure = Figure(figsize=(10, 2.7), layout="constrained")
    limit = float(np.abs(target).max())
    for axes, (title, matrix) in zip(figure.subplots(1, 3), panels, strict=True):
        axes.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_title(title, fontsize=11)
        axes.set_axis_off()
    lost = int(np.count_nonzero(robust.outliers))
    figure.suptitle(f"{M:,} measurements, {lost} of them outliers", fontsize=12)
    figure.savefig(HERE / "demo.png", dpi=120, metadata={"Software": None})
    print(f"wrote {HERE / 'demo.png'}")


if __name__ == "__main__":
    main()
