"""``robustrank demo``: a table of three solvers and a report page."""

from __future__ import annotations

import os
from pathlib import Path

from command_line import run


def test_demo_compares_solvers_and_writes_a_page(tmp_path: Path) -> None:
    size = ["--shape", "30x24", "--rank", 2, "-m", 1000]
    done = run("demo", *size, "--report", "demo.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in (
        "median-TGD",
        "vanilla-GD",
        "outliers found",
        "passes over the data",
        "demo.html",
    ):
        assert text in done.stdout
    page = (tmp_path / "demo.html").read_text()
    assert "vanilla-GD" in page
    assert os.listdir(tmp_path) == ["demo.html"]
