"""The documentation: what pages show is what happens, and the site is built without warnings."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from documentation import Session, blocks
from stated_numbers import STATED, word

import robustrank as rr
from experiments.registry import NAMES
from robustrank.cli.app import app

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
FOLDERS = (ROOT / "docs", ROOT / "docs" / "guide", REFERENCE)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(page for folder in FOLDERS for page in folder.glob("*.md"))


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_page_does_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session()
    for block in blocks(page):
        if "import torch" in block.text:
            pytest.importorskip("torch")
        session.run(block)
    session.finish()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nassert 1 + 1 == 3\n```", "AssertionError"),
        ("```python\nprint(1)\n```", "line 1: prints what the page does not show"),
        ("```python\nprint(1)\n```\n```text\n2\n```", "line 4: shows\n2\n\nbut this was printed"),
        ("```text\n2\n```", "line 1: shows output, but nothing was executed"),
        ("```\nmake test\n```", "line 1: 'make test' cannot be executed here"),
        ("```\nrobustrank plan 9x9\n```", "line 1: 'robustrank plan 9x9' fails"),
        ("```\nrobustrank recover none.npz\n```", "line 1: 'robustrank recover none.npz' fails"),
        ("```ruby\n1\n```", "a block of 'ruby' cannot be executed"),
        ("<!-- not executed: -->\n```\nmake test\n```", "line 2: the comment .* must say why"),
        ("<!-- not executed: no GPU -->\ntext", "line 2: the comment .* is not at a block"),
    ],
)
def test_page_that_does_something_else_fails(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    session = Session()
    with pytest.raises(AssertionError) as raised:  # noqa: PT012
        for block in blocks(page):
            session.run(block)
        session.finish()
    assert re.search(message, f"{type(raised.value).__name__}: {raised.value}")


def test_output_may_leave_out_lines_and_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page, session = tmp_path / "page.md", Session()
    printed = "one\\ntwo\\nthree in 0.5 s\\n3.2e-13\\n"
    page.write_text(
        f"```python\nprint('{printed}', end='')\n```\n"
        "```text\none\n…\nthree in 12 s\n1e-15\n```\n"
        "<!-- not executed: needs a GPU -->\n```python\nunknown\n```\n",
        "utf-8",
    )
    for block in blocks(page):
        session.run(block)
    session.finish()


def code_spans(page: Path) -> list[str]:
    """The code inside the sentences and the blocks of a page."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    return spans + [line for block in blocks(page) for line in block.text.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_in_the_text_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for span in code_spans(page):
        words = span.split()
        if words[:1] == ["make"] and len(words) > 1:
            assert words[1] in targets, span
        if words[:1] == ["robustrank"] and len(words) > 1 and words[1].islower():
            command = app.commands[words[1]]
            options = {name for option in command.params for name in option.opts} | {"--help"}
            used = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
            assert used <= options, span


def test_readme_is_short() -> None:
    first, *_ = (block for block in blocks(ROOT / "README.md") if block.language == "python")
    assert len(first.text.splitlines()) <= 15
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without the pictures of the gallery, whose scripts are tested by themselves."""
    pytest.importorskip("sphinx")
    pytest.importorskip("sphinx_gallery")
    root = tmp_path_factory.mktemp("repository")
    generated = shutil.ignore_patterns("_build", "gallery", "generated")
    shutil.copytree(ROOT / "docs", root / "docs", ignore=generated)
    for folder in ("examples", "results"):
        shutil.copytree(ROOT / folder, root / folder)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, root)
    options = ["-W", "--keep-going", "--quiet", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", "site"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return root / "site"


class _Page(HTMLParser):
    """The links of a page, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.anchors |= {given[name] for name in ("id", "name") if name in given}


@pytest.mark.slow  # it builds the site
def test_links_inside_the_site_lead_somewhere(site: Path) -> None:
    pages = {path: _Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert len(pages) > 80
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            known = pages.get(target)
            if not target.exists() or (known and fragment and fragment not in known.anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_site_loads_nothing_from_the_network(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8")
    assert 'src="http' not in start
    assert '<link rel="stylesheet" type="text/css" href="http' not in start


def listed_names() -> set[str]:
    """The names in the tables of the reference, with their modules."""
    names = set()
    for page in REFERENCE.glob("*.md"):
        module = ""
        for line in page.read_text("utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif module and line.startswith("   ") and not line.strip().startswith(":"):
                names.add(f"{module}.{line.strip()}")
    return names


def public_names() -> set[str]:
    names = {f"robustrank.{name}" for name in rr.__all__}
    modules = ("metrics", "operators", "plot", "simulate", "solvers", "theory")
    names -= {f"robustrank.{name}" for name in modules}
    estimators = import_module("robustrank.estimators")
    return names | {f"robustrank.estimators.{name}" for name in estimators.__all__}


def resolved(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_reference_lists_every_public_name() -> None:
    described_in_words = {"robustrank.estimators.robust_r2_scorer"}  # an object, not a function
    assert public_names() - described_in_words - listed_names() == set()


@pytest.mark.parametrize("name", sorted(listed_names()))
def test_every_name_of_the_reference_is_explained(name: str) -> None:
    found = resolved(name)
    text = inspect.getdoc(found) or ""
    assert "See Also\n--------" in text, "no section See Also"
    if not (inspect.isclass(found) and issubclass(found, BaseException)):
        assert "Examples\n--------" in text, "no example"


@pytest.mark.parametrize("name", STATED)
def test_numbers_on_a_page_are_those_of_the_code(name: str) -> None:
    text = " ".join((ROOT / name).read_text("utf-8").split())
    assert [sentence for sentence in STATED[name] if sentence not in text] == []


def test_page_about_the_paper_lists_all_studies() -> None:
    text = (ROOT / "docs" / "paper.md").read_text("utf-8")
    listed = re.search(r"The names for `FIG` are (.*?);", text, re.DOTALL)
    assert listed
    names = re.findall(r"`(\S+)`", listed[1])
    assert sorted(names) == sorted(NAMES)
    beyond = [name for name in names if not name.startswith("fig")]
    assert f"{word(len(beyond)).capitalize()} more studies go beyond the" in text


def test_planning_page_has_the_numbers_of_plan() -> None:
    text = (ROOT / "docs" / "guide" / "planning.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) × (\d+), rank (\d) \| ([\d,]+) \|", text, re.MULTILINE)
    stated = [int(row[3].replace(",", "")) for row in rows]
    plans = [rr.plan((int(n1), int(n2)), rank=int(rank), outliers=0.1) for n1, n2, rank, _ in rows]
    assert len(plans) == 4
    assert stated == [plan.measurements_95 for plan in plans]
