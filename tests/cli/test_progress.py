"""Progress where stderr is not a terminal."""

from __future__ import annotations

import time

import pytest

from robustrank.cli import progress


def test_lines_appear_also_while_nothing_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first pass over large data takes minutes without a callback."""
    monkeypatch.setattr(progress, "_PLAIN_EVERY", 0.02)
    with progress.meter("auto") as show:
        show(0.0, "reading the data")
        time.sleep(0.3)
        show(0.5, "iteration 3")
        time.sleep(0.3)
        show(0.75, "")
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["auto: reading the data", "auto: about 50%, iteration 3", "auto: about 75%"]
