"""Reports show the same data, ticks and texts as before.

After a change of the figures, ``python tests/answers/figures.py`` writes the new descriptions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
from answers import differences
from figures import FILE, PAGES, described

EXPECTED: dict[str, Any] = json.loads(FILE.read_text("utf-8"))


def test_every_page_is_described() -> None:
    assert list(EXPECTED) == list(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_figures_are_as_before(name: str) -> None:
    assert [*differences(EXPECTED[name], described(PAGES[name]), by=1e-5)] == []
