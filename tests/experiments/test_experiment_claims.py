"""Claims, judged from invented rows that agree with them or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from experiment_samples import Error, invented_rows

from experiments import NAMES, Cell, Table, study
from experiments.claims import Verdict, judge_claims


def verdicts(name: str, error: Error, *, quick: bool = True) -> list[Verdict]:
    one = study(name, quick=quick)
    return [claim.verdict for claim in judge_claims({name: (one, invented_rows(one, error))})]


GOOD, BAD, SHORT = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.FALLS_SHORT


def above(slope: float, offset: float = 0.0) -> Error:
    def error(cell: Cell, method: Any) -> float:
        shift = 0.0 if method.name == "default" else offset
        return 1e-9 if cell.measurements > slope * cell.rank + shift else 0.5

    return error


def test_claims_about_figure_1() -> None:
    reported, beyond = Verdict.REPORTED, [Verdict.BEYOND, Verdict.BEYOND]
    assert verdicts("fig1a", above(285, 300), quick=False) == [GOOD, GOOD, GOOD, reported, *beyond]
    # The default worse than the paper's method, and far from the limit.
    short = [SHORT, SHORT]
    assert verdicts("fig1a", above(330, -300), quick=False) == [GOOD, GOOD, GOOD, reported, *short]

    def curved(cell: Cell, _: Any) -> float:
        return 1e-9 if cell.measurements > 32 * cell.rank**2 else 0.5

    assert verdicts("fig1a", curved, quick=False)[0] is BAD
    assert verdicts("fig1a", lambda *_: 1e-9)[:2] == [BAD, BAD]
    assert verdicts("fig1a", lambda *_: 0.5)[5] is SHORT  # a default that never succeeds
    assert verdicts("fig1b", lambda _, m: 0.5 if m.name == "default" else 1e-9)[1] is SHORT


@pytest.mark.parametrize(
    ("least", "slope", "observed", "verdict"),
    [
        # As many inliers as degrees of freedom: −0.4 and −0.7 %.
        (300, 285, "r = 1: -0.4% to +5.6%, r = 2: -0.7% to +5.6%", Verdict.BEYOND),
        (300, 330, "r = 1: +5.6% to +58.3%, r = 2: +5.6% to +31.9%", SHORT),
        (300, 3400, "r = 1: more than +1061.1%, r = 2: more than +480.6%", SHORT),
        (450, 285, "r = 1: -0.4% to +58.3%, r = 2: -0.7% to +5.6%", Verdict.REPORTED),
    ],
)
def test_transition_is_between_two_settings(
    least: int, slope: float, observed: str, verdict: Verdict
) -> None:
    one = study("fig1a")
    one = replace(one, cells=tuple(cell for cell in one.cells if cell.measurements >= least))
    judged = judge_claims({"fig1a": (one, invented_rows(one, above(slope)))})
    ours, theirs = (
        next(claim for claim in judged if claim.statement.startswith(start))
        for start in ("The default solver's transition", "The paper's method")
    )
    assert f"half of the trials succeed: {observed}" in ours.observed
    assert ours.verdict is verdict
    assert theirs.verdict is Verdict.REPORTED
    assert theirs.observed in ours.observed  # the invented rows of both are the same


@pytest.mark.parametrize(
    ("unfinished", "verdict"),
    [(0, GOOD), (2, GOOD), (3, Verdict.IN_PART), (21, Verdict.IN_PART), (22, BAD), (210, BAD)],
)
def test_iterations_are_enough_if_converging_trials_converge(
    unfinished: int, verdict: Verdict
) -> None:
    one = replace(study("fig1a"), trials=1)  # 210 settings
    late = {cell.key for cell in one.cells[:unfinished]}
    table = invented_rows(one, lambda cell, _: 1e-5 if cell.key in late else 1e-9)
    (claim,) = (c for c in judge_claims({"fig1a": (one, table)}) if "iterations" in c.statement)
    assert claim.verdict is verdict


def test_iterations_are_not_enough_if_no_trial_converges() -> None:
    assert verdicts("fig1a", lambda *_: 0.5)[2] is BAD


def test_claims_about_figure_2() -> None:
    def error(_: Cell, method: Any) -> float:
        return 5.0 if method.name == "vanilla-GD" else 0.01 * (1 + method.extra_rank / 30)

    assert verdicts("fig2", error) == [GOOD, GOOD, GOOD, Verdict.BEYOND, Verdict.BEYOND]
    assert verdicts("fig2", lambda *_: 0.01)[1] is BAD
    too_high = verdicts("fig2", lambda _, m: 0.01 * 10**m.extra_rank)
    assert (too_high[2], too_high[4]) == (BAD, SHORT)

    def fails_with_few(cell: Cell, method: Any) -> float:
        given = replace(cell, rank=cell.rank + method.extra_rank)
        return 0.01 * (100 if cell.measurements < 1.5 * given.degrees_of_freedom else 1)

    few = verdicts("fig2", fails_with_few, quick=False)
    assert few[2] is Verdict.IN_PART
    assert few[3] is Verdict.BEYOND  # the criterion ignores settings with few measurements


def test_default_falls_short_if_outliers_cost_more_than_a_tenth() -> None:
    def error(_: Cell, method: Any) -> float:
        return 0.0112 if method.name == "default" else 0.01

    assert verdicts("fig2", error)[3] is SHORT


@pytest.mark.parametrize("letter", ["b", "c"])
def test_claims_about_figure_3(letter: str) -> None:
    assert verdicts(f"fig3{letter}", lambda _, m: 9.0 if "vanilla" in m.name else 0.01) == [GOOD]
    assert verdicts(f"fig3{letter}", lambda *_: 0.01) == [BAD]


@pytest.mark.parametrize("name", ["zoo", "kappa"])
def test_claims_that_the_default_is_not_worse(name: str) -> None:
    assert verdicts(name, lambda _, m: 1e-9 if m.name == "default" else 0.5) == [Verdict.BEYOND]
    assert verdicts(name, lambda _, m: 0.5 if m.name == "default" else 1e-9) == [SHORT]


def needs(ours: float, theirs: float) -> Error:
    def error(cell: Cell, method: Any) -> float:
        inliers = (1 - cell.outliers) * cell.measurements / cell.degrees_of_freedom
        return 1e-9 if inliers > (ours if method.name == "default" else theirs) else 0.5

    return error


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (1.1, 1.4, Verdict.BEYOND),
        (1.4, 1.1, SHORT),
        (0.0, 1.1, Verdict.BEYOND),  # the smallest ratio is sufficient
        (9.9, 1.1, SHORT),  # no ratio is sufficient
        (1.1, 9.9, Verdict.BEYOND),
    ],
)
def test_claims_about_sizes(ours: float, theirs: float, verdict: Verdict) -> None:
    assert verdicts("sizes", needs(ours, theirs)) == [verdict]


def test_methods_with_different_data_are_reported() -> None:
    one = study("fig3b", quick=True)
    table = invented_rows(one, lambda *_: 0.01)
    (claim,) = judge_claims({"fig3b": (one, table)})
    assert "another array library" not in claim.observed
    table.rows[0]["place"] = "elsewhere"
    (claim,) = judge_claims({"fig3b": (one, table)})
    assert "some methods were run with another array library" in claim.observed


def test_missing_trials_give_no_verdict() -> None:
    for name in NAMES:
        one = study(name, quick=True)
        found = judge_claims({name: (one, Table([], []))})
        assert {claim.verdict for claim in found} == {Verdict.MISSING}
    assert judge_claims({}) == []


@pytest.mark.parametrize(
    ("default", "verdict"), [(1e-9, Verdict.BEYOND), (0.5, SHORT)], ids=["success", "failure"]
)
def test_claim_about_target_rates(default: float, verdict: Verdict) -> None:
    found = verdicts("solvers", lambda _, m: default if m.name == "default" else 1e-9)
    assert found[0] is verdict


def test_missed_targets_are_listed() -> None:
    one = study("solvers")
    hard = one.cells[0]
    table = invented_rows(one, lambda cell, _: 0.5 if cell in (hard, one.cells[-1]) else 1e-9)
    claim = judge_claims({"solvers": (one, table)})[0]
    assert "reached at 20 of 21 settings" in claim.observed  # the last one has no target
    assert f"{hard.label}: 0/20 (0%–16%), target 95%" in claim.observed


@pytest.mark.parametrize(
    ("method", "verdict"),
    [("default", SHORT), ("oracle", SHORT), ("median-TGD", Verdict.BEYOND)],
)
def test_recovered_results_must_be_right(method: str, verdict: Verdict) -> None:
    one = study("solvers", quick=True)
    table = invented_rows(one, lambda *_: 1e-9)
    row = next(row for row in table.rows if row["method"] == method)
    row["error"] = 1e-5
    assert judge_claims({"solvers": (one, table)})[1].verdict is verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1.05, Verdict.BEYOND), (1.2, SHORT)])
def test_error_with_noise_must_be_near_the_oracle(factor: float, verdict: Verdict) -> None:
    found = verdicts("solvers", lambda _, m: 0.01 * (factor if m.name == "default" else 1.0))
    assert found[2] is verdict


def test_one_wrong_certificate_is_too_many() -> None:
    one = study("certificates", quick=True)
    table = invented_rows(one, lambda *_: 1e-9)
    exact, settled, power, share = judge_claims({"certificates": (one, table)})
    assert exact.verdict is settled.verdict is power.verdict is Verdict.BEYOND
    assert exact.observed == "0 wrong of 60"
    assert "30 of 30: 30 recovered, 0 estimated" in share.observed
    table.rows[5]["wrong"] = True
    assert judge_claims({"certificates": (one, table)})[0].verdict is SHORT
    table.rows[6] |= {"wrong": True, "status": "ESTIMATED"}
    assert judge_claims({"certificates": (one, table)})[1].verdict is SHORT


def test_silence_is_no_way_out() -> None:
    one = study("certificates", quick=True)
    table = invented_rows(one, lambda *_: 1e-9)
    for row in table.rows[:8]:
        row["status"] = "INCONCLUSIVE"
    assert judge_claims({"certificates": (one, table)})[2].verdict is SHORT
