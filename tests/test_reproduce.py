"""From rows to claims, figures and a page."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments import NAMES, Cell, Experiment, Table, experiment, load, run, standing
from experiments.claims import (
    Verdict,
    claims,
    red_line,
    slope_of,
    transition_by_size,
)
from experiments.figures import sketches
from experiments.page import render_reproduction
from experiments.rows import encode, files_of, read
from experiments.statistics import Rate, crossing, fit_line, ratio_with_interval
from robustrank.report.canvas import write_image

ROOT = Path(__file__).parents[1]

# Numbers.


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)],
)
def test_wilson_interval(successes: int, trials: int, low: float, high: float) -> None:
    assert Rate(successes, trials).interval == pytest.approx((low, high), abs=1e-4)


def test_nothing_tried_is_nothing_known() -> None:
    assert math.isnan(Rate(0, 0).value)
    assert Rate(0, 0).interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 1], 250.0),
        ([0, 0.2, 1.0], 237.5),
        ([1, 0.5, 0], 200.0),
        ([1, 1, 1], None),
        ([0, math.nan, 1], None),
    ],
)
def test_where_half_succeed(values: list[float], expected: float | None) -> None:
    assert crossing([100, 200, 300], values, 0.5) == expected


def test_lines_and_ratios() -> None:
    line = fit_line([1, 2, 3, 4], [3, 5, 7, 9])
    assert (line.slope, line.intercept, line.r_squared) == pytest.approx((2, 1, 1))
    ratio, low, high = ratio_with_interval([2.0, 2.2, 1.8], [1.0, 1.0, 1.0])
    assert low < ratio < high
    assert ratio == pytest.approx((2.0 * 2.2 * 1.8) ** (1 / 3))


def test_the_slope_of_a_trace_is_that_of_its_steady_part() -> None:
    trace = [(k, 2 * k, max(10 ** (-k / 50), 1e-4)) for k in range(0, 400, 10)]
    assert slope_of({"trace": trace}) == pytest.approx(1 / 50)


def test_the_red_line_is_the_papers() -> None:
    assert red_line(Cell(2400, 5)) == pytest.approx(1421.05, abs=0.01)  # as in the literature


# Claims, from rows made up to hold or not to.


def made_up(one: Experiment, error: Any) -> Table:
    rows = [
        {"cell": cell.key, "trial": trial, "method": method.name, "error": error(cell, method)}
        | {"place": "nowhere", "trace": [(0, 1, 1.0), (10, 21, 0.1), (20, 41, error(cell, method))]}
        for cell in one.cells
        for trial in range(one.trials)
        for method in one.methods
    ]
    return Table(rows, [])


def verdicts(name: str, error: Any, *, quick: bool = True) -> list[Verdict]:
    one = experiment(name, quick=quick)
    return [c.verdict for c in claims({name: (one, made_up(one, error))}) if c.figure == name]


GOOD, BAD, SHORT = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.FALLS_SHORT


def above(slope: float, offset: float = 0.0) -> Any:
    def error(cell: Cell, method: Any) -> float:
        shift = 0.0 if method.name == "default" else offset
        return 1e-9 if cell.measurements > slope * cell.rank + shift else 0.5

    return error


def test_claims_of_the_first_figure() -> None:
    told, beyond = Verdict.TOLD, [Verdict.BEYOND, Verdict.BEYOND]
    assert verdicts("fig1a", above(285, 300), quick=False) == [GOOD, GOOD, GOOD, told, *beyond]
    # The default worse than the paper's method, and far from the limit.
    assert verdicts("fig1a", above(330, -300), quick=False) == [
        GOOD,
        GOOD,
        GOOD,
        told,
        SHORT,
        SHORT,
    ]

    def curved(cell: Cell, _: Any) -> float:
        return 1e-9 if cell.measurements > 32 * cell.rank**2 else 0.5

    assert verdicts("fig1a", curved, quick=False)[0] is BAD
    assert verdicts("fig1a", lambda *_: 1e-9)[:2] == [BAD, BAD]
    assert verdicts("fig1a", lambda *_: 0.5)[5] is SHORT  # a default that never succeeds
    assert verdicts("fig1b", lambda _, m: 0.5 if m.name == "default" else 1e-9)[1] is SHORT


@pytest.mark.parametrize(
    ("least", "slope", "seen", "verdict"),
    [
        # As many clean measurements as degrees of freedom: −0.4 and −0.7 %.
        (300, 285, "r = 1: -0.4% to +5.6%, r = 2: -0.7% to +5.6%", Verdict.BEYOND),
        (300, 330, "r = 1: +5.6% to +58.3%, r = 2: +5.6% to +31.9%", SHORT),
        (300, 3400, "r = 1: more than +1061.1%, r = 2: more than +480.6%", SHORT),
        (450, 285, "r = 1: -0.4% to +58.3%, r = 2: -0.7% to +5.6%", Verdict.TOLD),
    ],
)
def test_a_transition_lies_between_two_settings(
    least: int, slope: float, seen: str, verdict: Verdict
) -> None:
    one = experiment("fig1a")
    one = replace(one, cells=tuple(cell for cell in one.cells if cell.measurements >= least))
    judged = claims({"fig1a": (one, made_up(one, above(slope)))})
    ours, theirs = (
        next(claim for claim in judged if claim.statement.startswith(start))
        for start in ("The default's transition", "The paper's method")
    )
    assert f"this far from it: {seen}" in ours.seen
    assert ours.verdict is verdict
    assert theirs.verdict is Verdict.TOLD
    assert theirs.seen in ours.seen  # both are made up to be the same


@pytest.mark.parametrize(
    ("unfinished", "verdict"),
    [(0, GOOD), (2, GOOD), (3, Verdict.IN_PART), (21, Verdict.IN_PART), (22, BAD), (210, BAD)],
)
def test_iterations_are_enough_if_what_is_on_its_way_arrives(
    unfinished: int, verdict: Verdict
) -> None:
    one = replace(experiment("fig1a"), trials=1)  # 210 settings
    late = {cell.key for cell in one.cells[:unfinished]}
    table = made_up(one, lambda cell, _: 1e-5 if cell.key in late else 1e-9)
    (claim,) = (c for c in claims({"fig1a": (one, table)}) if "iterations" in c.statement)
    assert claim.verdict is verdict


def test_iterations_are_not_enough_where_nothing_is_on_its_way() -> None:
    assert verdicts("fig1a", lambda *_: 0.5)[2] is BAD


def test_claims_of_the_second_figure() -> None:
    def error(_: Cell, method: Any) -> float:
        outliers_hurt = method.name == "vanilla-GD"
        return 5.0 if outliers_hurt else 0.01 * (1 + method.extra_rank / 30)

    assert verdicts("fig2", error) == [GOOD, GOOD, GOOD, Verdict.BEYOND, Verdict.BEYOND]
    assert verdicts("fig2", lambda *_: 0.01)[1] is BAD
    too_high = verdicts("fig2", lambda _, m: 0.01 * 10**m.extra_rank)
    assert (too_high[2], too_high[4]) == (BAD, SHORT)

    def where_few(cell: Cell, method: Any) -> float:
        given = replace(cell, rank=cell.rank + method.extra_rank)
        return 0.01 * (100 if cell.measurements < 1.5 * given.degrees_of_freedom else 1)

    few = verdicts("fig2", where_few, quick=False)
    assert few[2] is Verdict.IN_PART
    assert few[3] is Verdict.BEYOND  # where measurements are few nothing is asked


def test_the_default_may_not_lose_a_tenth_to_outliers() -> None:
    def error(_: Cell, method: Any) -> float:
        return 0.0112 if method.name == "default" else 0.01

    assert verdicts("fig2", error)[3] is SHORT


@pytest.mark.parametrize("letter", ["b", "c"])
def test_claims_of_the_third_figure(letter: str) -> None:
    assert verdicts(f"fig3{letter}", lambda _, m: 9.0 if "vanilla" in m.name else 0.01) == [GOOD]
    assert verdicts(f"fig3{letter}", lambda *_: 0.01) == [BAD]


@pytest.mark.parametrize("name", ["zoo", "kappa"])
def test_claims_that_the_default_contains_the_papers_method(name: str) -> None:
    assert verdicts(name, lambda _, m: 1e-9 if m.name == "default" else 0.5) == [Verdict.BEYOND]
    assert verdicts(name, lambda _, m: 0.5 if m.name == "default" else 1e-9) == [SHORT]


def needs(ours: float, theirs: float) -> Any:
    def error(cell: Cell, method: Any) -> float:
        clean = (1 - cell.outliers) * cell.measurements / cell.degrees_of_freedom
        return 1e-9 if clean > (ours if method.name == "default" else theirs) else 0.5

    return error


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (1.1, 1.4, Verdict.BEYOND),
        (1.4, 1.1, SHORT),
        (0.0, 1.1, Verdict.BEYOND),  # enough at once
        (9.9, 1.1, SHORT),  # never enough
        (1.1, 9.9, Verdict.BEYOND),
    ],
)
def test_claims_of_the_sizes(ours: float, theirs: float, verdict: Verdict) -> None:
    assert verdicts("sizes", needs(ours, theirs)) == [verdict]


def test_where_half_succeed_by_size() -> None:
    one = experiment("sizes")
    found = transition_by_size(one, made_up(one, needs(1.1, 1.4)), "default", 0.2)
    assert [*found] == [20, 40, 80, 160]
    assert all(1.05 < where < 1.16 for where in found.values())


def test_methods_on_different_data_are_told_of() -> None:
    one = experiment("fig3b", quick=True)
    table = made_up(one, lambda *_: 0.01)
    (claim,) = claims({"fig3b": (one, table)})
    assert "same library" not in claim.seen
    table.rows[0]["place"] = "elsewhere"
    (claim,) = claims({"fig3b": (one, table)})
    assert "not all methods were run on the same library" in claim.seen


def test_missing_trials_are_no_verdict() -> None:
    for name in NAMES:
        one = experiment(name, quick=True)
        found = [c for c in claims({name: (one, Table([], []))}) if c.figure == name]
        assert {claim.verdict for claim in found} <= {Verdict.MISSING}
    assert claims({}) == []


# What is in the repository.


@pytest.mark.parametrize("name", NAMES)
def test_committed_rows_are_whole_and_belong_to_their_experiment(name: str) -> None:
    one = experiment(name)
    table = read(files_of(ROOT / "results", name))
    assert table.damage == []
    now = standing(one, table)
    assert now.done == now.total == len(table.rows)
    cells = {cell.key: cell for cell in one.cells}
    for row in table.rows:
        assert row["seed"] == cells[row["cell"]].seed(row["trial"])
        claimed = row["status"] == "RECOVERED" and row["method"] == "default"
        assert not (claimed and row["error"] >= 1e-6)


def test_committed_rows_are_of_every_experiment_and_of_nothing_else() -> None:
    found = (ROOT / "results").glob("*.jsonl.gz")
    assert {path.name.removesuffix(".jsonl.gz") for path in found} == set(NAMES)


def test_verdicts_on_the_committed_rows_are_those_of_the_documents() -> None:
    every = [experiment(name) for name in NAMES]
    judged = claims({one.name: (one, load(one, ROOT / "results")) for one in every})
    assert {claim.figure for claim in judged} == set(NAMES)
    failed = (BAD, SHORT, Verdict.MISSING)
    assert [claim for claim in judged if claim.verdict in failed] == []
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    cells = (line.rstrip(" |").rpartition("| ")[2] for line in page.splitlines() if "|" in line)
    written = Counter(cell for cell in cells if cell in {verdict.value for verdict in Verdict})
    assert written == Counter(
        claim.verdict.value for claim in judged if claim.verdict is not Verdict.TOLD
    )


# Figures and the page.


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_figures_from_rows_alone(name: str, tmp_path: Path) -> None:
    one = experiment(name, quick=True)
    table = made_up(one, lambda cell, _: 1e-9 if cell.measurements > 75 * cell.rank else 0.5)
    drawn = sketches(one, table)
    assert drawn
    write_image(tmp_path / "figure.png", drawn)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert all("quick" in sketch.title for sketch in drawn)
    assert drawn[0].picture().svg == sketches(one, table)[0].picture().svg  # the same every time


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_without_rows_has_no_figures(name: str) -> None:
    assert sketches(experiment(name, quick=True), Table([], [])) == []


def test_the_trial_drawn_strong_is_one_problem_for_all() -> None:
    one = experiment("fig3a", quick=True)
    table = made_up(one, lambda _, method: 0.01 if method.name == "median-TGD" else 0.02)
    for row in table.rows:  # the last trial is the median of the paper's method
        last = one.trials - 1
        row["error"] = {last: 0.5}.get(row["trial"], row["trial"] % 2)
    figure = Figure()
    axes = figure.add_subplot()
    sketches(one, table)[0].paint(axes)
    strong = [place for place, line in enumerate(axes.lines) if line.get_alpha() == 1.0]
    assert strong == [k * one.trials + one.trials - 1 for k in range(len(one.methods))]


def test_the_page_has_every_claim_and_figure() -> None:
    names = ["fig1a", "fig2", "fig3b"]
    tables = {}
    for name in names:
        one = experiment(name, quick=True)
        tables[name] = (one, made_up(one, lambda cell, _: 1e-9 / cell.rank))
    page = render_reproduction(tables)
    for claim in claims(tables):
        if claim.figure in names:
            assert escape(claim.statement) in page
            assert escape(claim.asked) in page
            assert escape(claim.seen) in page
    assert page.count("<figure") == sum(len(sketches(*tables[name])) for name in names)
    assert "small problems, for a first look" in page
    assert "nowhere" in page  # where the trials were run
    assert page.count("<details") == 1  # every setting, where there is no noise
    assert "4/4 (51%–100%)" in page


@pytest.mark.parametrize(
    ("name", "loser", "tone", "words"),
    [
        ("fig3b", "vanilla-GD", "good", "1 reproduced, 0 in part, 0 not"),
        ("fig3b", "nobody", "bad", "0 reproduced, 0 in part, 1 not"),
        ("kappa", "median-TGD", "good", "1 hold, 0 fall short"),
        ("kappa", "default", "fair", "0 hold, 1 fall short"),
    ],
)
def test_the_headline_tells_the_paper_from_the_default(
    name: str, loser: str, tone: str, words: str
) -> None:
    one = experiment(name, quick=True)
    page = render_reproduction(
        {name: (one, made_up(one, lambda _, method: 0.5 if method.name == loser else 1e-9))}
    )
    assert f'class="verdict {tone}"' in page
    assert words in page


# The command.


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "robustrank", "reproduce", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def test_reproduce_runs_draws_and_tells(tmp_path: Path) -> None:
    done = command("fig3a", "--quick", "--trials", "1", "--report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote results/fig3a-quick.png" in done.stdout
    assert "wrote results/report-quick.html" in done.stdout
    assert "fig3a: Without outliers both methods converge at comparable rates." in done.stdout
    assert "  reproduced: decades an iteration" in done.stdout
    kept = tmp_path / "results" / "fig3a-quick.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert {row["method"] for row in rows} == {"median-TGD", "vanilla-GD", "default"}
    before = kept.read_bytes()
    again = command("fig3a", "--quick", "--trials", "1", "-q", cwd=tmp_path)
    assert again.returncode == 0
    assert kept.read_bytes() == before


def test_only_and_seconds_leave_the_rest_for_later(tmp_path: Path) -> None:
    limits = ("--workers", "1", "--seconds", "0")
    done = command("kappa", "--quick", "--only", "default", *limits, "--out", "here", cwd=tmp_path)
    assert done.returncode == 1
    assert len((tmp_path / "here" / "kappa-quick.jsonl").read_text().splitlines()) == 1
    status = command("status", "--quick", "--out", "here", cwd=tmp_path)
    assert status.returncode == 0
    assert [line.split() for line in status.stdout.splitlines() if "kappa" in line] == [
        ["kappa-quick", "0/3", "1/30"]
    ]


def test_damage_is_told_by_the_command(tmp_path: Path) -> None:
    row = {"cell": "x", "trial": 0, "method": "default", "error": 1.0}
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "kappa-quick.jsonl").write_bytes(encode(row)[:-7])
    done = command("kappa", "--quick", "--seconds", "0", "--workers", "1", cwd=tmp_path)
    assert "kappa-quick.jsonl, line 1: cut short; left out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig9"], "experiment 'fig9' is not known; expected one of fig1a"),
        (["kappa", "--only", "best"], "--only best fits no method of kappa; it has 'median-TGD'"),
        (["kappa", "--trials", "0"], "trials"),
        (["kappa", "--seconds", "-1"], "seconds"),
        (["fig3a", "fig1b", "--only", "vanilla", "--quick"], "fits no method of fig1b-quick"),
        ([], "NAME"),
    ],
)
def test_bad_requests_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_runs_of_the_library_and_the_command_are_the_same(tmp_path: Path) -> None:
    one = experiment("fig3b", quick=True, trials=1)
    run(one, tmp_path, workers=1)
    done = command("fig3b", "--quick", "--trials", "1", "-q", cwd=tmp_path)
    assert done.returncode == 0
    mine, theirs = (
        np.sort((folder / "fig3b-quick.jsonl").read_text().splitlines())
        for folder in (tmp_path, tmp_path / "results")
    )
    assert [json.loads(a)["error"] for a in mine] == pytest.approx(
        [json.loads(b)["error"] for b in theirs], rel=1e-3
    )
