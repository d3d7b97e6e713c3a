"""The page about the studies."""

from __future__ import annotations

from html import escape

import pytest
from experiment_samples import invented_rows

from experiments import study
from experiments.claims import judge_claims
from experiments.figures import sketches
from experiments.page import render_page


def test_page_has_every_claim_and_figure() -> None:
    names = ["fig1a", "fig2", "fig3b"]
    tables = {}
    for name in names:
        one = study(name, quick=True)
        tables[name] = (one, invented_rows(one, lambda cell, _: 1e-9 / cell.rank))
    page = render_page(tables)
    for claim in judge_claims(tables):
        for text in (claim.statement, claim.criterion, claim.observed):
            assert escape(text).replace("&#x27;", "&#39;") in page
    assert page.count("<figure") == sum(len(sketches(*tables[name])) for name in names)
    assert "small problems, for a first look" in page
    assert "nowhere" in page  # the place of the trials
    assert page.count("<details") == 1  # the success rates of the study without noise
    assert "4/4 (51%–100%)" in page


@pytest.mark.parametrize(
    ("name", "loser", "tone", "words"),
    [
        ("fig3b", "vanilla-GD", "good", "1 reproduced, 0 in part, 0 not reproduced"),
        ("fig3b", "nobody", "bad", "0 reproduced, 0 in part, 1 not reproduced"),
        ("kappa", "median-TGD", "good", "1 hold, 0 not met"),
        ("kappa", "default", "fair", "0 hold, 1 not met"),
    ],
)
def test_summary_separates_the_paper_from_the_default(
    name: str, loser: str, tone: str, words: str
) -> None:
    one = study(name, quick=True)
    table = invented_rows(one, lambda _, method: 0.5 if method.name == loser else 1e-9)
    page = render_page({name: (one, table)})
    assert f'class="verdict {tone}"' in page
    assert words in page
