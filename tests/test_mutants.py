"""The tool that changes the source: each change is one expression, and a valid program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("coverage")

import mutants

SOURCE = '''"""A module: 1 + 1."""
from __future__ import annotations
LEVEL: float | None = 0.5
def f(a: int | None, b: float = 2.0) -> float | None:
    """Not 3 < 4."""
    if a is None or not b < 1 - LEVEL:
        raise ValueError(f"a={a + 1}" + "!")
    return -(b ** 2) if a >= 10 and b else "é" * (
        a // 2
    )
'''


def test_changes_are_those_of_operators_comparisons_and_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "SRC", tmp_path)
    (tmp_path / "m.py").write_text(SOURCE)
    found = mutants.mutants_of(tmp_path / "m.py")
    changes = {(mutant.before, mutant.after) for mutant in found}
    assert changes == {
        ("0.5", "1.5"),
        ("2.0", "3.0"),
        ("a is None or not b < 1 - LEVEL", "a is None and (not b < 1 - LEVEL)"),
        ("a is None", "a is not None"),
        ("not b < 1 - LEVEL", "b < 1 - LEVEL"),
        ("b < 1 - LEVEL", "b <= 1 - LEVEL"),
        ("b < 1 - LEVEL", "b >= 1 - LEVEL"),
        ("1 - LEVEL", "1 + LEVEL"),
        ("1", "2"),
        ("-b ** 2", "b ** 2"),
        ("b ** 2", "b * 2"),
        ("2", "3"),
        ("a >= 10 and b", "a >= 10 or b"),
        ("a >= 10", "a > 10"),
        ("a >= 10", "a < 10"),
        ("10", "11"),
        ("'é' * (a // 2)", "'é' / (a // 2)"),
        ("a // 2", "a / 2"),
    }


def test_every_change_of_a_module_is_a_different_program() -> None:
    for name in ("linalg/vectors.py", "certificate/support.py", "cli/progress.py"):
        path = mutants.SRC / "robustrank" / name
        source = path.read_text()
        before = ast.dump(ast.parse(source))
        found = mutants.mutants_of(path)
        assert len(found) > 3
        for mutant in found:
            assert ast.dump(ast.parse(mutant.applied(source))) != before
