"""The page about the paper's experiments: each claim, what was seen, and the figures."""

from __future__ import annotations

from collections import Counter
from html import escape

from experiments import Experiment, Table
from experiments.claims import Claim, Tables, Verdict, claims
from experiments.figures import sketches
from experiments.registry import QUICK
from experiments.runner import standing
from experiments.statistics import rate
from robustrank.files import PathLike, atomic_writer
from robustrank.report.blocks import figure_card, gpus, skeleton, verdict_card, versions


def write_reproduction(path: PathLike, tables: Tables) -> None:
    """Write the page of some experiments, under the names of their figures, to a file."""
    page = render_reproduction(tables)
    with atomic_writer(path) as stream:
        stream.write(page.encode())


def render_reproduction(tables: Tables) -> str:
    """The page as HTML that needs nothing else."""
    judged = claims(tables)
    quick = any(experiment.name.endswith(QUICK) for experiment, _ in tables.values())
    size = "small problems, for a first look" if quick else "150 × 120, the paper's settings"
    return skeleton().substitute(
        title="The paper's experiments, again",
        subtitle=escape(f"Median-truncated gradient descent and the default solver: {size}"),
        verdict=_summary(judged),
        numbers="",
        comparison=_table(judged),
        figures="".join(_figures(experiment, table) for experiment, table in tables.values()),
        footer=_footer(tables),
    )


_TONES = {
    Verdict.REPRODUCED: "good",
    Verdict.IN_PART: "fair",
    Verdict.BEYOND: "good",
    Verdict.TOLD: "quiet",
    Verdict.NOT_REPRODUCED: "bad",
    Verdict.FALLS_SHORT: "bad",
    Verdict.MISSING: "fair",
}


def _summary(judged: list[Claim]) -> str:
    count = Counter(claim.verdict for claim in judged)
    failed, short = count[Verdict.NOT_REPRODUCED], count[Verdict.FALLS_SHORT]
    tone = "bad" if failed else "fair" if short + count[Verdict.MISSING] else "good"
    sign = {"good": "✓", "fair": "!", "bad": "✗"}[tone]
    word = (
        f"The paper's claims: {count[Verdict.REPRODUCED]} reproduced, "
        f"{count[Verdict.IN_PART]} in part, {failed} not"
    )
    rest = (
        f"What is said of the default solver: {count[Verdict.BEYOND]} hold, {short} fall short. "
        f"{count[Verdict.MISSING]} wait for trials that are not run yet."
    )
    return verdict_card(tone, sign, word, f"<p>{escape(rest)}</p>")


def _table(judged: list[Claim]) -> str:
    rows = "".join(
        f"<tr><th>{escape(claim.figure)}</th>"
        f"<td>{escape(claim.statement)}<br><small>Asked: {escape(claim.asked)}.</small></td>"
        f"<td>{escape(claim.seen)}</td>"
        f'<td style="color:var(--{_TONES[claim.verdict]})">'
        f"{escape(claim.verdict.value)}</td></tr>"
        for claim in judged
    )
    head = "<tr><th>figure</th><th>claim</th><th>seen</th><th>verdict</th></tr>"
    return (
        '<section class="card"><h2>Claim by claim</h2>'
        f'<table class="compare words"><thead>{head}</thead><tbody>{rows}</tbody></table></section>'
    )


def _figures(experiment: Experiment, table: Table) -> str:
    drawn = [figure_card(sketch.picture()) for sketch in sketches(experiment, table)]
    if not drawn:
        return ""
    heading = f"{experiment.name}: {experiment.title} ({standing(experiment, table)})"
    figures = gpus("two", drawn)
    if not any(cell.noise for cell in experiment.cells):  # with noise nothing is exact
        figures += _rates(experiment, table)
    return f'<p class="label">{escape(heading)}</p>{figures}'


def _rates(experiment: Experiment, table: Table) -> str:
    """Every setting with its successes and their intervals, folded away."""
    names = [method.name for method in experiment.methods]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("setting", *names))
    lines = []
    for cell in experiment.cells:
        rates = (rate(table, cell, name) for name in names)
        shown = "".join(f"<td>{escape(str(r)) if r.trials else '–'}</td>" for r in rates)
        lines.append(f"<tr><th>{escape(cell.key)}</th>{shown}</tr>")
    summary = f"{len(lines)} settings: trials recovered to 1e-6, with 95 % Wilson intervals"
    return (
        f'<details class="card"><summary>{summary}</summary>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></details>"
    )


def _footer(tables: Tables) -> str:
    places = Counter(row["place"] for _, table in tables.values() for row in table.rows)
    where = ", ".join(f"{place}: {count:,}" for place, count in places.items())
    damaged = [damage for _, table in tables.values() for damage in table.damage]
    lines = [
        f"{sum(places.values()):,} trials, by where they were run ({where}).",
        "The seed of a trial follows from its setting and its number alone; every row has it.",
        *map(str, damaged),
        versions(),
    ]
    return "".join(f"<p>{escape(line)}</p>" for line in lines)
