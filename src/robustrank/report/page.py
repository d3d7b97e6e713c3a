"""The page: words, numbers, tables and figures put into one HTML skeleton."""

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
from robustrank.metrics import Truth, judge
from robustrank.report.canvas import Key, Picture, themed
from robustrank.report.figures import convergence, spectrum
from robustrank.report.histogram import residuals
from robustrank.report.images import matrices
from robustrank.report.same_problem import check_same_problem
from robustrank.report.tables import comparison, furthest_off, key_numbers
from robustrank.report.words import certificate_sentence, sentence, verdict
from robustrank.result import Certificate, Recovery


def assemble(
    recovery: Recovery, truth: Truth | None, beside: Sequence[Recovery], title: str | None
) -> str:
    """The whole page as one string."""
    check_same_problem(recovery, truth, beside)
    rows, columns = recovery.shape
    matrix = f"A {rows} × {columns} matrix of rank {recovery.rank}"
    origin = f"from {recovery.certificate.measurements:,} measurements, by {recovery.solver}"
    skeleton = files("robustrank.report").joinpath("page.html").read_text(encoding="utf-8")
    return Template(skeleton).substitute(
        title=escape(title or matrix),
        subtitle=escape(f"{matrix}, {origin}" if title else sentence(origin)),
        verdict=_verdict(recovery),
        numbers=key_numbers(recovery, None if truth is None else judge(recovery, truth)),
        comparison=comparison([recovery, *beside], truth) if beside else "",
        figures=_figures(recovery, truth, beside),
        footer=_footer(recovery),
    )


def _verdict(recovery: Recovery) -> str:
    seen = verdict(recovery.status)
    return (
        f'<section class="verdict {seen.tone}" aria-labelledby="verdict">'
        f'<p class="sign" aria-hidden="true">{seen.sign}</p>'
        f'<div><h2 id="verdict">{escape(seen.word)}</h2>'
        f"<p>{escape(sentence(recovery.status.meaning))}</p>"
        f"<p>{escape(certificate_sentence(recovery.certificate))}</p>"
        f"{_meter(recovery.certificate)}"
        f'<p class="advice"><strong>Next.</strong> {escape(recovery.status.advice)}</p>'
        f"{_attempts(recovery)}</div></section>"
    )


def _attempts(recovery: Recovery) -> str:
    """What each candidate came to, where more than one was tried."""
    if len(recovery.attempts) < 2:
        return ""
    tried = "; ".join(str(attempt) for attempt in recovery.attempts)
    return f"<p><strong>Tried in turn.</strong> {escape(tried)}.</p>"


def _meter(certificate: Certificate) -> str:
    """A bar of the measurements that are met, with a notch at the number that rules out chance."""
    whole = max(certificate.measurements, 1)
    met = 100 * min(certificate.explained / whole, 1.0)
    needed = 100 * min(certificate.needed / whole, 1.0)
    side = "before" if needed > 50 else "after"
    return (
        f'<div class="meter" aria-hidden="true"><div class="track">'
        f'<span class="met" style="width:{met:.2f}%"></span>'
        f'<span class="notch" style="left:{needed:.2f}%"></span></div>'
        f'<span class="{side}" style="--at:{needed:.2f}%">{certificate.needed:,} needed</span>'
        "</div>"
    )


def _figures(recovery: Recovery, truth: Truth | None, beside: Sequence[Recovery]) -> str:
    images = [_figure(picture) for picture in matrices(recovery, truth)]
    curves = [
        _figure(convergence([recovery, *beside])),
        _figure(residuals(recovery)),
    ]
    details = [_figure(spectrum(recovery, truth)), furthest_off(recovery, truth)]
    if truth is None:
        return _row("two", curves) + _row("three", [*images, *details])
    return _row("two", curves) + _row("three", images) + _row("two", details)


def _row(columns: str, cards: Sequence[str]) -> str:
    return f'<div class="cards {columns}">{"".join(cards)}</div>'


def _figure(picture: Picture) -> str:
    legend = "".join(f"<li>{_swatch(key)}{escape(key.label)}</li>" for key in picture.keys)
    return (
        f'<figure class="card"><h2>{escape(picture.title)}</h2>'
        + (f'<ul class="legend">{legend}</ul>' if legend else "")
        + f"{picture.svg}<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


_MARKS = {
    "line": '<path d="M1 6H25" style="stroke:{colour};stroke-width:2.4;stroke-dasharray:{dash}"/>',
    "bar": '<rect x="1" y="1" width="10" height="10" style="fill:{colour}"/>',
    "dot": '<circle cx="6" cy="6" r="3.4" style="fill:{colour}"/>',
    "ring": '<circle cx="6" cy="6" r="4.6" style="fill:none;stroke:{colour};stroke-width:1.6"/>',
}


def _swatch(key: Key) -> str:
    mark = themed(_MARKS[key.mark].format(colour=key.colour, dash=key.dash or "none"))
    width = 26 if key.mark == "line" else 12
    return (
        f'<svg class="swatch" viewBox="0 0 {width} 12" width="{width}" height="12" '
        f'aria-hidden="true">{mark}</svg>'
    )


def _footer(recovery: Recovery) -> str:
    versions = (
        f"robustrank {robustrank.__version__}, solver {recovery.solver}, "
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, matplotlib {matplotlib.__version__}"
    )
    keep = 'recovery.save("recovery.npz")'
    load = 'import robustrank as rr; recovery = rr.load("recovery.npz")'
    return (
        f"<p>{escape(versions)}</p>"
        f"<p>To keep the numbers behind this page: <code>{escape(keep)}</code>. "
        f"To have them back: <code>{escape(load)}</code>.</p>"
    )
