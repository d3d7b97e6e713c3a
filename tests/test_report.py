"""The report page: its numbers are the recovery's, and nothing odd can break it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest

import robustrank as rr
from robustrank.report import render_report, write_report
from robustrank.report.histogram import bins_for, residuals
from robustrank.report.words import certificate_sentence, number, solver_labels, verdict
from robustrank.result import Attempt, Check, History, Status

PLANTED = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, rng=1)
RECOVERY = rr.recover(PLANTED.A, PLANTED.y, 2, solver="median-tgd")
VANILLA = rr.recover(PLANTED.A, PLANTED.y, 2, solver=rr.VanillaGD(max_iterations=50))
FULL = render_report(RECOVERY, truth=PLANTED, beside=[VANILLA])


class Reader(HTMLParser):
    """Checks that tags nest and collects what a test asks about."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)
        self._note(dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(dict(attrs))

    def _note(self, found: dict[str, str | None]) -> None:
        self.ids += [str(found["id"])] if "id" in found else []
        self.links += [str(found[name]) for name in ("href", "xlink:href", "src") if name in found]
        self.labels += [str(found["aria-label"])] if "aria-label" in found else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"[ \n]+", " ", " ".join(self.words))


def tile(page: str, name: str) -> str:
    found = re.search(rf"<dt>{name}</dt><dd>(.*?)<small>", page)
    assert found is not None, f"no tile {name!r}"
    return found[1]


def with_residual(values: Any, **changes: Any) -> rr.Recovery:
    residual = np.asarray(values, float)
    flags = changes.pop("outliers", np.zeros(len(residual), bool))
    return replace(RECOVERY, residual=residual, outliers=flags, **changes)


def test_numbers_are_those_of_the_recovery() -> None:
    assert tile(FULL, "Explained") == f"{RECOVERY.certificate.explained:,}" == "380"
    assert tile(FULL, "Not believed") == str(int(RECOVERY.outliers.sum())) == "20"
    assert tile(FULL, "Misfit") == number(RECOVERY.certificate.misfit)
    assert tile(FULL, "Iterations") == f"{RECOVERY.iterations:,}"
    assert tile(FULL, "Passes") == number(RECOVERY.passes)
    assert tile(FULL, "Seconds") == number(RECOVERY.seconds)
    text = Reader(FULL).text
    assert RECOVERY.status.advice in text
    assert certificate_sentence(RECOVERY.certificate) in text


def test_the_truth_is_judged_by_the_metrics() -> None:
    estimate, truth = (RECOVERY.left, RECOVERY.right), (PLANTED.left, PLANTED.right)
    score = rr.metrics.score_outliers(RECOVERY.outliers, PLANTED.outliers)
    assert tile(FULL, "Normalised error") == number(rr.metrics.normalized_error(estimate, truth))
    assert tile(FULL, "Outliers found") == str(score.found)
    assert tile(FULL, "Outliers missed") == str(score.missed)
    assert tile(FULL, "Falsely false_positives") == str(score.false_positives)
    wrong = replace(RECOVERY, outliers=~RECOVERY.outliers)
    page = render_report(wrong, truth=PLANTED)
    assert tile(page, "Outliers missed") == "20"
    assert tile(page, "Falsely false_positives") == "380"


def test_without_a_truth_nothing_is_said_about_it() -> None:
    text = Reader(render_report(RECOVERY)).text
    assert "planted" not in text.lower()
    assert "error" not in text.lower()


def test_solvers_are_compared() -> None:
    found = re.search(r"Solvers side by side</h2>(<table>.*?</table>)", FULL)
    assert found is not None
    table = Reader(found[1]).text
    error = rr.metrics.normalized_error(
        (VANILLA.left, VANILLA.right), (PLANTED.left, PLANTED.right)
    )
    for expected in ("median-TGD", "vanilla-GD", "✓ Recovered", number(error), "50"):
        assert expected in table
    assert "Solvers side by side" not in render_report(RECOVERY)


def test_the_worst_measurements_are_listed_with_their_indices() -> None:
    residual = np.abs(PLANTED.y - np.einsum("mij,ij->m", PLANTED.A, RECOVERY.matrix))
    worst = np.argsort(-residual)[:8]
    listed = FULL[FULL.index("Furthest off") :]
    assert re.findall(r'<th scope="row">(\d+)</th>', listed) == [str(place) for place in worst]


