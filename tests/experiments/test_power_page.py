"""The page of power and stated errors: what it counts, and that it is that of the rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from experiment_samples import ROOT

from experiments.baseline.cli import OK, main
from experiments.baseline.comparison import ABOUT, problems
from experiments.baseline.power import Family, families, is_above_bound
from experiments.baseline.power_page import cells_of, conspicuous, page
from experiments.baseline.run import rows_in
from experiments.baseline.sets import keys_of
from experiments.rows import Row, pack

ROWS = ROOT / "results" / "baseline" / "battery-2026a.jsonl.gz"
NAME = "battery-test"
NOISY, EXACT = "noise/dense equal", "zoo/huge"


def row(cell: str, trial: int, **fields: Any) -> Row:
    """The row of a right estimate, with some fields replaced."""
    plain = {"status": "ESTIMATED", "rank": 2, "error": 0.01, "oracle": 0.01}
    stated = {"stated": 0.01, "bound": 0.03}
    return {"cell": cell, "trial": trial, "method": NAME} | plain | stated | fields


def exact(trial: int, **fields: Any) -> Row:
    plain = {"status": "RECOVERED", "error": 1e-12, "oracle": 1e-14, "stated": 0.0, "bound": 1e-9}
    return row(EXACT, trial, **(plain | {"passes": 9} | fields))


@pytest.fixture
def rows() -> list[Row]:
    """Twelve estimates, of which one is wrong and two are above the bound, and five others."""
    return [
        {"cell": ABOUT, "trial": 0, "method": NAME, "robustrank": "0", "revision": "abc"},
        *(row(NOISY, trial, error=0.012) for trial in range(10)),
        row(NOISY, 10, error=0.4, oracle=0.02),  # wrong, and above the bound
        row(NOISY, 11, error=0.05, oracle=0.05),  # above the bound, as the oracle would be
        exact(0),
        exact(1, error=0.5),  # wrong
        exact(2, status="INCONCLUSIVE", error=0.5),
        exact(3, status="INCONCLUSIVE", error=1.0, oracle=None),  # cannot be solved
        exact(4, skipped="torch is not installed"),
    ]


def by_name(rows: list[Row]) -> dict[str, Family]:
    return {family.name: family for family in families(rows)}


def test_family_counts_claims_and_errors(rows: list[Row]) -> None:
    found = by_name(rows)
    assert [*found] == [EXACT, NOISY]
    noisy = "noise/dense equal|12|12|92%|0 (0)|12 (1)|1.20|2 of 12"
    assert "|".join(cells_of(found[NOISY])) == noisy
    assert "|".join(cells_of(found[EXACT])) == "zoo/huge|4|3|33%|2 (1)|0 (0)|–|–"


def test_few_estimates_have_no_median(rows: list[Row]) -> None:
    *_, ratio, exceeded = cells_of(by_name(rows[1:10])[NOISY])
    assert (ratio, exceeded) == ("–", "0 of 9")


def test_wrong_claims_and_exceeded_bounds_are_listed(rows: list[Row]) -> None:
    judged = [one for family in families(rows) for one in family.judged]
    listed = [(one.row["cell"], one.row["trial"], one.wrong) for one in conspicuous(judged)]
    assert listed == [(EXACT, 1, True), (NOISY, 10, True), (NOISY, 11, False)]
    lines = [*page(rows)]
    assert "| noise/dense equal #10 | ESTIMATED | yes | 0.4 | 0.02 | 0.01 | 0.03 | 13.33 |" in lines
    assert "| noise/dense equal #11 | ESTIMATED | no | 0.05 | 0.05 | 0.01 | 0.03 | 1.67 |" in lines


def test_error_of_the_decided_part_is_listed_with_its_oracle() -> None:
    parts = {"decided_error": 0.2, "decided_oracle": 0.001}
    (one,) = conspicuous(families([row("entries/noise", 0, **parts)])[0].judged)
    assert (one.error, one.oracle) == (0.2, 0.001)


def test_page_says_what_was_run(rows: list[Row]) -> None:
    text = "\n".join(page([*rows, rows[0] | {"trial": 1}]))
    assert "- 17 of the 20,068 problems of the set were run" in text
    assert "1 were skipped (torch is not installed)" in text
    assert text.count("- Versions: robustrank 0, revision abc.") == 1
    assert "12 of 15 solvable problems are certified and right (80%)." in text
    assert "- RECOVERED: 1 of 2 (95 %: 9.45% to 90.55%) are wrong." in text
    assert "true error is above the bound in 2 of 12 (95 %: 4.70% to 44.80%) of the" in text
    assert "In 0 estimates it is 100% or more" in text


def test_committed_page_is_that_of_the_committed_rows() -> None:
    written = (ROOT / "docs" / "power.md").read_text("utf-8").splitlines()
    assert [*page(rows_in(ROWS))] == written


def test_command_writes_the_page_and_the_figure(rows: list[Row], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file, text, figure = (tmp_path / name for name in ("rows.jsonl.gz", "page.md", "figure.png"))
    pack(file, rows)
    assert main(["power", str(file), "--page", str(text), "--figure", str(figure)]) == OK
    assert text.read_text("utf-8").splitlines() == [*page(rows_in(file))]
    assert figure.read_bytes().startswith(b"\x89PNG")


def text_of(name: str) -> str:
    return " ".join((ROOT / name).read_text("utf-8").split())


def test_guide_states_the_numbers_of_the_page() -> None:
    rows = rows_in(ROWS)
    every = families(rows)
    everything = Family("all", tuple(one for family in every for one in family.judged))
    exact, estimated = (everything.claims(status) for status in ("RECOVERED", "ESTIMATED"))
    ratios = [family.ratio for family in every if math.isfinite(family.ratio)]
    excess = sorted(
        one.error / one.row["bound"] - 1 for one in everything.estimated if is_above_bound(one)
    )
    ran = len(problems(rows))
    assert (everything.wrong("RECOVERED"), everything.exceeded, len(excess)) == (0, 4, 4)
    guide = text_of("docs/guide/certificate.md")
    for sentence in (
        f"has {len(keys_of('battery-2026a')):,} problems of",
        f"{ran:,} of them, in a random order, were run",
        f"- {exact:,} results are `RECOVERED`, of which none is wrong",
        f"- {estimated:,} results are `ESTIMATED`. Of these, {everything.wrong('ESTIMATED')} have",
        f"error is {everything.ratio:.2f} for all, and between {min(ratios):.2f} and "
        f"{max(ratios):.2f} in each of the {len(ratios)} families",
        f"exceeds the bound in 4 of the {estimated:,}",
        f"in three of them by {100 * excess[0]:.0f} to {100 * excess[2]:.0f} %",
        f"{everything.certified:,} of the {everything.solvable:,} problems that can be solved",
        f"({100 * everything.power:.0f} %)",
        f"It was exceeded by 4 of {estimated:,} such results",
        f"None of {exact:,} such results",
    ):
        assert sentence in guide, sentence
    summary = (
        f"none of {exact:,} recovered results is wrong, {everything.wrong('ESTIMATED')} of "
        f"{estimated:,} estimated ones are"
    )
    assert summary in text_of("docs/how-it-works.md")


def test_completion_page_states_the_numbers_of_its_families() -> None:
    judged = [one for row in families(rows_in(ROWS)) for one in row.judged]
    own = Family("", tuple(one for one in judged if str(one.row["cell"]).startswith("entry-cert")))
    exact, estimated = (own.claims(status) for status in ("RECOVERED", "ESTIMATED"))
    assert own.wrong("RECOVERED") == 0
    sentence = (
        f"{len(own.judged):,} fresh problems of the same kinds, none of {exact} recovered results "
        f"is wrong and {own.wrong('ESTIMATED')} of {estimated} estimated ones are"
    )
    text = text_of("docs/guide/completion.md")
    assert sentence in text
    assert f"{own.certified} of {own.solvable} solvable problems are certified" in text
