"""The page: words, numbers, tables and figures put into one HTML skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from robustrank.metrics import Truth, evaluate
from robustrank.report.blocks import figure_card, gpus, skeleton, verdict_card, versions
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
    return skeleton().substitute(
        title=escape(title or matrix),
        subtitle=escape(f"{matrix}, {origin}" if title else sentence(origin)),
        verdict=_verdict(recovery),
        numbers=key_numbers(recovery, None if truth is None else evaluate(recovery, truth)),
        comparison=comparison([recovery, *beside], truth) if beside else "",
        figures=_figures(recovery, truth, beside),
        footer=_footer(recovery),
    )


def _verdict(recovery: Recovery) -> str:
    seen = verdict(recovery.status)
    contents = (
        f"<p>{escape(sentence(recovery.status.meaning))}</p>"
        f"<p>{escape(certificate_sentence(recovery.certificate))}</p>"
        f"{_meter(recovery.certificate)}"
        f'<p class="advice"><strong>Next.</strong> {escape(recovery.status.advice)}</p>'
        f"{_attempts(recovery)}"
    )
    return verdict_card(seen.tone, seen.sign, seen.word, contents)


def _attempts(recovery: Recovery) -> str:
    """What each candidate came to, where more than one was tried."""
    if len(recovery.attempts) < 2:
        return ""
    tried = "; ".join(str(attempt) for attempt in recovery.attempts)
    return f"<p><strong>Tried in turn.</strong> {escape(tried)}.</p>"


def _meter(certificate: Certificate) -> str:
    """A bar of the measurements that are met, with a notch at the number that rules out chance."""
    whole = max(certificate.measurements, 1)
    met = 100 * min(certificate.exact_fits / whole, 1.0)
    needed = 100 * min(certificate.required / whole, 1.0)
    side = "before" if needed > 50 else "after"
    return (
        f'<div class="meter" aria-hidden="true"><div class="track">'
        f'<span class="met" style="width:{met:.2f}%"></span>'
        f'<span class="notch" style="left:{needed:.2f}%"></span></div>'
        f'<span class="{side}" style="--at:{needed:.2f}%">{certificate.required:,} needed</span>'
        "</div>"
    )


def _figures(recovery: Recovery, truth: Truth | None, beside: Sequence[Recovery]) -> str:
    images = [figure_card(picture) for picture in matrices(recovery, truth)]
    curves = [
        figure_card(convergence([recovery, *beside])),
        figure_card(residuals(recovery)),
    ]
    details = [figure_card(spectrum(recovery, truth)), furthest_off(recovery, truth)]
    if truth is None:
        return gpus("two", curves) + gpus("three", [*images, *details])
    return gpus("two", curves) + gpus("three", images) + gpus("two", details)


def _footer(recovery: Recovery) -> str:
    keep = 'recovery.save("recovery.npz")'
    load = 'import robustrank as rr; recovery = rr.load("recovery.npz")'
    return (
        f"<p>{escape(versions(f'solver {recovery.solver}'))}</p>"
        f"<p>To keep the numbers behind this page: <code>{escape(keep)}</code>. "
        f"To have them back: <code>{escape(load)}</code>.</p>"
    )
