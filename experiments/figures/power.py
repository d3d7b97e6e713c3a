"""Power and stated errors of families of problems, study by study."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from experiments.baseline.power import CALIBRATED, FEWEST, Family
from robustrank.report.canvas import INK, INLIER, OUTLIER, Key, Sketch

_FAMILY = Key("one family", INLIER, "dot")


def power(families: list[Family]) -> list[Sketch]:
    """The share of solvable problems that is certified, and the median of true / stated error."""
    low, high = CALIBRATED
    studies = list(dict.fromkeys(family.study for family in families))
    certified = Sketch(
        "Certified, of problems that an oracle solves",
        "Each family, and all families of the study together.",
        "power",
        "The share of solvable problems that are certified, by family",
        (5.2, 5.0),
        lambda axes: _paint_power(axes, families, studies),
        (_FAMILY, Key("all families of the study", OUTLIER, "ring")),
    )
    stated = Sketch(
        "True error over stated error, median",
        f"Each family with at least {FEWEST} estimates.",
        "stated",
        "The median of true over stated error, by family",
        (3.8, 5.0),
        lambda axes: _paint_ratios(axes, families, studies),
        (_FAMILY, Key(f"limits of the goal, {low:g} and {high:g}", OUTLIER, "line")),
    )
    return [certified, stated]


def _paint_power(axes: Axes, families: list[Family], studies: list[str]) -> None:
    for place, study in enumerate(studies):
        members = [one for one in families if one.study == study and one.solvable]
        shares = [one.power for one in members]
        axes.plot(shares, _scattered(place, len(shares)), "o", ms=4, color=INLIER, alpha=0.6)
        if members:
            total = sum(one.solvable for one in members)
            whole = sum(one.certified for one in members) / total
            axes.plot(whole, place, "o", ms=10, mfc="none", color=OUTLIER)
    axes.set_xlim(-0.04, 1.04)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("certified share of the solvable problems")
    axes.set_yticks(range(len(studies)), studies)
    _finish(axes, studies)


def _paint_ratios(axes: Axes, families: list[Family], studies: list[str]) -> None:
    for place, study in enumerate(studies):
        ratios = [one.ratio for one in families if one.study == study and np.isfinite(one.ratio)]
        axes.plot(ratios, _scattered(place, len(ratios)), "o", ms=4, color=INLIER, alpha=0.6)
    for limit in CALIBRATED:
        axes.axvline(limit, color=OUTLIER, lw=0.8)
    axes.set_xlabel("median of true / stated error")
    axes.axvline(1.0, color=INK, lw=0.6, ls=":")
    axes.set_yticks(range(len(studies)), [""] * len(studies))
    axes.tick_params(axis="y", length=0)
    _finish(axes, studies)


def _finish(axes: Axes, studies: list[str]) -> None:
    axes.set_ylim(len(studies) - 0.5, -0.5)
    axes.grid(axis="y")


def _scattered(place: int, count: int) -> np.ndarray:
    """Heights about a place that keep equal values apart."""
    return place + 0.3 * (np.arange(count) % 5 - 2) / 2
