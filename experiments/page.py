"""The page about the studies: each claim, what was observed, and the figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.claims import Claim, Tables, Verdict, judge_claims
from experiments.definition import Study
from experiments.figures import sketches
from experiments.rate_tables import has_success_rates, rate_table
from experiments.registry import QUICK
from experiments.rows import Table
from experiments.runner import completion
from robustrank.files import PathLike, atomic_writer
from robustrank.report.canvas import Picture
from robustrank.report.rendering import render, versions

_TONES = {
    Verdict.REPRODUCED: "good",
    Verdict.IN_PART: "fair",
    Verdict.BEYOND: "good",
    Verdict.REPORTED: "quiet",
    Verdict.NOT_REPRODUCED: "bad",
    Verdict.FALLS_SHORT: "bad",
    Verdict.MISSING: "fair",
}
_SIGNS = {"good": "✓", "fair": "!", "bad": "✗"}


@dataclass(frozen=True)
class Summary:
    """The conclusion at the top of the page."""

    tone: str
    sign: str
    heading: str
    text: str


@dataclass(frozen=True)
class Section:
    """The figures of one study, and its success rates if it has any."""

    heading: str
    pictures: list[Picture]
    heads: list[str]
    rates: list[list[str]]


def write_page(path: PathLike, tables: Tables) -> None:
    """Write the page about some studies to a file, atomically."""
    page = render_page(tables)
    with atomic_writer(path) as stream:
        stream.write(page.encode())


def render_page(tables: Tables) -> str:
    """The page as one HTML string that needs no other files."""
    claims = judge_claims(tables)
    quick = any(study.name.endswith(QUICK) for study, _ in tables.values())
    size = "small problems, for a first look" if quick else "the settings of the paper, 150 × 120"
    return render(
        "page.html",
        folder=Path(__file__).parent / "templates",
        title="The paper's experiments, repeated",
        subtitle=f"Median-truncated gradient descent and the default solver: {size}",
        summary=_summary(claims),
        claims=[(claim, _TONES[claim.verdict]) for claim in claims],
        sections=[_section(study, table) for study, table in tables.values() if table.rows],
        footer=_footer(tables),
    )


def _summary(claims: list[Claim]) -> Summary:
    count = Counter(claim.verdict for claim in claims)
    failed, short, missing = (
        count[verdict] for verdict in (Verdict.NOT_REPRODUCED, Verdict.FALLS_SHORT, Verdict.MISSING)
    )
    tone = "bad" if failed else "fair" if short + missing else "good"
    heading = (
        f"Claims of the paper: {count[Verdict.REPRODUCED]} reproduced, "
        f"{count[Verdict.IN_PART]} in part, {failed} not reproduced"
    )
    text = (
        f"Claims about the default solver: {count[Verdict.BEYOND]} hold, {short} not met. "
        f"Claims with missing trials: {missing}."
    )
    return Summary(tone, _SIGNS[tone], heading, text)


def _section(study: Study[Any], table: Table) -> Section:
    heads, rates = rate_table(study, table) if has_success_rates(study) else ([], [])
    return Section(
        f"{study.name}: {study.title} ({completion(study, table)})",
        [sketch.picture() for sketch in sketches(study, table)],
        heads,
        rates,
    )


def _footer(tables: Tables) -> list[str]:
    places = Counter(row["place"] for _, table in tables.values() for row in table.rows)
    where = ", ".join(f"{place}: {count:,}" for place, count in places.items())
    damaged = [str(damage) for _, table in tables.values() for damage in table.damage]
    return [
        f"{sum(places.values()):,} trials, by array library and device ({where}).",
        "The seed of each trial is in its row, and the same on every machine.",
        *damaged,
        versions(),
    ]
