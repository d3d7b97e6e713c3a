"""Success rates compared with the targets of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.claims.base import Judgment, default_claim
from experiments.statistics import Rate


def judge_targets(rates: Mapping[Any, Rate]) -> Judgment:
    """Whether the success rate of each setting that has a target reaches it."""
    targets = {cell: cell.target for cell in rates if cell.target is not None}
    below = [cell for cell, target in targets.items() if rates[cell].value < target]
    observed = f"reached at {len(targets) - len(below)} of {len(targets)} settings"
    if below:
        text = ", ".join(f"{c.label}: {rates[c]}, target {targets[c]:.0%}" for c in below)
        observed += f"; not reached: {text}"
    return observed, default_claim(not below)
