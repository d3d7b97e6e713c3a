"""What the package promises from outside: names, import cost, examples that run."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import robustrank as rr

ROOT = Path(__file__).parent.parent

PUBLIC_NAMES = [
    "Certificate",
    "GaussNewton",
    "Interrupted",
    "UniformWeights",
    "MedianTGD",
    "TruncatedWeights",
    "MessagePassing",
    "Portfolio",
    "Problem",
    "Progress",
    "RankSearch",
    "Recovery",
    "Status",
    "UndersampledWarning",
    "VanillaGD",
    "load",
    "metrics",
    "operators",
    "recover",
    "recover_many",
    "simulate",
    "theory",
]
OPTIONAL = [
    "matplotlib",
    "click",
    "rich",
    "threadpoolctl",
    "torch",
    "jax",
    "cupy",
    "numba",
    "pytest",
]


def test_public_names_are_pinned() -> None:
    assert sorted(rr.__all__) == PUBLIC_NAMES
    assert all(hasattr(rr, name) for name in PUBLIC_NAMES)


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_no_optional_library_and_prints_nothing() -> None:
    loaded = python("import robustrank, sys; print(sorted(m for m in sys.modules if '.' not in m))")
    assert "'numpy'" in loaded
    assert not [name for name in OPTIONAL if f"'{name}'" in loaded]
    assert python("import robustrank") == ""


def test_solving_loads_no_optional_library_and_prints_nothing() -> None:
    code = """
import robustrank as rr, sys
p = rr.simulate.plant(10, 8, 1, 200, outliers=0.05, rng=1)
rr.recover(p.A, p.y, 1)
print([m for m in sys.modules if m in %r])
"""
    assert python(code % OPTIONAL).strip() == "[]"


@pytest.mark.parametrize("missing", ["click", "matplotlib"])
def test_missing_extra_is_one_sentence(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None\n"
    code += "from robustrank.cli import main; sys.argv = ['robustrank', 'demo']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"needs {missing}; install it with: pip install 'robustrank[" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_docstring_examples_run() -> None:
    assert doctest.testmod(rr).attempted > 0
    assert doctest.testmod(rr).failed == 0


def test_readme_example_runs_and_prints_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert examples
    assert len(examples[0].strip().splitlines()) <= 15
    output = python(examples[0])
    printed = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)[0]
    assert _without_time_and_rounding(output) == _without_time_and_rounding(printed)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_examples_in_the_docs_run(page: Path) -> None:
    for example in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        assert python(example) == ""


def _without_time_and_rounding(text: str) -> str:
    without_time = re.sub(r"[\d.]+ s$", "… s", text.strip(), flags=re.MULTILINE)
    return re.sub(r"\d\.\d+e-1[4-6]", "rounding", without_time)


def test_readme_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    readme = (ROOT / "README.md").read_text()
    assert {"demo", "test"} <= set(re.findall(r"make ([a-z-]+)", readme)) <= targets


@pytest.mark.parametrize("name", ["LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"])
def test_companion_files_are_here(name: str) -> None:
    assert (ROOT / name).read_text().strip()


def test_changelog_and_citation_name_this_version() -> None:
    assert f"## {rr.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {rr.__version__}" in (ROOT / "CITATION.cff").read_text()
