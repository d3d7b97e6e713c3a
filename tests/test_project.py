"""The files around the package agree with each other: hooks, workflows, forms and versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import robustrank as rr

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def minimum_versions() -> dict[str, str]:
    """The oldest version of each package that the library uses, required or optional."""
    extras = PROJECT["optional-dependencies"]
    chosen = re.fullmatch(r"robustrank\[(.+)\]", extras["all"][0])
    assert chosen
    required = [*PROJECT["dependencies"], *(r for e in chosen[1].split(",") for r in extras[e])]
    pairs = (re.fullmatch(r"([\w-]+)>=([\d.]+)(?:;.*)?", requirement) for requirement in required)
    return {pair[1]: pair[2] for pair in pairs if pair}


def python_versions() -> list[str]:
    """The versions of Python in the classifiers."""
    names = (re.fullmatch(r".* :: Python :: (3\.\d+)", name) for name in PROJECT["classifiers"])
    return [name[1] for name in names if name]


def test_hooks_run_the_commands_of_make_check() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == commands
    assert not any(hook["pass_filenames"] for hook in repository["hooks"])


def test_every_make_command_that_is_mentioned_exists() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    folders = ["docs", "benchmarks", "experiments", "tests", "src", ".github", ".ci"]
    files = [file for folder in folders for file in (ROOT / folder).rglob("*")]
    texts = [
        file.read_text(encoding="utf-8")
        for file in (*files, *ROOT.glob("*.md"), ROOT / "Makefile")
        if file.suffix in (".md", ".py", ".yml", "") and file.is_file()
    ]
    commands = re.compile(
        r"^(?:# )?make ([a-z-]+)|`make ([a-z-]+)|- run: make ([a-z-]+)", re.MULTILINE
    )
    mentioned = {
        name for text in texts for names in commands.findall(text) for name in names if name
    }
    assert mentioned | {"clean"} == set(targets.split())


def test_minimum_constraints_are_those_of_pyproject() -> None:
    lines = (ROOT / "constraints-minimum.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pins == minimum_versions()
    assert len(pins) > 10


def test_workflow_tests_every_version_of_python() -> None:
    jobs = load(".github/workflows/tests.yml")["jobs"]
    assert jobs["newest"]["strategy"]["matrix"]["python"] == python_versions()
    for job in ("locked", "minimum"):
        (used,) = {step["with"]["python-version"] for step in jobs[job]["steps"] if setup(step)}
        assert used == python_versions()[0]
    assert PROJECT["requires-python"] == f">={python_versions()[0]}"


def setup(step: dict[str, str]) -> bool:
    return step.get("uses", "").startswith("actions/setup-python@")


def test_contributing_states_the_supported_versions() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"^\| (Python|NumPy|SciPy) \| ([\d.]+) \|", text, re.MULTILINE))
    minimum = minimum_versions()
    assert oldest == {
        "Python": python_versions()[0],
        "NumPy": minimum["numpy"],
        "SciPy": minimum["scipy"],
    }
    assert f"| Python | {python_versions()[0]} | {python_versions()[-1]} |" in text


def test_issue_form_asks_for_the_status_and_for_doctor() -> None:
    fields = {field.get("id"): field for field in load(".github/ISSUE_TEMPLATE/bug.yml")["body"]}
    names = [option for option in fields["status"]["attributes"]["options"] if option.isupper()]
    assert names == [status.name for status in rr.Status]
    assert "robustrank doctor" in fields["doctor"]["attributes"]["label"]
    assert fields["doctor"]["validations"]["required"]
