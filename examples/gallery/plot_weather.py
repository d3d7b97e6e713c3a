"""
Weather stations with faults
============================

Monthly means of the daily maximum temperature at 376 stations in Colorado, from 1895 to 1997, in
degrees Celsius. Stations were opened and closed, and 62 % of the months are missing. The table has
nearly low rank, because stations share the seasons and the weather. ``complete`` fills in the
missing months; here it must also cope with faults that are added on purpose.

The data is ``COmonthlyMet`` of the R package fields. R itself is not needed: the file
``COmonthlyMet.rda`` is read by the Python package rdata (``pip install rdata``). On Debian and
Ubuntu the file is installed by ``apt-get install --no-install-recommends r-cran-fields``;
elsewhere, pass the path of a copy with ``--data``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import robustrank as rr

Array = np.ndarray[Any, Any]
Predictor = Callable[[Array, Array], Array]  # of stations and months

FILE = Path("/usr/lib/R/site-library/fields/data/COmonthlyMet.rda")


# %%
# The data
# --------
#
# The file has an array of years × 12 × stations, which becomes a table of stations × months.


@dataclass(frozen=True, eq=False)
class Readings:
    """Temperatures, with the station and the month of each."""

    stations: Array
    months: Array
    values: Array
    shape: tuple[int, int]
    first_year: int

    def part(self, chosen: Array) -> Readings:
        """Some of the readings."""
        return replace(
            self,
            stations=self.stations[chosen],
            months=self.months[chosen],
            values=self.values[chosen],
        )


def read_temperatures(path: Path, years: int | None = None) -> Readings:
    """The readings of all years, or of the last ones."""
    if not path.is_file():
        sys.exit(
            f"The data {path} does not exist. Install it with 'apt-get install "
            "--no-install-recommends r-cran-fields', or pass the path of COmonthlyMet.rda with "
            "--data."
        )
    try:
        import rdata  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        sys.exit(
            "rdata, which reads the data, is not installed. Install it with 'pip install rdata'."
        )
    content = rdata.read_rda(path)
    cube = np.asarray(content["CO.tmax"])
    cube = cube if years is None else cube[-years:]
    table = cube.reshape(-1, cube.shape[2]).T
    stations, months = np.nonzero(~np.isnan(table))
    first = int(content["CO.years"][-len(cube)])
    return Readings(stations, months, table[stations, months], table.shape, first)


# %%
# Two kinds of faults
# -------------------
#
# - Wrong unit: 5 % of the readings, chosen at random, are in degrees Fahrenheit.
# - Stuck sensor: for two years, a station reports the same value. Such periods are added until they
#   contain 5 % of the readings.

FAULTS = ("none", "wrong unit", "stuck sensor")
SHARE, PERIOD = 0.05, 24


def with_faults(data: Readings, kind: str, rng: np.random.Generator) -> Readings:
    """The readings with faults of some kind."""
    values, wanted = data.values.copy(), round(SHARE * len(data.values))
    if kind == "wrong unit":
        chosen = rng.choice(len(values), wanted, replace=False)
        values[chosen] = 32 + 1.8 * values[chosen]
    elif kind == "stuck sensor":
        stuck = np.zeros(len(values), bool)
        while stuck.sum() < wanted:
            start = rng.integers(len(values))
            same = data.stations[start : start + PERIOD] == data.stations[start]
            chosen = start + np.flatnonzero(same)
            values[chosen], stuck[chosen] = values[start], True
    return replace(data, values=values)


# %%
# Two methods
# -----------
#
# ``complete`` with an upper bound on the rank, and a simple method: the mean of the station plus
# the mean of the month. The latter is fitted by least squares, so that stations with different
# years are compared correctly.


def by_complete(data: Readings, rank: int) -> rr.Result:
    """The completed table."""
    return rr.complete((data.stations, data.months, data.values), rank, shape=data.shape)


def by_means(data: Readings, sweeps: int = 20) -> Predictor:
    """Predictions by the sum of a term of the station and one of the month."""
    stations, months = np.zeros(data.shape[0]), np.zeros(data.shape[1])
    for _ in range(sweeps):
        stations = _means(data.stations, data.values - months[data.months], data.shape[0])
        months = _means(data.months, data.values - stations[data.stations], data.shape[1])
    return lambda own, other: stations[own] + months[other]


def _means(index: Array, values: Array, size: int) -> Array:
    counts = np.bincount(index, minlength=size)
    return np.asarray(np.bincount(index, values, size) / np.maximum(counts, 1))


# %%
# The experiment
# --------------
#
# A tenth of the readings is held out, without faults; the others get the faults and are fitted.


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was measured for one kind of faults."""

    data: Readings  # with faults
    faulty: Array
    result: rr.Result
    errors: Array  # of the held-out readings, by complete
    errors_of_means: Array


def rms(errors: Array) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def experiment(data: Readings, kind: str, rank: int) -> Outcome:
    """Fit readings with faults and predict those that were held out."""
    rng = np.random.default_rng(0)
    held_out = rng.random(len(data.values)) < 0.1
    train, test = data.part(~held_out), data.part(held_out)
    given = with_faults(train, kind, rng)
    result, means = by_complete(given, rank), by_means(given)
    places = test.stations, test.months
    return Outcome(
        data=given,
        faulty=given.values != train.values,
        result=result,
        errors=np.asarray(result.predict(*places)) - test.values,
        errors_of_means=means(*places) - test.values,
    )


