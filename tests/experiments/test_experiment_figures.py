"""Figures drawn from rows alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment_samples import invented_rows
from matplotlib.figure import Figure

from experiments import NAMES, Table, study
from experiments.figures import sketches
from robustrank.report.canvas import write_image


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_figures(name: str, tmp_path: Path) -> None:
    one = study(name, quick=True)
    table = invented_rows(
        one, lambda cell, _: 1e-9 if getattr(cell, "measurements", 0) > 150 else 0.5
    )
    drawn = sketches(one, table)
    assert drawn
    write_image(tmp_path / "figure.png", drawn)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert all("quick" in sketch.title for sketch in drawn)
    assert drawn[0].picture().svg == sketches(one, table)[0].picture().svg  # deterministic


@pytest.mark.parametrize("name", NAMES)
def test_study_without_rows_has_no_figures(name: str) -> None:
    assert sketches(study(name, quick=True), Table([], [])) == []


def test_thick_lines_show_the_same_problem_for_all_methods() -> None:
    one = study("fig3a", quick=True)
    table = invented_rows(one, lambda _, method: 0.01 if method.name == "median-TGD" else 0.02)
    for row in table.rows:  # the last trial has the median error of the paper's method
        last = one.trials - 1
        row["error"] = {last: 0.5}.get(row["trial"], row["trial"] % 2)
    figure = Figure()
    axes = figure.add_subplot()
    sketches(one, table)[0].paint(axes)
    strong = [place for place, line in enumerate(axes.lines) if line.get_alpha() == 1.0]
    assert strong == [k * one.trials + one.trials - 1 for k in range(len(one.methods))]
