"""A small problem, its results, and a parser for the tests of the report page."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np

import robustrank as rr
from robustrank.report import render_report
from robustrank.result import Alternative, Measurements

PLANTED = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, rng=1)
RECOVERY = rr.recover(PLANTED.A, PLANTED.y, 2, solver="median-tgd")
VANILLA = rr.recover(PLANTED.A, PLANTED.y, 2, solver=rr.solvers.VanillaGD(max_iterations=50))
FULL = render_report(RECOVERY, truth=PLANTED, compare_with=[VANILLA])

NOISY = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, bounded_noise=0.02, rng=1)
ESTIMATED = rr.recover(NOISY.A, NOISY.y, 2)
SECOND = Alternative(RECOVERY.left, RECOVERY.right, 1170, "rows 2–4 and column 7")


class Reader(HTMLParser):
    """Checks that tags nest, and collects what the tests need."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []  # tag and class
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.words: list[str] = []
        self.wrappable: list[str] = []  # text that may break over a line at any character
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in ("meta", "link", "img", "br"):
            self.open.append((tag, found.get("class") or ""))
        self._note(tag, found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))

    def _note(self, tag: str, found: dict[str, str | None]) -> None:
        self._separate(tag)
        self.ids += [str(found["id"])] if "id" in found else []
        self.links += [str(found[name]) for name in ("href", "xlink:href", "src") if name in found]
        self.labels += [str(found["aria-label"])] if "aria-label" in found else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag
        self._separate(tag)

    def _separate(self, tag: str) -> None:
        if tag not in ("span", "code", "strong"):  # these are inside of a sentence
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if self._inside("style", "script"):
            return
        self.words.append(data)
        if "nowrap" not in (kind for _, kind in self.open) and not self._inside("svg", "title"):
            self.wrappable.append(data)

    def _inside(self, *tags: str) -> bool:
        return any(tag in tags for tag, _ in self.open)

    @property
    def text(self) -> str:
        return re.sub(r"[ \n]+", " ", "".join(self.words))


def tile(page: str, name: str) -> tuple[str, str]:
    """The value and the note of a tile, as text."""
    found = re.search(rf"<dt>{name}</dt><dd>(.*?)<small>(.*?)</small>", page)
    assert found is not None, f"no tile {name!r}"
    return Reader(found[1]).text, Reader(found[2]).text


def with_residual(values: Any, **changes: Any) -> rr.Result:
    """The recovery with other residuals."""
    residual = np.asarray(values, float)
    flags = changes.pop("outliers", np.zeros(len(residual), bool))
    return replace(RECOVERY, observations=Measurements(residual), outliers=flags, **changes)


def made(status: rr.Status) -> rr.Result:
    """The recovery with the evidence that leads to a status."""
    certificate = RECOVERY.certificate
    changed: dict[rr.Status, dict[str, Any]] = {
        rr.Status.RECOVERED: {},
        rr.Status.ESTIMATED: {"certificate": replace(certificate, exact_fits=3)},
        rr.Status.AMBIGUOUS: {"alternative": SECOND},
        rr.Status.NOT_IDENTIFIED: {"certificate": replace(certificate, unidentified="column 3")},
        rr.Status.UNDERDETERMINED: {"certificate": replace(certificate, required=401)},
        rr.Status.PREDICTIVE: {"certificate": replace(certificate, required=0, least_skill=0.1)},
        rr.Status.INCONCLUSIVE: {"certificate": certificate.with_objections("a reason")},
    }
    result = replace(RECOVERY, **changed[status])
    assert result.status is status
    return result