def report(kind: str, outcome: Outcome) -> None:
    """Print what was measured."""
    result, faulty = outcome.result, outcome.faulty
    outliers = np.asarray(result.outliers)
    print(f"\nFaults: {kind} ({faulty.mean():.1%} of the readings)")
    print(f"  RMS error of complete     {rms(outcome.errors):.2f} °C")
    print(f"  RMS error of the means    {rms(outcome.errors_of_means):.2f} °C")
    if faulty.any():
        print(f"  faulty readings rejected  {outliers[faulty].mean():.1%}")
    print(f"  others rejected           {outliers[~faulty].mean():.1%}")
    print(f"  rank, time                {result.rank}, {result.seconds:.1f} s")
    print(f"  status                    {result.status.name}")
    for objection in result.certificate.objections:
        print(f"  objection                 {objection}")


# %%
# The result
# ----------
#
# Without faults, the completed table predicts the held-out months much better than the means do,
# and about 2 % of the original readings are rejected; the data does not say which of these are
# errors in the record and which are unusual weather. Readings in the wrong unit are all found, and
# change the predictions hardly at all. A stuck sensor is harder: in the months in which the stuck
# value is near the true one, nothing is wrong, and those readings are not rejected.
#
# The status is ``INCONCLUSIVE``: the residuals have structure that a matrix of this rank does not
# describe. A likely reason is local weather, which neighboring stations share. The held-out errors
# show how good the predictions are on average; a certificate for each entry would claim more than
# the data supports.

COLORS = {"complete": "#0b6e4f", "means": "#b8b8b8"}


def draw(outcomes: dict[str, Outcome]) -> Figure:
    """The errors for each kind of faults, and a station with a stuck sensor."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 3.9), layout="constrained", width_ratios=(1, 1.9)
    )
    _draw_errors(left, outcomes)
    _draw_station(right, outcomes["stuck sensor"])
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_errors(axis: Any, outcomes: dict[str, Outcome]) -> None:
    places = np.arange(len(outcomes))
    for shift, label, color, errors in (
        (-0.2, "station and month means", COLORS["means"], "errors_of_means"),
        (0.2, "robustrank.complete", COLORS["complete"], "errors"),
    ):
        heights = [rms(getattr(outcome, errors)) for outcome in outcomes.values()]
        bars = axis.bar(places + shift, heights, 0.38, color=color, label=label)
        axis.bar_label(bars, fmt="%.2f", fontsize=9, padding=2)
    axis.set_xticks(places, list(outcomes))
    axis.set_ylabel("RMS error of held-out months (°C)")
    axis.set_title(f"Faults in {SHARE:.0%} of the readings", fontsize=11)
    axis.margins(y=0.25)
    axis.legend(frameon=False, loc="upper right", fontsize=9)


def _draw_station(axis: Any, outcome: Outcome) -> None:
    """Eight years around the longest period of faults of one station."""
    data, outliers = outcome.data, np.asarray(outcome.result.outliers)
    station, center = _most_visible(outcome)
    months = np.arange(max(center - 42, 0), min(center + 42, data.shape[1]))
    own = (data.stations == station) & np.isin(data.months, months)

    def year(month: Array) -> Array:
        return data.first_year + month / 12

    completed = outcome.result.predict(np.full(len(months), station), months)
    axis.plot(year(months), completed, color=COLORS["complete"], label="completed")
    for label, chosen, style in (
        ("reading", own & ~outliers, {"color": "#333333", "marker": "o", "s": 14}),
        ("rejected reading", own & outliers, {"color": "#c1440e", "marker": "x", "s": 26}),
    ):
        axis.scatter(year(data.months[chosen]), data.values[chosen], label=label, zorder=3, **style)
    axis.set_ylabel("daily maximum, monthly mean (°C)")
    axis.set_title("A station with a stuck sensor", fontsize=11)
    axis.margins(x=0.01, y=0.2)
    axis.legend(frameon=False, loc="upper right", ncols=3, fontsize=9)


def _most_visible(outcome: Outcome) -> tuple[int, int]:
    """A station in whose record a period of faults is surrounded by readings, and its middle."""
    data, faulty = outcome.data, outcome.faulty
    best, found = -1, (0, 0)
    for station in np.unique(data.stations[faulty]):
        months = data.months[(data.stations == station) & faulty]
        center = int(np.median(months))
        near = (data.stations == station) & (np.abs(data.months - center) <= 42)
        inside = int(np.sum(np.abs(months - center) <= PERIOD // 2 + 2))
        count = int(near.sum()) if inside >= PERIOD - 5 else 0
        if count > best:
            best, found = count, (int(station), center)
    return found


def main() -> None:
    """Measure the errors for each kind of faults, print them and draw them."""
    parser = argparse.ArgumentParser(description="Weather stations with faults.")
    parser.add_argument("--data", type=Path, default=FILE, help="COmonthlyMet.rda")
    parser.add_argument("--rank", type=int, default=8, help="upper bound on the rank")
    parser.add_argument("--years", type=int, help="use only the last years")
    parser.add_argument("--out", type=Path, help="write the picture to this file")
    options = parser.parse_args()
    data = read_temperatures(options.data, options.years)
    outcomes = {}
    for kind in FAULTS:
        outcomes[kind] = experiment(data, kind, options.rank)
        report(kind, outcomes[kind])
    figure = draw(outcomes)
    if options.out is None:
        plt.show()
    else:
        figure.savefig(options.out, dpi=110)


if __name__ == "__main__":
    main()
