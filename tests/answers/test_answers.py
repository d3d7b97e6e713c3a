"""Small problems are answered as before, in every number that does not depend on rounding.

The numbers are those of an earlier version, not of a theory: a change of the method changes them.
Then ``python tests/answers/answers.py`` writes the new ones, and their differences are reviewed.
"""

from __future__ import annotations

import json

import pytest
from answers import CASES, FILE, differences, unchanged

EXPECTED = json.loads(FILE.read_text("utf-8"))


def test_every_case_has_an_answer() -> None:
    assert list(EXPECTED) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_as_before(name: str) -> None:
    assert [*differences(EXPECTED[name], CASES[name](unchanged), by=1e-6)] == []
