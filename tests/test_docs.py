"""The documentation site: it is built without warnings, and its links lead somewhere."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import robustrank as rr

pytest.importorskip("sphinx")
pytest.importorskip("sphinx_gallery")

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without the pictures of the gallery, whose scripts are tested by themselves."""
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
    names -= {f"robustrank.{name}" for name in ("metrics", "operators", "simulate", "theory")}
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
