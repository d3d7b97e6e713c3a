"""From a template and data to one self-contained HTML page.

The templates are in ``templates/``: ``base.html`` is the frame of every page, with its style sheet
``style.css``; ``macros.html`` has the parts that pages are made of; ``page.html`` is the page about
a result.
"""

from __future__ import annotations

import platform
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import numpy
import scipy
from markupsafe import Markup, escape

from robustrank.report.canvas import themed
from robustrank.report.formatting import SCIENTIFIC


def render(template: str, /, *, folder: Path | None = None, **context: Any) -> str:
    """The HTML of a template, which may be in ``folder`` or among this package's own.

    All values are escaped, except those that a template marks as safe; a name that ``context``
    does not define raises ``jinja2.UndefinedError``. There are two filters besides Jinja's:
    ``typeset`` (text in which no power of ten breaks over a line, and in which `code` is set as
    code) and ``themed`` (a color of the figures as a variable of the style sheet, for dark mode).

    A page of another package puts its template into a folder of its own, extends the frame and
    imports the macros::

        {% extends "base.html" %}
        {% import "macros.html" as parts %}
        {% block content %}
        {% call parts.verdict("good", "✓", "All claims hold") %}<p>…</p>{% endcall %}
        {% call parts.cards("two") %}{{ parts.figure(picture) }}{% endcall %}
        {% endblock %}

    and is rendered with ``render("study.html", folder=Path(__file__).parent / "templates",
    title=…, subtitle=…, picture=…, footer=[versions()])``. ``base.html`` needs ``title``,
    ``subtitle`` and ``footer``, a list of lines.
    """
    return _environment(folder).get_template(template).render(context)


@cache
def _environment(folder: Path | None) -> jinja2.Environment:
    loaders: list[jinja2.BaseLoader] = [jinja2.PackageLoader("robustrank.report")]
    if folder is not None:
        loaders.insert(0, jinja2.FileSystemLoader(folder))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"typeset": typeset, "themed": themed}
    return environment


# `code`, or a number with a power of ten, a noise level, or both: "σ ≈ 1.2 × 10⁻³".
_SPECIAL = re.compile(rf"`(?P<code>[^`]+)`|(?:σ ≈ )?{SCIENTIFIC}|σ ≈ [\d.,]*\d")
_CODE = Markup("<code>{}</code>")
_NOWRAP = Markup('<span class="nowrap">{}</span>')


def typeset(text: str) -> Markup:
    """Escaped text in which numbers do not break over a line and `code` is set as code."""
    parts, end = [], 0
    for found in _SPECIAL.finditer(text):
        special = _CODE.format(found["code"]) if found["code"] else _NOWRAP.format(found[0])
        parts += [escape(text[end : found.start()]), special]
        end = found.end()
    return Markup().join([*parts, escape(text[end:])])


def versions(*more: str) -> str:
    """The versions of the software that produced the numbers and the figures."""
    # Not imported: the package imports ``plot``, which imports the report.
    own = sys.modules["robustrank"].__version__
    parts = [
        f"robustrank {own}",
        *more,
        f"Python {platform.python_version()}",
        f"NumPy {numpy.__version__}",
        f"SciPy {scipy.__version__}",
        f"matplotlib {matplotlib.__version__}",
    ]
    return ", ".join(parts)
