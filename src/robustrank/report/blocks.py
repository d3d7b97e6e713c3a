"""What pages are built of: a skeleton, gpus, and who made them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

import matplotlib
import numpy
import scipy

import robustrank
from robustrank.report.canvas import Key, Picture, themed


def skeleton() -> Template:
    """The page without its contents."""
    return Template(files("robustrank.report").joinpath("page.html").read_text(encoding="utf-8"))


def versions(*more: str) -> str:
    """What the numbers and the figures were made with."""
    parts = [
        f"robustrank {robustrank.__version__}",
        *more,
        f"Python {platform.python_version()}",
        f"NumPy {numpy.__version__}",
        f"SciPy {scipy.__version__}",
        f"matplotlib {matplotlib.__version__}",
    ]
    return ", ".join(parts)


def verdict_card(tone: str, sign: str, word: str, contents: str) -> str:
    """What a page comes to: a tone for the eye, a sign and a word, and HTML that says more."""
    return (
        f'<section class="verdict {tone}" aria-labelledby="verdict">'
        f'<p class="sign" aria-hidden="true">{sign}</p>'
        f'<div><h2 id="verdict">{escape(word)}</h2>{contents}</div></section>'
    )


def gpus(columns: str, contents: Sequence[str]) -> str:
    """Cards in a row of two or three, one below the other on a small screen."""
    return f'<div class="gpus {columns}">{"".join(contents)}</div>'


def figure_card(picture: Picture) -> str:
    """A figure with its title, what its lines mean, and its caption."""
    legend = "".join(f"<li>{_swatch(key)}{escape(key.label)}</li>" for key in picture.keys)
    return (
        f'<figure class="card"><h2>{escape(picture.title)}</h2>'
        + (f'<ul class="legend">{legend}</ul>' if legend else "")
        + f"{picture.svg}<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


_MARKS = {
    "line": '<path d="M1 6H25" style="stroke:{color};stroke-width:2.4;stroke-dasharray:{dash}"/>',
    "bar": '<rect x="1" y="1" width="10" height="10" style="fill:{color}"/>',
    "dot": '<circle cx="6" cy="6" r="3.4" style="fill:{color}"/>',
    "ring": '<circle cx="6" cy="6" r="4.6" style="fill:none;stroke:{color};stroke-width:1.6"/>',
}


def _swatch(key: Key) -> str:
    mark = themed(_MARKS[key.mark].format(color=key.color, dash=key.dash or "none"))
    width = 26 if key.mark == "line" else 12
    return (
        f'<svg class="swatch" viewBox="0 0 {width} 12" width="{width}" height="12" '
        f'aria-hidden="true">{mark}</svg>'
    )
