"""The package from outside: public names, import cost, layout, docstrings that run."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import robustrank as rr

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "robustrank"

PUBLIC_NAMES = [
    "Certificate",
    "DeviceMemoryError",
    "Interrupted",
    "NoiseModel",
    "NotCertifiedWarning",
    "Progress",
    "RankTable",
    "ReducedPrecisionWarning",
    "Result",
    "SensingDataLost",
    "Status",
    "StopReason",
    "UndersampledWarning",
    "clean",
    "complete",
    "load",
    "metrics",
    "operators",
    "plan",
    "plot",
    "recover",
    "recover_many",
    "robust_pca",
    "simulate",
    "solvers",
    "theory",
    "with_data",
]
OPTIONAL = [
    "matplotlib",
    "jinja2",
    "click",
    "rich",
    "torch",
    "jax",
    "cupy",
    "numba",
    "h5py",
    "pandas",
    "pyarrow",
    "sklearn",
    "pytest",
]


def test_public_names_are_pinned() -> None:
    assert rr.__all__ == PUBLIC_NAMES
    assert all(hasattr(rr, name) for name in PUBLIC_NAMES)


def test_contracts_stay_small() -> None:
    """What a new family of measurements implements, and what a user of Gauss–Newton can set."""
    assert rr.operators.Operator.__abstractmethods__ == {
        "shape",
        "dtype",
        "measure",
        "backproject",
    }
    assert len(fields(rr.solvers.GaussNewton)) <= 9


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


@pytest.mark.parametrize("missing", ["click", "matplotlib", "jinja2"])
def test_missing_extra_is_one_sentence(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None\n"
    code += "from robustrank.cli import main; sys.argv = ['robustrank', 'demo']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"needs {missing}; install it with: pip install 'robustrank[" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def modules_with_examples() -> list[str]:
    """The modules whose docstrings have examples."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text("utf-8"))
    parts = [path.relative_to(PACKAGE.parent).with_suffix("").parts for path in paths]
    return [".".join(part for part in names if part != "__init__") for names in parts]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tested = doctest.testmod(import_module(name))
    assert tested.attempted > 0
    assert tested.failed == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"])
def test_companion_files_exist(name: str) -> None:
    assert (ROOT / name).read_text().strip()


def test_changelog_and_citation_name_this_version() -> None:
    assert f"## {rr.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {rr.__version__}" in (ROOT / "CITATION.cff").read_text()


def layout(path: Path) -> list[str]:
    """The names of the modules and packages in a folder."""
    found = [*path.glob("*.py"), *(module.parent for module in path.glob("*/__init__.py"))]
    return sorted(item.stem for item in found if not item.stem.startswith("__"))


def contributing_tables() -> list[list[str]]:
    """The names in the first column of every table of CONTRIBUTING.md, top to bottom."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = [table.splitlines()[2:] for table in tables]
    return [
        [name for row in table for name in re.findall(r"`(\w+)/?`", row.split("|")[1])]
        for table in rows
    ]


def test_contributing_describes_the_layout() -> None:
    packages, *inside = contributing_tables()[:9]
    assert sorted(packages) == layout(PACKAGE)
    described = (
        *(
            "search",
            "solvers",
            "operators",
            "outofcore",
            "completion",
            "tables",
            "result",
            "estimators",
        ),
    )
    for package, names in zip(described, inside, strict=True):
        assert sorted(names) == layout(PACKAGE / package)


def test_contributing_lists_packages_in_the_order_of_imports() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(
        contract["layers"]
        for contract in settings["contracts"]
        if contract.get("containers") == ["robustrank"]
    )
    names = [name.strip() for layer in layers for name in layer.split("|")]
    assert [name for name in names if name != "__main__"] == contributing_tables()[0]


def test_tests_mirror_the_package() -> None:
    packages = [module.parent.name for module in PACKAGE.glob("*/__init__.py")]
    modules = [module.stem for module in PACKAGE.glob("*.py") if module.stem[0] != "_"]
    folders = [
        folder.name for folder in (ROOT / "tests").iterdir() if any(folder.glob("test_*.py"))
    ]
    others_of_tests = ["answers", "benchmarks", "examples", "experiments"]
    assert sorted(folders) == sorted([*packages, *others_of_tests])
    files = {file.stem for file in (ROOT / "tests").glob("test_*.py")}
    others = {"test_package", "test_distribution", "test_docs", "test_mutants", "test_project"}
    others |= {"test_walk"}
    assert files == {*(f"test_{module}" for module in modules), *others}


def test_every_function_that_solves_has_the_same_seed_by_default() -> None:
    """Results repeat unless a user asks for another seed."""
    functions: list[Callable[..., Any]] = [rr.recover, rr.recover_many, rr.complete, rr.robust_pca]
    defaults = [inspect.signature(f).parameters["rng"].default for f in functions]
    assert defaults == [0] * 4
