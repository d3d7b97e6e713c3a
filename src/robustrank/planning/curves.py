"""The probability of success against the number of measurements, from the table in this package.

Success depends on the inliers per degree of freedom, ρ = m (1 − s) / d, and on the size of the
problem, because small ones vary more. With u = 1/√d (for sampled entries 1/√r, because every row
needs more than r entries), the studies are described by

    logit P(success) = (log ρ − offset − slope · u) / (width · u)

if there are enough inliers for a certificate, and P(success) = 0 otherwise.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Any

from robustrank.certificate import NOISE_LIMIT
from robustrank.linalg import degrees_of_freedom

DEFAULT, PAPER = "default", "median-TGD"
GAUSSIAN, ENTRIES = "gaussian", "entries"
TABLE = "curves.json"
# The inliers beyond the degrees of freedom that a certificate needs, without and with noise; see
# ``robustrank.certificate``. Without noise, the paper's method succeeds if its error is small.
REDUNDANT, REDUNDANT_WITH_NOISE = 11, 30


@dataclass(frozen=True)
class Curve:
    """The probability of success at one fraction of outliers, and the settings it was fitted to.

    If no trial succeeded, ``offset`` and the other coefficients are None.
    """

    family: str
    outlier_model: str
    method: str
    noise: float  # standard deviation, relative to that of a measurement
    outliers: float
    offset: float | None
    slope: float | None
    width: float | None
    passes: float | None  # over the sensing data, near a success rate of 95 %; None: not recorded
    trials: int
    freedom: tuple[int, int]  # smallest and largest degrees of freedom
    rank: tuple[int, int]
    rank_ratio: tuple[float, float]  # rank / min(n1, n2)
    ratio: tuple[float, float]  # inliers per degree of freedom

    @property
    def is_known(self) -> bool:
        """Whether some trials succeeded."""
        return self.offset is not None

    def inliers_per_freedom(self, probability: float, u: float) -> float:
        """The inliers per degree of freedom at which a share of the trials succeeds."""
        offset, slope, width = self._coefficients()
        logit = math.log(probability / (1 - probability))
        return math.exp(offset + (slope + logit * width) * u)

    def success(self, inliers_per_freedom: float, u: float) -> float:
        """The probability of success, if there are enough inliers for a certificate."""
        offset, slope, width = self._coefficients()
        logit = (math.log(inliers_per_freedom) - offset - slope * u) / (width * u)
        return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))

    def _coefficients(self) -> tuple[float, float, float]:
        if self.offset is None or self.slope is None or self.width is None:
            raise ValueError("no trial succeeded at these settings, so there is no curve")
        return self.offset, self.slope, self.width


def least_inliers(family: str, method: str, noise: float, freedom: int) -> int:
    """With fewer inliers, a method never succeeds.

    N inliers with noise leave an expected error of noise · √(d / (N − d)) of the matrix, which must
    not exceed the limit of the certificate.
    """
    if family == ENTRIES:
        return freedom
    if noise:
        return freedom + max(REDUNDANT_WITH_NOISE, math.ceil(freedom * (noise / NOISE_LIMIT) ** 2))
    return freedom + (REDUNDANT if method == DEFAULT else 0)


def smallness(family: str, shape: tuple[int, int], rank: int) -> float:
    """The coordinate of the size for a family, u."""
    return 1 / math.sqrt(rank if family == ENTRIES else degrees_of_freedom(*shape, rank))


@functools.cache
def load_curves() -> tuple[Curve, ...]:
    """The curves of the table."""
    text = (files("robustrank.planning") / TABLE).read_text(encoding="utf-8")
    return tuple(_curve(values) for values in json.loads(text)["curves"])


def _curve(values: dict[str, Any]) -> Curve:
    pairs = ("freedom", "rank", "rank_ratio", "ratio")
    return Curve(**values | {name: tuple(values[name]) for name in pairs})


def as_json(curves: Sequence[Curve], source: str) -> str:
    """The text of the table, one curve per line."""
    lines = ",\n".join(json.dumps(asdict(curve)) for curve in curves)
    return f'{{"source": {json.dumps(source)}, "curves": [\n{lines}\n]}}\n'


def interpolate(low: Curve, high: Curve, share: float) -> Curve:
    """The curve between two, with the sizes that both have."""
    if share == 0:
        return low

    def between(a: float | None, b: float | None) -> Any:
        return None if a is None or b is None else (1 - share) * a + share * b

    mixed: dict[str, Any] = {
        name: between(getattr(low, name), getattr(high, name))
        for name in ("offset", "slope", "width", "passes", "noise", "outliers")
    }
    for name in ("freedom", "rank", "rank_ratio"):
        (a, b), (c, d) = getattr(low, name), getattr(high, name)
        mixed[name] = (max(a, c), min(b, d))
    mixed["ratio"] = tuple(between(*pair) for pair in zip(low.ratio, high.ratio, strict=True))
    return replace(low, **mixed, trials=low.trials + high.trials)
