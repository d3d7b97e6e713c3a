"""``robustrank plan``: how many measurements are needed."""

from __future__ import annotations

import json
from typing import Any, Literal

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from robustrank import planning
from robustrank.cli.data import MatrixShape
from robustrank.planning import FAMILIES, PLANNED_MODELS, Plan

_ROWS, _BAR = 14, 12  # fits into 80 columns
_Method = Literal["default", "median-TGD"]
_SERIES: tuple[tuple[_Method, str], ...] = (
    ("default", "default"),
    ("median-TGD", "paper's method"),
)
_MODELS = "\n".join(
    f"  {name:<10} outliers that are {text}" for name, text in PLANNED_MODELS.items()
)


@click.command(epilog=f"\b\nOutlier models:\n{_MODELS}")
@click.argument("shape", type=MatrixShape())
@click.option("--rank", type=click.IntRange(min=1), required=True, help="Rank of the matrix.")
@click.option("--outliers", type=float, default=0.1, show_default=True, help="Outlier fraction.")
@click.option(
    "--noise",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of the noise, relative to that of a measurement.",
)
@click.option(
    "--family",
    type=click.Choice(list(FAMILIES)),
    default="gaussian",
    show_default=True,
    help="Dense sensing matrices for `recover`, or sampled entries for `complete`.",
)
@click.option(
    "--model",
    type=click.Choice(list(PLANNED_MODELS)),
    default="huge",
    show_default=True,
    help="Distribution of the outliers; see below.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def plan(shape: tuple[int, int], rank: int, model: Any, as_json: bool, **given: Any) -> None:
    """Print how many measurements a matrix of this SHAPE needs, such as 150x120.

    The numbers come from trials with planted matrices; the last lines say whether the question is
    inside of their range.
    """
    found = planning.plan(shape, rank, outlier_model=model, **given)
    if as_json:
        click.echo(json.dumps(found.as_dict()))
        return
    console = Console()
    console.print(found.title(), highlight=False, soft_wrap=True)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in found.summary():
        table.add_row(name, text)
    console.print(table, highlight=False)
    chart = _chart(found)
    if chart is not None:
        console.print()
        console.print(chart, highlight=False)


def _chart(found: Plan) -> Table | None:
    """The probability of success against the number of measurements; None if none is known."""
    counts = _counts(found)
    series = [(name, title) for name, title in _SERIES if _is_known(found, name)]
    if not counts or not series:
        return None
    table = Table(box=None, pad_edge=False)
    table.add_column("measurements", justify="right")
    table.add_column("m/d", justify="right")
    for _, title in series:
        table.add_column(title)
    table.add_column("")
    for m in counts:
        bars = (_bar(found.success_probability(m, name) or 0.0) for name, _ in series)
        table.add_row(
            f"{m:,}", f"{m / found.degrees_of_freedom:.2f}", *bars, ", ".join(_marks(found, m))
        )
    return table


def _is_known(found: Plan, method: _Method) -> bool:
    return found.success_probability(found.information_limit, method) is not None


def _counts(found: Plan) -> list[int]:
    """Numbers of measurements from below the information limit on, and those that are marked."""
    marked = _marked(found)
    last = max(marked)
    if last == found.information_limit:
        return []
    first = found.information_limit - (last - found.information_limit) / _ROWS
    even = {round(m) for m in np.linspace(first, 1.02 * last, _ROWS)}
    apart = (last - first) / (2 * _ROWS)
    return sorted({m for m in even if all(abs(m - mark) > apart for mark in marked)} | {*marked})


def _marked(found: Plan) -> dict[int, list[str]]:
    """What is reached at some numbers of measurements."""
    marks: dict[int, list[str]] = {found.information_limit: ["information limit"]}
    for m, text in (
        (found.measurements_50, "default 50%"),
        (found.measurements_95, "default 95%"),
        (found.paper_measurements_50, "paper's method 50%"),
        (found.paper_measurements_95, "paper's method 95%"),
    ):
        if m is not None:
            marks.setdefault(m, []).append(text)
    return marks


def _marks(found: Plan, m: int) -> list[str]:
    return _marked(found).get(m, [])


def _bar(probability: float) -> str:
    return f"{'█' * round(_BAR * probability):<{_BAR}} {probability:>4.0%}"