def test_page_stands_alone_and_is_well_formed() -> None:
    read = Reader(FULL)
    assert "http://" not in FULL
    assert "https://" not in FULL
    assert "<script" not in FULL
    assert "@import" not in FULL
    assert "$" not in FULL
    assert all(link.startswith(("#", "data:image/png")) for link in read.links)
    assert set(re.findall(r"url\((.)", FULL)) == {"#"}


def test_ids_are_unique_and_every_reference_has_its_target() -> None:
    read = Reader(FULL)
    assert len(set(read.ids)) == len(read.ids) > 100
    inside = [link[1:] for link in read.links if link.startswith("#")]
    inside += re.findall(r"url\(#([^)]*)\)", FULL)
    assert len(inside) > 50
    assert set(inside) <= set(read.ids)


def test_every_figure_says_what_it_shows() -> None:
    labels = Reader(FULL).labels
    assert len(labels) == FULL.count("<figcaption>") == 6
    assert FULL.count('role="img"') == 6
    joined = " ".join(labels)
    assert "380 believed, 20 not believed" in joined
    assert number(float(RECOVERY.singular_values()[0])) in joined
    assert number(RECOVERY.history.checks[-1].misfit) in joined


def test_same_input_gives_the_same_bytes_whatever_the_reader_s_style() -> None:
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert render_report(RECOVERY, truth=PLANTED, beside=[VANILLA]) == FULL
        assert matplotlib.rcParams["font.size"] == 30.0


def test_strings_of_others_are_escaped() -> None:
    rude = replace(RECOVERY, solver='<script>alert("$x$")</script>')
    page = render_report(rude, beside=[rude], title="<script>alert(1)</script> & $title")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $title" in page
    assert 'alert("$x$")</script>' in Reader(page).text


def test_title_replaces_the_heading_but_loses_nothing() -> None:
    text = Reader(render_report(RECOVERY, title="Sensors of May")).text
    assert "Sensors of May" in text
    assert "A 20 × 15 matrix of rank 2, from 400 measurements, by median-TGD" in text


@pytest.mark.parametrize("status", rr.Status)
def test_every_status_has_a_verdict_in_words(status: rr.Status) -> None:
    page = render_report(replace(RECOVERY, status=status))
    seen = verdict(status)
    text = Reader(page).text
    assert f'class="verdict {seen.tone}"' in page
    assert f".verdict.{seen.tone} {{" in page
    assert seen.word in text
    assert status.meaning[1:] in text
    assert status.advice in text
    assert (seen.tone == "good") == (status is rr.Status.RECOVERED)


def test_certificate_sentence_tells_holding_from_failing_and_hopeless() -> None:
    certificate = RECOVERY.certificate
    assert "cannot be chance" in certificate_sentence(certificate)
    assert "would have to meet" in certificate_sentence(replace(certificate, explained=3))
    hopeless = replace(certificate, explained=3, degrees_of_freedom=4000)
    assert "so few" in certificate_sentence(hopeless)


@pytest.mark.parametrize(
    ("values", "cutoff"),
    [
        (np.zeros(50), 0.0),
        (np.r_[np.zeros(25), np.ones(25)], 0.0),
        (np.full(50, 3.0), 18.0),
        (np.r_[np.full(49, 1e-9), np.inf], 6e-9),
        (np.r_[np.full(48, 1e-9), -np.inf, np.nan], np.inf),
        (np.full(50, np.inf), np.nan),
        (np.full(50, 5e-324), 5e-324),
        (np.full(50, 1.7e308), 1.7e308),
        (np.geomspace(1e-300, 1e300, 50), 1e308),
        (np.ones(1), None),
    ],
)
def test_odd_residuals_are_drawn(values: Any, cutoff: float | None) -> None:
    picture = residuals(with_residual(values, cutoff=cutoff))
    figure = picture.svg
    Reader(figure)
    assert [key.label for key in picture.keys] == [f"{len(values):,} believed", "0 not believed"]
    assert figure.count(">0</text>") == 1 + bool(np.any(values == 0))  # the other is the origin
    assert (">∞</text>" in figure) == bool(np.any(~np.isfinite(values)))
    shown = cutoff is not None and np.isfinite(cutoff)
    assert ("cutoff " in figure) == shown


