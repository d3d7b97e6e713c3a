"""The numbers on the page: tiles, the comparison of solvers, the largest residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robustrank.backend import to_numpy
from robustrank.metrics import Evaluation, Truth, evaluate
from robustrank.report.formatting import number, ratio, share, solver_labels
from robustrank.report.verdict import verdict
from robustrank.result import Certificate, Result, counted_measurements

_LISTED = 8


@dataclass(frozen=True)
class Tile:
    """One number with its name and a short explanation."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class TextTable:
    """Rows of text under column names."""

    heads: list[str]
    rows: list[list[str]]


def fit_tiles(recovery: Result) -> list[Tile]:
    """How well the measurements are fitted; with noise, inliers replace exact fits."""
    certificate = recovery.certificate
    total, counted = certificate.measurements, counted_measurements(certificate)
    rejected = int(np.count_nonzero(to_numpy(recovery.outliers)))
    if not certificate.fits_exactly and math.isfinite(certificate.sigma):
        name, fitted = "Inliers", certificate.inliers
    else:
        name, fitted = "Exact fits", certificate.exact_fits
    return [
        Tile(name, f"{fitted:,}", f"{share(fitted, certificate.independent)} of {counted}"),
        Tile("Rejected", f"{rejected:,}", f"{share(rejected, total)} of {total:,} measurements"),
        _noise_tile(certificate),
        Tile("Misfit", number(certificate.misfit), "median |residual| / median |y|"),
    ]


def _noise_tile(certificate: Certificate) -> Tile:
    if not math.isfinite(certificate.sigma):
        return Tile("Noise level σ", "unknown", "too few inliers to estimate it")
    relative = f"{ratio(certificate.noise)} of a typical measurement"
    return Tile("Noise level σ", number(certificate.sigma), f"in the units of y; {relative}")


def accuracy_tiles(evaluation: Evaluation) -> list[Tile]:
    """The distance from the ground truth."""
    score = evaluation.outliers
    return [
        Tile("Relative error", number(evaluation.error), "‖recovered − true‖ / ‖true‖"),
        Tile("Outliers found", f"{score.found:,}", f"of {score.found + score.missed:,}"),
        Tile("Outliers missed", f"{score.missed:,}", "corrupted, but not rejected"),
        Tile("False positives", f"{score.false_positives:,}", "clean, but rejected"),
    ]


def cost_tiles(recovery: Result) -> list[Tile]:
    """The work that the solver did."""
    return [
        Tile("Iterations", f"{recovery.iterations:,}", "of the solver"),
        Tile("Passes", number(recovery.passes), "over the sensing data"),
        Tile("Seconds", number(recovery.seconds), "wall-clock time"),
    ]


def comparison(recoveries: Sequence[Result], truth: Truth | None) -> TextTable:
    """Several recoveries of one problem, the one that the page is about first."""
    heads = ["Solver", "Status", "Misfit", "Iterations", "Passes", "Seconds"]
    rows = [
        [label, _status(recovery), *_numbers(recovery)]
        for label, recovery in zip(solver_labels(recoveries), recoveries, strict=True)
    ]
    if truth is not None:
        heads.insert(2, "Relative error")
        for row, recovery in zip(rows, recoveries, strict=True):
            row.insert(2, number(evaluate(recovery, truth).error))
    return TextTable(heads, rows)


def _status(recovery: Result) -> str:
    shown = verdict(recovery)
    return f"{shown.sign} {shown.heading}"


def _numbers(recovery: Result) -> list[str]:
    return [
        number(recovery.certificate.misfit),
        f"{recovery.iterations:,}",
        number(recovery.passes),
        number(recovery.seconds),
    ]


def largest_residuals(recovery: Result, truth: Truth | None) -> TextTable:
    """The measurements that are fitted worst, and whether they were rejected."""
    residual = to_numpy(recovery.residual)
    sizes = np.nan_to_num(np.abs(residual), nan=np.inf)
    listed = np.argsort(-sizes, kind="stable")[:_LISTED]
    rejected = to_numpy(recovery.outliers)
    heads = ["Index", "Residual", "Rejected"]
    rows = [
        [f"{index}", number(float(residual[index])), "yes" if rejected[index] else "no"]
        for index in listed
    ]
    if truth is not None:
        corrupted = to_numpy(truth.outliers)
        heads.append("Ground truth")
        for row, index in zip(rows, listed, strict=True):
            row.append("corrupted" if corrupted[index] else "clean")
    return TextTable(heads, rows)