@pytest.mark.parametrize("cutoff", [None, 0.0, 1e-20, 2.0, np.inf])
def test_bins_lose_no_measurement(cutoff: float | None) -> None:
    magnitudes = np.r_[0.0, 0.0, np.geomspace(1e-12, 1e5, 95), 1e5, np.inf, np.nan]
    centres, counts = bins_for(magnitudes, cutoff).count(magnitudes)
    assert counts.sum() == len(magnitudes) == 100
    assert counts[0] == counts[-1] == 2
    assert np.all(np.diff(centres) > 0)


def test_odd_histories_are_drawn() -> None:
    def history(*misfits: float) -> History:
        return History(tuple(Check(i, x, 0.1, 9, 0.0, i) for i, x in enumerate(misfits)))

    odd = [history(), history(0.0), history(1.0), history(1.0, np.inf), history(np.nan, 1e200)]
    recoveries = [replace(RECOVERY, history=h, iterations=10**i) for i, h in enumerate(odd)]
    read = Reader(render_report(recoveries[0], beside=recoveries[1:] * 2))
    for end in ("nothing", "0", "1", "∞", "10²⁰⁰"):
        assert f"ends at {end}" in read.text.replace("1.0\xa0×\xa0", "")


@pytest.mark.parametrize("shape", [(5000, 4000), (5000, 1), (1, 5000), (1, 1), (3, 900)])
def test_any_shape_makes_a_small_page(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((shape[0], 1)), rng.standard_normal((shape[1], 1))
    truth = SimpleNamespace(left=left + 0.1, right=right, outliers=PLANTED.outliers)
    page = render_report(replace(RECOVERY, left=left, right=right), truth=truth)
    assert len(page.encode()) < 1_000_000
    assert f"{shape[0]} × {shape[1]} matrix of rank 1" in Reader(page).text
    assert ("evenly spaced" in page) == (max(shape) > 240)


@pytest.mark.parametrize("factor", [0.0, 1e-160, 1e150, 1e200, np.inf, np.nan])
def test_factors_of_any_size_are_drawn(factor: float) -> None:
    left, right = np.ones((20, 2)) * factor, np.ones((15, 2)) * factor
    page = render_report(replace(RECOVERY, left=left, right=right))
    assert ("none is finite" in page) == (not np.isfinite(factor * factor))
    Reader(page)


def test_another_problem_is_refused() -> None:
    other = rr.simulate.plant(20, 14, 2, 400, rng=1)
    with pytest.raises(ValueError, match=r"truth has 400 .* 20 × 14 .* has 400 .* 20 × 15 "):
        render_report(RECOVERY, truth=other)
    with pytest.raises(ValueError, match=r"beside\[1\] has 3 measurements"):
        render_report(RECOVERY, beside=[VANILLA, with_residual(np.ones(3))])


def test_writing_replaces_the_file_with_the_rendered_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(path, RECOVERY, truth=PLANTED, beside=[VANILLA])
    assert path.read_bytes() == FULL.encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_missing_matplotlib_is_one_sentence() -> None:
    code = """
import sys
import numpy as np
import robustrank as rr, robustrank.report
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
rr.report.render_report(None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: the report needs matplotlib; install it with: "
        "pip install 'robustrank[report]'"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00123, "0.00123"),
        (999.4, "999"),
        (999.5, "1,000"),
        (123456.7, "123,457"),
        (-4.13e-9, "−4.1\xa0×\xa010⁻⁹"),
        (1e150, "1.0\xa0×\xa010¹⁵⁰"),
        (-np.inf, "−∞"),
        (np.nan, "undefined"),
    ],
)
def test_numbers_as_people_write_them(value: float, text: str) -> None:
    assert number(value) == text


def test_equal_solver_names_are_numbered() -> None:
    labels = solver_labels([RECOVERY, VANILLA, RECOVERY])
    assert labels == ["median-TGD (1)", "vanilla-GD", "median-TGD (2)"]


def test_candidates_that_were_tried_are_named() -> None:
    first = Attempt("first <candidate>", Status.UNEXPLAINED, 2, 3, 0.5, 60, 1.0)
    second = Attempt("second", Status.RECOVERED, 2, 380, 1e-15, 7, 0.1)
    page = render_report(replace(RECOVERY, attempts=(first, second)))
    assert (
        "first &lt;candidate&gt;, rank 2: unexplained (60 iterations); second, rank 2: recovered"
        in page
    )
    assert "Tried in turn" not in render_report(replace(RECOVERY, attempts=(second,)))
